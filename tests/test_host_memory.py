"""Arrays of other libraries that lie in the memory of the host: numpy computes."""

import numpy as np
import public_estimators as public
import pytest
from numpy.testing import assert_array_equal
from sklearn import config_context
from sklearn.base import clone, is_classifier
from sklearn.datasets import load_wine
from sklearn.linear_model import LogisticRegression, RidgeClassifier

from skgeom import (
    SQFA,
    CovarianceHessianProjection,
    GaussianClassifier,
    GaussianRegressor,
    KernelDiscriminantAnalysis,
    RejectionClassifier,
    geometry,
)
from skgeom.utils.array_api import is_in_host_memory, namespace, to_numpy

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

NUMPY_ONLY = {
    *("RegionCovariance", "mdrm", "tslda", "ClusterClassifier"),
    *("GaussianRegressor", "Recentering", "TransferDiscriminantAnalysis"),
}
CASES = {
    name: case
    for name, case in (public.ESTIMATORS | public.VARIANTS).items()
    if name not in NUMPY_ONLY
} | {
    "CovarianceHessianProjection": public.Case(
        CovarianceHessianProjection(LogisticRegression())
    ),
    "RejectionClassifier": public.Case(
        RejectionClassifier(GaussianClassifier(), rejection_rate=0.1, cv=3)
    ),
}
FAST = {"PLRSQ, sgd", "GaussianClassifier", "SQFA"}
METHODS = "transform inverse_transform predict predict_proba predict_log_proba".split()
METHODS += ["decision_function", "score_samples"]


def each(cases):
    return [
        pytest.param(
            case, marks=() if name in FAST else pytest.mark.exhaustive, id=name
        )
        for name, case in cases.items()
    ]


CLASSIFIERS = {name: case for name, case in CASES.items() if is_classifier(case.make())}


@pytest.fixture(scope="module")
def wine():
    X, y = load_wine(return_X_y=True)
    return ((X - X.mean(axis=0)) / X.std(axis=0))[:, :5], y


def make(case):
    """The estimator, which takes few iterations."""
    model = case.make()
    few = {"max_iter": 3} if "max_iter" in model.get_params() else {}
    return model.set_params(**few)


def fitted_arrays(estimator):
    """Those of numbers, but the classes."""
    return {
        name: value
        for name, value in vars(estimator).items()
        if isinstance(value, np.ndarray)
        and value.dtype.kind in "fiub"
        and (name.endswith("_") or name.startswith("_"))
    }


@pytest.mark.parametrize("case", each(CASES))
def test_results_are_those_of_numpy_to_the_last_digit(case, host_library):
    X, y = public.data_of(case, seed=0)
    X = X.astype(host_library.dtype)
    there = host_library.array(X)
    expected = make(case).fit(X, y)
    fitted = make(case).fit(there, host_library.array(y))
    for name, value in fitted_arrays(expected).items():
        assert host_library.is_mine(getattr(fitted, name)), name
        assert_array_equal(to_numpy(getattr(fitted, name)), value)
    for method in METHODS:
        if hasattr(expected, method):
            inverse = method == "inverse_transform"
            samples = expected.transform(X) if inverse else X
            result = getattr(fitted, method)(host_library.array(samples))
            assert host_library.is_mine(result), method
            wanted = getattr(expected, method)(samples)
            assert to_numpy(result).dtype == wanted.dtype
            assert_array_equal(to_numpy(result), wanted)


@pytest.mark.parametrize("name", ["SQFA", "GLRSQ"])
def test_more_samples_are_learnt_by_numpy(name, host_library):
    X, y = public.data_of(CASES[name], seed=0)
    X = X.astype(host_library.dtype)
    there = host_library.array(X)
    fitted, expected = CASES[name].make(), CASES[name].make()
    for part in (slice(0, None, 2), slice(1, None, 2)):
        expected.partial_fit(X[part], y[part])
        fitted.partial_fit(there[part, ...], host_library.array(y[part]))
    for name, value in fitted_arrays(expected).items():
        assert host_library.is_mine(getattr(fitted, name)), name
        assert_array_equal(to_numpy(getattr(fitted, name)), value)
    with pytest.raises(ValueError, match=r"partial_fit\(\) must use the same"):
        fitted.partial_fit(X, y)
    array = pytest.importorskip("dask.array").from_array
    with pytest.raises(ValueError, match=r"partial_fit\(\) must use the same"):
        fitted.partial_fit(array(X), array(y))


# torch says so of what scikit-learn does.
@pytest.mark.filterwarnings("ignore:torch.asarray. unspecified requires_grad")
def test_tensors_that_record_gradients_are_left_to_torch(wine):
    torch = pytest.importorskip("torch")

    X, y = wine
    tensor = torch.asarray(X)
    with config_context(array_api_dispatch=True):
        sqfa = SQFA(2, max_iter=3, random_state=0).fit(tensor, y)
        recorded = tensor.clone().requires_grad_()
        assert not is_in_host_memory(recorded)
        sqfa.transform(recorded).sum().backward()
    expected = sqfa.components_.sum(dim=0).expand_as(tensor)
    torch.testing.assert_close(recorded.grad, expected)
    matrices = torch.eye(2).repeat(3, 1, 1).requires_grad_()
    assert geometry.logm(matrices).requires_grad


# torch says so of what it does itself.
@pytest.mark.filterwarnings("ignore:.torch.jit.script. is deprecated")
@pytest.mark.filterwarnings("ignore:torch.asarray. unspecified requires_grad")
def test_tensors_with_directions_are_left_to_torch(wine):
    torch = pytest.importorskip("torch")
    from torch.autograd import forward_ad

    tensor = torch.asarray(wine[0])
    matrix, direction = tensor.T @ tensor, torch.diag(tensor[0])
    gradient = torch.func.jacrev(geometry.logm)(matrix)
    expected = torch.einsum("ijkl,kl->ij", gradient, direction)
    _, along = torch.func.jvp(geometry.logm, (matrix,), (direction,))
    torch.testing.assert_close(along, expected)
    with forward_ad.dual_level():
        dual = geometry.logm(forward_ad.make_dual(matrix, direction))
        torch.testing.assert_close(forward_ad.unpack_dual(dual).tangent, expected)
        assert is_in_host_memory(matrix)


def test_arrays_that_jax_traces_are_left_to_jax():
    jax = pytest.importorskip("jax")
    seen = []

    def function(x):
        seen.append(is_in_host_memory(x))
        return x.sum()

    jax.grad(function)(jax.numpy.ones(2))
    assert seen == [False]
    assert is_in_host_memory(jax.numpy.ones(2))


def test_functions_of_the_user_are_given_tensors(wine):
    torch = pytest.importorskip("torch")

    X, y = wine
    tensor = torch.asarray(X[::4])

    def kernel(x, z):
        return torch.exp(-torch.cdist(x, z).square() / 5)

    def distance(means_a, covariances_a, means_b, covariances_b):
        return torch.square(means_a - means_b).sum(dim=1)

    with config_context(array_api_dispatch=True):
        model = KernelDiscriminantAnalysis(kernel=kernel, regularization=1e-2)
        found = model.fit(tensor, y[::4]).predict_proba(tensor)
        named = clone(model).set_params(kernel="rbf", gamma=0.2)
        torch.testing.assert_close(
            found, named.fit(tensor, y[::4]).predict_proba(tensor)
        )
        sqfa = SQFA(1, distance=distance, max_iter=3, random_state=0)
        assert isinstance(sqfa.fit(tensor, y[::4]).components_, torch.Tensor)


@pytest.mark.parametrize("case", each(CLASSIFIERS))
def test_classes_follow_y_as_in_scikit_learn(case, library):
    X, y = public.data_of(case, seed=0)
    names = np.array(["a", "b", "c"])[y]
    vectors = library.array(X.reshape(len(X), -1))
    for labels in (library.array(y), y, names.tolist()):
        reference = RidgeClassifier(solver="svd").fit(vectors, labels)
        model = make(case).fit(library.array(X), labels)
        assert namespace(model.classes_) is namespace(reference.classes_)
        predicted = model.predict(library.array(X))
        wanted = reference.predict(vectors)
        assert namespace(predicted) is namespace(wanted)
        if not isinstance(model, RejectionClassifier):
            assert predicted.dtype == wanted.dtype
            assert (to_numpy(predicted) == to_numpy(labels)).mean() > 0.6


REFUSED = {
    "sparse": (lambda X: X.to_sparse(), r"X is a sparse tensor.*X\.to_dense\(\)"),
    "meta": (lambda X: X.to("meta"), "X is on the device 'meta'"),
}


def test_regressor_of_numpy_arrays_only(library, wine_32):
    X, y = wine_32
    with pytest.raises(ValueError, match="does not support arrays of libraries other"):
        GaussianRegressor().fit(library.array(X), y)


@pytest.mark.exhaustive
@pytest.mark.parametrize("kind", REFUSED)
@pytest.mark.parametrize("name", CASES)
def test_tensors_without_real_numbers_are_refused(name, kind):
    torch = pytest.importorskip("torch")

    X, y = public.data_of(CASES[name], seed=0)
    change, message = REFUSED[kind]
    tensor = torch.asarray(X)
    with config_context(array_api_dispatch=True):
        with pytest.raises(ValueError, match=message):
            make(CASES[name]).fit(change(tensor), y)
        fitted = make(CASES[name]).fit(tensor, y)
        method = "transform" if hasattr(fitted, "transform") else "predict"
        with pytest.raises(ValueError, match=message):
            getattr(fitted, method)(change(tensor))
