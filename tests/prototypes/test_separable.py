"""Classes that can be separated are never an error."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from skgeom import GLRSQ, PLRSQ
from skgeom._prototypes._metrics import SPD_METRICS
from skgeom.datasets import make_spd_classes

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def eeg(seed, n_channels=64, log_condition=5, n_samples=288, n_classes=5, n_times=200):
    """Covariances of sources, one of which has the double variance in each class > 0.

    Half of the training samples are in class 0.
    """
    rng = np.random.default_rng(seed)
    orthogonal = np.linalg.qr(rng.normal(size=(n_channels, n_channels)))[0]
    A = orthogonal * np.logspace(log_condition / 2, 0, n_channels)
    y = np.arange(2 * n_samples) % (2 * (n_classes - 1))
    y = np.where(y < n_classes, y, 0)
    signals = rng.normal(size=(len(y), n_channels, n_times))
    for label in range(1, n_classes):
        signals[y == label, label] *= np.sqrt(2)
    X = A @ signals
    X = X @ X.mT / n_times
    return X[:n_samples], y[:n_samples], X[n_samples:], y[n_samples:]


@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(s, marks=pytest.mark.exhaustive) for s in range(1, 5))]
)
def test_eeg_of_64_channels(seed):
    X, y, X_test, y_test = eeg(seed)
    model = PLRSQ().fit(X, y)
    assert model.score(X_test, y_test) >= 0.85
    assert_array_equal(model.prototypes_, model.prototypes_.mT)
    np.linalg.cholesky(model.prototypes_)
    PLRSQ(init=model.prototypes_, max_iter=1).fit(X, y)


SIZES = [8, *(pytest.param(n, marks=pytest.mark.exhaustive) for n in (2, 128))]


@pytest.mark.filterwarnings("ignore:The predictions of held-out")  # few samples
@pytest.mark.parametrize("n_channels", SIZES)
@pytest.mark.parametrize("metric", SPD_METRICS)
def test_every_metric_size_and_condition(metric, n_channels):
    X, y, _, _ = eeg(1, n_channels, 10, 24, 2, 300)
    options = {"metric": metric, "max_iter": 1 if n_channels == 128 else 10}
    for model in (
        PLRSQ(**options),
        PLRSQ(2, **options, random_state=0),
        PLRSQ(**options, representability=0),
        GLRSQ(**options),
    ):
        model.fit(X, y)
        assert np.isfinite(model.transform(X)).all()
        assert np.isfinite(model.prototypes_).all()


@pytest.mark.parametrize("metric", ["tangent", "logeuclid", "mahalanobis"])
def test_partial_fit_loses_no_digits(metric):
    """The prototypes are singular up to rounding; their coordinates are not."""
    X, y, _, _ = eeg(0, 16, n_samples=40)
    model = PLRSQ(metric=metric, representability=1e-4).fit(X, y)
    expected = model.predict_proba(X)
    model.set_params(learning_rate=1e-300).partial_fit(X, y)
    assert_allclose(model.predict_proba(X), expected, atol=1e-9)


def test_amplitudes_that_vary():
    """They hide the difference between the classes in the metric "riemann"."""
    X, y = make_spd_classes(2, 100, 4, random_state=0)
    scaled = X * np.random.default_rng(0).lognormal(sigma=3, size=(200, 1, 1))
    with pytest.warns(match="due to the amplitude .* divide each matrix by its trace"):
        GLRSQ(metric="riemann").fit(scaled, y)
    traces = np.trace(scaled, axis1=1, axis2=2)[:, None, None]
    GLRSQ(metric="riemann").fit(scaled / traces, y)
