"""What a fitted estimator does depends on its fit, and on nothing that came after.

A fit that raises leaves the estimator as it was, fitted or not.
"""

from copy import deepcopy
from functools import cache

import numpy as np
import public_estimators as public
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import BaseEstimator, clone
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError
from sklearn.utils import resample
from sklearn.utils.validation import check_is_fitted

import skgeom

X, y = load_iris(return_X_y=True)

WEIGHTS = [[0, 2, 2], [2, 0, 1], [2, 1, 0]]
GIVEN = {"regularization": 0, "covariance_estimator": None, "random_state": 0}
FILTERS = [
    skgeom.SQFA(distance="hellinger", squared=True, pair_weight=WEIGHTS, **GIVEN),
    skgeom.SQFA(pair_weight=WEIGHTS, **GIVEN),
    skgeom.SecondMomentSQFA(**GIVEN),
    skgeom.AMAGauss(**GIVEN),
]
CASES = {
    name: case
    for name, case in (public.ESTIMATORS | public.VARIANTS).items()
    if not name.endswith((", given", ", regularization"))
    # The former has no state, the others are of scikit-learn and pyRiemann.
    and name not in ("RegionCovariance", "mdrm", "tslda")
}
METHODS = ["transform", "predict", "predict_proba", "decision_function"]

ignores_warnings = pytest.mark.filterwarnings("ignore::UserWarning")
each_filter = pytest.mark.parametrize(
    "number", range(len(FILTERS)), ids=[type(model).__name__ for model in FILTERS]
)


@cache
def fit_of(number):
    """The fit of a filter of the table, which must not be changed."""
    return clone(FILTERS[number]).fit(X, y)


@cache
def fit_of_case(name):
    """The fit of an estimator of the other table, which must not be changed."""
    return public.fitted(CASES[name], *public.data_of(CASES[name], seed=0))


class Unusable(BaseEstimator):
    """A parameter that nothing can be done with."""


def outputs(model, X):
    found = {m: getattr(model, m)(X) for m in METHODS if hasattr(model, m)}
    if hasattr(model, "class_distances"):
        found["class_distances"] = model.class_distances()
        found["filter_importances"] = model.filter_importances()
    return found


@pytest.mark.parametrize("name", CASES)
def test_parameters_that_are_set_later_change_nothing(name):
    X, _ = public.data_of(CASES[name], seed=0)
    model = deepcopy(fit_of_case(name))
    before = outputs(model, X)
    model.set_params(**{name: Unusable() for name in model.get_params(deep=False)})
    after = outputs(model, X)
    for name, expected in before.items():
        assert_array_equal(after[name], expected, err_msg=name)


def attributes(estimator):
    return {k: v for k, v in vars(estimator).items() if not k.startswith("_skl")}


@ignores_warnings
@pytest.mark.parametrize(
    "name", [name for name, case in CASES.items() if public.NAMES in case.holds]
)
def test_failed_fit_changes_nothing(name):
    """The error is raised later than the checks of X and y: one class only."""
    estimator = CASES[name].make()
    X, y = public.data_of(CASES[name], seed=0)
    refused = X[:, :3] if X.ndim == 2 else X[:, :3, :3], 0 * y
    with pytest.raises(ValueError):
        estimator.fit(*refused)
    with pytest.raises(NotFittedError):
        check_is_fitted(estimator)
    estimator = deepcopy(fit_of_case(name))
    before = attributes(estimator)
    with pytest.raises(ValueError):
        estimator.fit(*refused)
    after = attributes(estimator)
    assert after.keys() == before.keys()
    assert all(after[name] is before[name] for name in before)


@ignores_warnings
def test_precomputed_kernel_of_the_fit():
    K = X @ X.T
    model = skgeom.KernelDiscriminantAnalysis(kernel="precomputed").fit(K, y)
    expected = model.transform(K)
    assert_array_equal(model.set_params(kernel="rbf").transform(K), expected)
    model.fit(X, y)  # and the new one serves the next fit
    assert len(model.X_fit_) == len(np.unique(X, axis=0))


@ignores_warnings
@each_filter
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_inverse_transform_is_a_projection(number, dtype):
    model = fit_of(number)
    features = model.transform(X.astype(dtype))
    back = model.inverse_transform(features)
    assert back.dtype == dtype and back.shape == X.shape
    tolerance = 1e-10 if dtype == np.float64 else 1e-4
    # The same features, and of all such samples those of least norm.
    assert_allclose(model.transform(back), features, rtol=tolerance, atol=tolerance)
    expected, *_ = np.linalg.lstsq(model.components_, features.T, rcond=None)
    assert_allclose(back, expected.T, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("weight", [1e300, 1e-300])
@pytest.mark.parametrize(
    "estimator",
    [skgeom.SQFA(), skgeom.GMLVQ(), skgeom.RSLVQ(), skgeom.GaussianClassifier()],
)
def test_extreme_weights_are_refused_by_name(estimator, weight):
    weights = np.full(len(y), weight)
    with pytest.raises(ValueError, match=r"sample_weight has values up to .* mean"):
        clone(estimator).fit(X, y, sample_weight=weights)


@ignores_warnings
@each_filter
def test_importances_are_what_a_filter_adds(number):
    model = fit_of(number)
    importances = model.filter_importances()
    assert importances.shape == (2,) and (importances > 0).all()
    squared = getattr(model, "squared", False)
    i, j = np.triu_indices(3, 1)
    weighted = getattr(model, "pair_weight", None) is not None
    weights = np.array(WEIGHTS)[i, j] if weighted else np.ones(3)

    def mean(rows):
        part = deepcopy(fit_of(number))
        part.components_ = model.components_[rows]
        part.statistics_ = model.statistics_.project(np.eye(2)[rows])
        values = part.class_distances()[i, j] ** (2 if squared else 1)
        return np.average(values, weights=weights)

    both = mean([0, 1])
    expected = [both - mean([1]), both - mean([0])]
    assert_allclose(importances, expected, rtol=1e-8)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_bootstrap_of_importances_has_the_error_of_new_samples(rng):
    means, scales = np.diag([3.0, 1, 0])[:2], np.array([[1, 1, 1], [1, 2, 1]])
    moments = [0, 1], [800, 800], means, scales[:, None] ** 2 * np.eye(3)
    sqfa = skgeom.SQFA(**GIVEN).fit_statistics(skgeom.ClassStatistics(*moments))
    again, z = clone(sqfa).set_params(init=sqfa.components_), np.repeat([0, 1], 800)
    tables = [(rng.normal(means[z], scales[z]), z) for _ in range(50)]
    tables += [resample(*tables[0], stratify=z, random_state=k) for k in range(50)]
    found = np.array([again.fit(*table).filter_importances() for table in tables])
    spread, error = found.reshape(2, 50, 2).std(axis=1)
    assert_allclose(error, spread, rtol=0.5)
    assert (abs(found[50:].mean(axis=0) - sqfa.filter_importances()) < 3 * error).all()


@pytest.mark.parametrize("name", CASES)
def test_components_are_what_transform_projects_onto(name):
    samples, _ = public.data_of(CASES[name], seed=0)
    model = fit_of_case(name)
    if not hasattr(model, "components_"):
        return
    C, found = model.components_, model.transform(samples)
    projected = samples @ C.T if samples.ndim == 2 else C @ samples @ C.T
    assert_allclose(found - found[0], projected - projected[0], atol=1e-10)


@pytest.mark.parametrize("n_components", [None, 2])
def test_omega_of_gmlvq(n_components):
    model = skgeom.GMLVQ(n_components=n_components).fit(X, y)
    omega = model.omega_
    assert_allclose(model.relevances_, np.diag(omega.T @ omega))
    assert model.relevances_.sum() == pytest.approx(1)
    offsets = X[:, None] - model.prototypes_
    expected = np.linalg.norm(offsets @ omega.T, axis=-1)
    assert_allclose(model.transform(X), expected)
    gram = omega @ omega.T
    assert_allclose(gram, np.diag(np.diag(gram)), atol=1e-12)
    assert (np.diff(np.diag(gram)) <= 0).all()
    largest = np.abs(omega).argmax(axis=1)
    assert (omega[np.arange(len(omega)), largest] > 0).all()
