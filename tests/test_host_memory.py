"""Arrays of other libraries that lie in the memory of the host: numpy computes."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.datasets import load_wine
from sklearn.linear_model import LogisticRegression, RidgeClassifier

from skgeom import (
    GLRSQ,
    GMLVQ,
    PLRSQ,
    RSLVQ,
    SQFA,
    AMAGauss,
    CovarianceHessianProjection,
    GaussianClassifier,
    KernelDiscriminantAnalysis,
    LandmarkKernelPCA,
    RejectionClassifier,
    geometry,
)
from skgeom.baselines import LOL, GeometryAwarePCA
from skgeom.utils.array_api import is_in_host_memory, namespace, to_numpy

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

# Each with random_state if it takes one; the matrices of some are made of the samples.
OF_MATRICES = [
    PLRSQ(max_iter=3),
    PLRSQ(metric="logdet", max_iter=3),
    PLRSQ(n_components=2, max_iter=3),
    GLRSQ(max_iter=2, solver="sgd"),
    GeometryAwarePCA(2),
]
CLASSIFIERS = [
    GaussianClassifier(),
    GaussianClassifier("shared", regularization=0.1),
    KernelDiscriminantAnalysis(regularization=1e-3),
    KernelDiscriminantAnalysis(solver="nystroem", n_landmarks=20),
    GMLVQ(max_iter=3),
    RSLVQ(max_iter=3),
    RejectionClassifier(GaussianClassifier(), rejection_rate=0.1, cv=3),
]
PROJECTIONS = [
    SQFA(2, max_iter=5),
    AMAGauss(2, max_iter=5),
    CovarianceHessianProjection(LogisticRegression()),
    LandmarkKernelPCA(2, n_landmarks=20),
    LOL(2),
]
METHODS = [
    "transform",
    "inverse_transform",
    "predict",
    "predict_proba",
    "predict_log_proba",
    "decision_function",
    "score_samples",
]


def few_fast(estimators):
    """Parameters; those of other classes are rare."""
    fast, params = {PLRSQ, GaussianClassifier, SQFA}, []
    for one in estimators:
        marks = () if type(one) in fast else pytest.mark.exhaustive
        fast.discard(type(one))
        params.append(pytest.param(one, marks=marks, id=repr(one)))
    return params


@pytest.fixture(scope="module")
def wine():
    X, y = load_wine(return_X_y=True)
    return ((X - X.mean(axis=0)) / X.std(axis=0))[:, :5], y


def samples_for(estimator, X):
    """Matrices of the samples, for those that take such."""
    if type(estimator) not in map(type, OF_MATRICES):
        return X
    return X[:, :3, None] * X[:, None, :3] + np.eye(3)


def seeded(estimator):
    names = estimator.get_params()
    return clone(estimator).set_params(
        **{"random_state": 0} if "random_state" in names else {}
    )


def fitted_arrays(estimator):
    """Those of numbers, but the classes."""
    return {
        name: value
        for name, value in vars(estimator).items()
        if isinstance(value, np.ndarray)
        and value.dtype.kind in "fiub"
        and (name.endswith("_") or name.startswith("_"))
    }


@pytest.mark.parametrize(
    "estimator",
    few_fast([*OF_MATRICES, *CLASSIFIERS, *PROJECTIONS]),
)
def test_results_are_those_of_numpy_to_the_last_digit(estimator, host_library, wine):
    X, y = samples_for(estimator, wine[0]).astype(host_library.dtype), wine[1]
    there = host_library.array(X)
    expected = seeded(estimator).fit(X, y)
    fitted = seeded(estimator).fit(there, host_library.array(y))
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


@pytest.mark.parametrize(
    "estimator",
    [SQFA(2, max_iter=5, random_state=0), GLRSQ(max_iter=3, random_state=0)],
    ids=repr,
)
def test_more_samples_are_learnt_by_numpy(estimator, host_library, wine):
    X, y = samples_for(estimator, wine[0]).astype(host_library.dtype), wine[1]
    there = host_library.array(X)
    fitted, expected = clone(estimator), clone(estimator)
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
    from sklearn import config_context

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
    from sklearn import config_context

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


@pytest.mark.parametrize(
    "classifier",
    few_fast([*CLASSIFIERS, PLRSQ(max_iter=2), GLRSQ(max_iter=2)]),
)
def test_classes_follow_y_as_in_scikit_learn(classifier, library, wine):
    X, y = samples_for(classifier, wine[0]), wine[1]
    names = np.array(["a", "b", "c"])[y]
    for labels in (library.array(y), y, names.tolist()):
        reference = RidgeClassifier(solver="svd").fit(library.array(wine[0]), labels)
        model = seeded(classifier).fit(library.array(X), labels)
        assert namespace(model.classes_) is namespace(reference.classes_)
        predicted = model.predict(library.array(X))
        wanted = reference.predict(library.array(wine[0]))
        assert namespace(predicted) is namespace(wanted)
        if not isinstance(classifier, RejectionClassifier):
            assert predicted.dtype == wanted.dtype
            assert (to_numpy(predicted) == to_numpy(labels)).mean() > 0.6


REFUSED = {
    "sparse": (lambda X: X.to_sparse(), r"X is a sparse tensor.*X\.to_dense\(\)"),
    "meta": (lambda X: X.to("meta"), "X is on the device 'meta'"),
}


@pytest.mark.exhaustive
@pytest.mark.parametrize("kind", REFUSED)
@pytest.mark.parametrize(
    "estimator", [*CLASSIFIERS, *PROJECTIONS, PLRSQ(max_iter=2)], ids=repr
)
def test_tensors_without_real_numbers_are_refused(estimator, kind, wine):
    torch = pytest.importorskip("torch")
    from sklearn import config_context

    X, y = samples_for(estimator, wine[0]), wine[1]
    make, message = REFUSED[kind]
    tensor = torch.asarray(X)
    with config_context(array_api_dispatch=True):
        with pytest.raises(ValueError, match=message):
            clone(estimator).fit(make(tensor), y)
        fitted = clone(estimator).fit(tensor, y)
        method = "transform" if hasattr(fitted, "transform") else "predict"
        with pytest.raises(ValueError, match=message):
            getattr(fitted, method)(make(tensor))
