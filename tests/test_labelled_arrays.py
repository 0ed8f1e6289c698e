"""Data frames and series whose labels contradict the order of the classes or features.

Arrays of classes and features are read by position, so such labels are errors.
"""

import re

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

import skgeom
from skgeom import ClassStatistics, geometry, plotting

NAMES = ["p", "q"]
Y = np.array(["a", "b"])[np.arange(40) % 2]
X = np.random.default_rng(0).normal(size=(40, 2)) + 3 * (Y == "a")[:, None]
TABLE = pd.DataFrame(X, columns=NAMES)
COVARIANCE = TABLE.cov()
MEANS = TABLE.groupby(Y).mean()
SCORES = pd.DataFrame({"b": [0.1, 0.8], "a": [0.9, 0.2]})
SECOND = pd.DataFrame(np.eye(2), columns=["landmarkkernelpca1", "landmarkkernelpca0"])
STATISTICS = ClassStatistics.from_data(TABLE, Y)


def swapped(frame):
    """The same data with features in a different order."""
    return frame[NAMES[::-1]].loc[lambda f: f.index[:: -1 if len(f) == 2 else 1]]


def backwards(frame):
    return frame.iloc[::-1]


def ellipses(means):
    plotting.ClassEllipsesDisplay(MEANS.index, means, [COVARIANCE] * 2).plot()


@pytest.mark.parametrize(
    ("name", "call"),
    {
        "components": lambda: STATISTICS.project(swapped(COVARIANCE)),
        "shrinkage": lambda: STATISTICS.shrunk(pd.Series([0.1, 0.2], ["b", "a"])),
        "init": lambda: skgeom.SQFA(2, init=swapped(COVARIANCE)).fit(TABLE, Y),
        "covariance[0]": lambda: STATISTICS.with_noise(swapped(COVARIANCE)),
        "init[0]": lambda: skgeom.RSLVQ(init=backwards(MEANS)).fit(TABLE, Y),
        "init[1]": lambda: skgeom.RSLVQ(init=MEANS[NAMES[::-1]]).fit(TABLE, Y),
        "y_score": lambda: skgeom.accuracy_rejection_curve(["a", "b"], SCORES),
        "filters": lambda: (
            skgeom.LandmarkKernelPCA(2, random_state=0).fit(TABLE).preimages(SECOND)
        ),
        "covariance": lambda: skgeom.activation_patterns(MEANS, swapped(COVARIANCE)),
        "reference": lambda: skgeom.spatial_filters(COVARIANCE, swapped(COVARIANCE)),
        "b": lambda: geometry.distance_affine_invariant(
            COVARIANCE, swapped(COVARIANCE)
        ),
        "covariances_b": lambda: geometry.distance_calvo_oller(
            np.zeros(2), COVARIANCE, MEANS.loc["a"], swapped(COVARIANCE)
        ),
        "matrix": lambda: plotting.DistanceMatrixDisplay(
            pd.DataFrame(1 - np.eye(2), ["b", "a"]), classes=["a", "b"]
        ).plot(),
        "means": lambda: ellipses(backwards(MEANS)),
    }.items(),
)
def test_labels_in_a_different_order_are_errors(name, call):
    name = re.sub(r"\[.\]", "", name)
    with pytest.raises(ValueError, match=rf"^{name} has the label .*Sort {name} in"):
        call()


def test_labels_in_the_given_order_are_accepted():
    in_order = skgeom.SQFA(2, init=COVARIANCE, random_state=0).fit(TABLE, Y)
    array = skgeom.SQFA(2, init=COVARIANCE.to_numpy(), random_state=0).fit(TABLE, Y)
    assert_allclose(in_order.components_, array.components_)
    # Labels of a different kind, and a labelled init without names of the features.
    same = COVARIANCE.set_axis(["u", "v"], axis=1)
    patterns = skgeom.activation_patterns(same, COVARIANCE)
    assert_allclose(patterns, skgeom.activation_patterns(same.to_numpy(), COVARIANCE))
    skgeom.SQFA(2, init=swapped(COVARIANCE)).fit(X, Y)


def test_row_numbers_are_no_class_labels():
    """Rows 1 and 30 of a table are prototypes of classes 0 and 1."""
    classes = np.where(Y == "a", 0, 1)
    fitted = [
        skgeom.RSLVQ(init=init).fit(TABLE, classes).prototypes_
        for init in (TABLE.iloc[[1, 30]], X[[1, 30]])
    ]
    assert_allclose(*fitted)
    message = "label 1 at position 0, where prototype_labels_ has 0"
    with pytest.raises(ValueError, match=message):
        skgeom.RSLVQ(init=TABLE.iloc[[1, 0]]).fit(TABLE, classes)


@pytest.mark.parametrize("labels", [["b", "a"], [1, 0]])
def test_statistics_of_groups(labels):
    """``groupby`` sorts the labels, ``unique`` does not."""
    groups = TABLE.groupby(np.where(Y == "a", *labels[::-1]))
    of_class = [groups.get_group(label).cov() for label in labels]
    arguments = {"counts": groups.size(), "means": groups.mean()}
    for name, values in arguments.items():
        arrays = {k: v.loc[labels] for k, v in arguments.items()} | {name: values}
        with pytest.raises(ValueError, match=rf"^{name} has the label .* classes has"):
            ClassStatistics(labels, covariances=of_class, **arrays)
    arrays = {k: v.loc[labels] for k, v in arguments.items()}
    found = ClassStatistics(labels, covariances=of_class, **arrays)
    assert_allclose(found.means, groups.mean())
    of_class[1] = swapped(of_class[1])
    with pytest.raises(ValueError, match=r"^covariances\[1\] has the label 'q' at po"):
        ClassStatistics(labels, covariances=of_class, **arrays)
    with pytest.raises(ValueError, match=r"^second_moments\[1\] has the label 'q' at"):
        ClassStatistics.from_second_moments(labels, [3, 4], of_class)


def test_columns_of_pyarrow():
    pyarrow = pytest.importorskip("pyarrow")
    covariance = pyarrow.Table.from_pandas(COVARIANCE, preserve_index=False)
    assert_allclose(skgeom.spatial_filters(COVARIANCE, covariance)[1], 1)
    with pytest.raises(ValueError, match=r"^reference has the label 'q' at position 0"):
        skgeom.spatial_filters(COVARIANCE, covariance.select(NAMES[::-1])[::-1])


def test_columns_of_polars():
    polars = pytest.importorskip("polars")
    covariance = polars.DataFrame(COVARIANCE.to_numpy(), schema=NAMES)
    with pytest.raises(ValueError, match=r"^reference has the label 'q' at position 0"):
        skgeom.spatial_filters(COVARIANCE, covariance[NAMES[::-1]][::-1])
    default = polars.DataFrame(COVARIANCE.to_numpy())
    assert_allclose(skgeom.spatial_filters(COVARIANCE, default)[1], 1)
    pairs = polars.DataFrame(1 - np.eye(2), schema=["b", "a"])
    with pytest.raises(ValueError, match="pair_weight has labels"):
        skgeom.SQFA(1, pair_weight=pairs).fit(TABLE, Y)
