"""One contract of ``partial_fit``: first batches, announced classes and new classes."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError

from skgeom import (
    GLRSQ,
    PLRSQ,
    RSLVQ,
    SQFA,
    GaussianClassifier,
    SecondMomentSQFA,
)
from skgeom.datasets import make_spd_classes

FILTERS = [SQFA(2, random_state=0), SecondMomentSQFA(2, random_state=0)]
PROTOTYPES = [
    PLRSQ(random_state=0),
    PLRSQ(metric="mahalanobis", random_state=0),
    PLRSQ(metric="riemann", n_prototypes=2, random_state=0),
    GLRSQ(random_state=0),
    RSLVQ(random_state=0),
]
CLASSIFIERS = [GaussianClassifier(), *PROTOTYPES]
ESTIMATORS = [*FILTERS, *CLASSIFIERS]
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


def data_for(estimator):
    """Twenty samples of each of three classes, sorted by class."""
    if isinstance(estimator, PLRSQ | GLRSQ):
        X, y = make_spd_classes(3, 20, 3, random_state=0)
        return X[np.argsort(y)], np.sort(y)
    X, y = load_iris(return_X_y=True)
    return X[np.arange(150) % 50 < 20], y[np.arange(150) % 50 < 20]


def outputs(model, X):
    return model.predict_proba(X) if hasattr(model, "predict") else model.transform(X)


@pytest.mark.parametrize("classes", [None, ["a", "b", "c"]], ids=["open", "announced"])
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)
def test_batches_of_single_classes(estimator, classes):
    """Each class comes alone. Predictions begin with the second class."""
    X, y = data_for(estimator)
    y, model = np.array(["c", "a", "b"])[y], clone(estimator)
    methods = {"predict", "predict_proba", "transform"} & set(dir(model))
    message = r"has samples of one class only\. Call partial_fit"
    for begin in (0, 10):
        own = slice(begin, begin + 10)
        assert model.partial_fit(X[own], y[own], classes) is model
        for name in methods:
            with pytest.raises(NotFittedError, match=message):
                getattr(model, name)(X)
    model.partial_fit(X[20:40], y[20:40])
    found = outputs(model, X)
    assert np.isfinite(found).all()
    if hasattr(model, "predict"):
        assert set(model.predict(X)) == {"c", "a"}
        assert_array_equal(model.classes_, ["a", "c"] if classes is None else classes)
        if classes:
            assert_array_equal(found[:, 1], 0)
    model.partial_fit(X[40:], y[40:])
    assert_array_equal(model.classes_, ["a", "b", "c"])
    assert np.isfinite(outputs(model, X)).all()
    if hasattr(model, "predict"):
        assert set(model.predict(X)) == {"a", "b", "c"}
        assert model.score(X, y) > 0.8


@pytest.mark.parametrize("estimator", [GaussianClassifier(), *FILTERS], ids=repr)
def test_statistics_do_not_depend_on_the_batches(estimator):
    X, y = data_for(estimator)
    stream, expected = clone(estimator), clone(estimator).partial_fit(X, y)
    for label in range(3):
        stream.partial_fit(X[y == label], y[y == label])
    assert_allclose(stream.statistics_.counts, expected.statistics_.counts)
    if estimator in FILTERS:
        assert_allclose(stream.objective_, expected.objective_, rtol=1e-4)
    else:
        assert_allclose(stream.predict_proba(X), expected.predict_proba(X), atol=1e-9)


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)
def test_announced_classes_are_all_classes(estimator):
    X, y = data_for(estimator)
    model, some = clone(estimator), y < 2
    with pytest.raises(ValueError, match=r"label 2, which is not in classes=\[0, 1\]"):
        model.partial_fit(X, y, classes=[0, 1])
    assert not hasattr(model, "classes_")
    model.partial_fit(X[some], y[some], classes=[1, 0])
    before = outputs(model, X)
    with pytest.raises(ValueError, match=r"label 2, which is not in classes=\[0, 1\]"):
        model.partial_fit(X, y)
    with pytest.raises(ValueError, match=r"classes=\[0, 1, 2\], but the first"):
        model.partial_fit(X, y, classes=[0, 1, 2])
    assert_array_equal(outputs(model, X), before)
    model.partial_fit(X[some], y[some], classes=[0, 1])
    message = r"^classes must .* 2 different labels, got \[0\]\. Pass all classes"
    with pytest.raises(ValueError, match=message):
        clone(model).partial_fit(X[y == 0], y[y == 0], classes=[0])
    message = r"^y contains 0, which is a number, but .* 'a' is text\. Use labels"
    with pytest.raises(ValueError, match=message):
        clone(model).partial_fit(X, y, classes=["a", "b"])
    message = r"^y contains '0', which is text, but .* 0 is a number\. Use labels"
    with pytest.raises(ValueError, match=message):
        model.partial_fit(X[some], y[some].astype(str))
    # A fit ends the stream, and later batches may contain new classes.
    model.fit(X[some], y[some]).partial_fit(X, y)
    assert_array_equal(model.classes_, [0, 1, 2])


@pytest.mark.parametrize("estimator", PROTOTYPES, ids=repr)
def test_a_new_class_begins_with_prototypes_of_its_batch(estimator):
    """They are those of a first batch with the same samples, and training continues."""
    X, y = data_for(estimator)
    model = clone(estimator).set_params(learning_rate=1e-300)
    old, new = y != 1, y == 1
    model.partial_fit(X[old], y[old])
    before = model.prototypes_
    model.partial_fit(X[new], y[new])
    count = model.n_prototypes
    assert_array_equal(model.prototype_labels_, np.repeat([0, 1, 2], count))
    kept = np.repeat([True, False, True], count)
    assert_allclose(model.prototypes_[kept], before, rtol=1e-9)
    if estimator.get_params().get("metric") in (None, "riemann"):
        # The mean does not depend on the first batch.
        again = clone(model).partial_fit(X[new], y[new])
        assert_allclose(model.prototypes_[~kept], again.prototypes_, rtol=1e-6)
    several = clone(model).set_params(n_prototypes=3).partial_fit(X, y)
    with pytest.raises(ValueError, match="Class 7 has 1 samples, fewer than its 3"):
        several.partial_fit(X[:1], [7])


def test_priors_of_announced_classes():
    X, y = data_for(RSLVQ())
    for model in (RSLVQ(), GaussianClassifier()):
        model.set_params(priors=[0.2, 0.3, 0.5])
        model.partial_fit(X[y == 0], y[y == 0], classes=[0, 1, 2])
        model.partial_fit(X[y > 0], y[y > 0])
        assert_allclose(model.priors_, [0.2, 0.3, 0.5])


def test_filters_of_fit_remain_until_a_stream_has_two_classes():
    X, y = data_for(SQFA())
    model = SQFA(2, random_state=0).fit(X, y)
    before = model.transform(X)
    model.partial_fit(X[:20], y[:20])
    assert_array_equal(model.transform(X), before)
    model.partial_fit(X[20:], y[20:])
    assert model.statistics_.counts.sum() == 60


def test_reduced_matrices_need_all_classes_first():
    X, y = data_for(PLRSQ())
    for classes, rows in ((None, y == 0), ([0, 1, 2], y < 2)):
        with pytest.raises(ValueError, match="n_components requires samples of all"):
            PLRSQ(n_components=2).partial_fit(X[rows], y[rows], classes)
    model = PLRSQ(n_components=2).partial_fit(X[y < 2], y[y < 2])
    assert set(model.partial_fit(X[y == 2], y[y == 2]).predict(X)) == {0, 1, 2}


def test_batches_do_not_scale_weights():
    X, y = data_for(RSLVQ())
    weights = np.full(len(y), 0.1)
    model = GaussianClassifier().partial_fit(X, y, sample_weight=weights)
    assert_allclose(model.statistics_.counts, [2, 2, 2])
    streamed = SQFA(2).partial_fit(X, y, sample_weight=weights)
    assert_allclose(streamed.statistics_.counts, [2, 2, 2])
