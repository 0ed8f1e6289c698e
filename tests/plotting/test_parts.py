"""DistancePartsDisplay: what separates classes, their means or their covariances."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import load_iris
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skgeom import SQFA, ClassStatistics, SecondMomentSQFA
from skgeom.objectives import DISTANCES, MeanPairwiseDistance
from skgeom.plotting import DistancePartsDisplay

parts_of = DistancePartsDisplay.from_statistics


@pytest.fixture
def statistics(make_gaussians):
    means, covariances = make_gaussians((4,), 3)
    return ClassStatistics(["a", "b", "c", "d"], [9] * 4, means, covariances)


@pytest.mark.parametrize("name", DISTANCES)
def test_parts_add_up_and_vanish_where_nothing_differs(statistics, name):
    display = parts_of(statistics, name, regularization=0.1)
    objective = MeanPairwiseDistance(
        statistics.means, statistics.covariances, 0.1, DISTANCES[name]
    )
    total = objective.matrix()
    if DISTANCES[name].returns_square:
        total = total**2
    assert_allclose(display.by_means[0] + display.by_covariances[0], total, atol=1e-9)
    same_means = ClassStatistics(
        statistics.classes, [9] * 4, np.zeros((4, 3)), statistics.covariances
    )
    assert_allclose(parts_of(same_means, name).by_means, 0, atol=1e-9)
    alike = np.stack([statistics.covariances[0]] * 4)
    alike = ClassStatistics(statistics.classes, [9] * 4, statistics.means, alike)
    assert_allclose(parts_of(alike, name).by_covariances, 0, atol=1e-9)


def test_bhattacharyya_and_wasserstein_have_the_parts_of_their_formulas(statistics):
    offsets = statistics.means[:, None] - statistics.means
    display = parts_of(statistics, "wasserstein")
    assert_allclose(display.by_means[0], (offsets**2).sum(axis=-1), atol=1e-10)
    display = parts_of(statistics, "bhattacharyya")
    covariances = statistics.covariances
    average = (covariances[:, None] + covariances) / 2
    u = np.linalg.solve(average, offsets[..., None])[..., 0]
    assert_allclose(display.by_means[0], (u * offsets).sum(axis=-1) / 8, atol=1e-10)


def test_linear_maps_change_nothing(statistics, rng):
    mixing = rng.normal(size=(3, 3)) + 2 * np.eye(3)
    mixed = statistics.project(mixing)
    for name in ("fisher-rao", "hellinger", "fisher-rao-exact"):
        first, second = (parts_of(s, name).by_means for s in (statistics, mixed))
        assert_allclose(first, second, atol=1e-9)


def test_each_filter():
    X, y = load_iris(return_X_y=True)
    sqfa = SQFA(2, random_state=0)
    model = make_pipeline(StandardScaler(), sqfa).fit(X, y)
    together = DistancePartsDisplay.from_estimator(model)
    expected = sqfa.class_distances() ** 2
    assert_allclose(together.by_means[0] + together.by_covariances[0], expected)
    sqfa.set_params(distance="hellinger")  # has no effect on what is fitted
    again = DistancePartsDisplay.from_estimator(model)
    assert_allclose(again.by_means, together.by_means)
    display = DistancePartsDisplay.from_estimator(model, each_filter=True)
    assert display.by_means.shape == (2, 3, 3)
    alone = sqfa.statistics_.project(np.eye(2)[1:])
    expected = parts_of(alone, regularization=sqfa.regularization_)
    assert_allclose(display.by_means[1], expected.by_means[0])


def test_what_is_drawn(statistics):
    display = parts_of(statistics, each_filter=True)
    assert len(display.images_) == len(display.axes_) == 3
    panel = np.ma.filled(display.images_[2].get_array(), np.nan)
    assert panel[0, 1] == display.by_means[2, 0, 1]
    assert panel[1, 0] == display.by_covariances[2, 0, 1]
    assert np.isnan(np.diagonal(panel)).all()
    limits = {image.get_clim() for image in display.images_}
    assert len(limits) == 1
    assert "squared Fisher-Rao" in display.figure_.axes[-1].get_ylabel()
    assert [ax.get_title() for ax in display.axes_] == [
        "filter 0",
        "filter 1",
        "filter 2",
    ]


def test_errors(statistics):
    with pytest.raises(TypeError, match="ClassStatistics"):
        parts_of(np.eye(2))
    with pytest.raises(ValueError, match="Second moments are not split"):
        parts_of(statistics, "affine-invariant")
    with pytest.raises(ValueError, match="regularization must be at least 0"):
        parts_of(statistics, regularization=-1)
    singular = statistics.project(np.ones((2, 3)))
    with pytest.raises(ValueError, match="covariance of a class is singular"):
        parts_of(singular)
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match="Second moments are not split"):
        DistancePartsDisplay.from_estimator(SecondMomentSQFA(2).fit(X, y))
    with pytest.raises(ValueError, match="one entry for each of the 1 panels"):
        parts_of(statistics, axes=plt.subplots(1, 2)[1])
