"""Arrays of other libraries that lie in the memory of the host: numpy computes."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.datasets import load_wine
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.model_selection import cross_val_score

from skgeom import (
    GLRSQ,
    GMLVQ,
    PLRSQ,
    RSLVQ,
    SQFA,
    AMAGauss,
    ClassStatistics,
    CovarianceHessianProjection,
    GaussianClassifier,
    KernelDiscriminantAnalysis,
    LandmarkKernelPCA,
    RejectionClassifier,
    geometry,
)
from skgeom.baselines import LOL, GeometryAwarePCA
from skgeom.geometry import real_embedding
from skgeom.utils.array_api import is_in_host_memory, like, namespace, to_numpy
from skgeom.utils.estimator import estimator_method

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
    "estimator", [*OF_MATRICES, *CLASSIFIERS, *PROJECTIONS], ids=repr
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
    [
        SQFA(2, max_iter=5, random_state=0),
        GaussianClassifier(),
        RSLVQ(max_iter=3, random_state=0),
        GLRSQ(max_iter=3, random_state=0),
    ],
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


@pytest.mark.parametrize("model", [PLRSQ(warm_start=True), GMLVQ(warm_start=True)])
def test_a_warm_start_goes_on_by_numpy(model, host_library, wine):
    X, y = samples_for(model, wine[0]).astype(host_library.dtype), wine[1]
    model.set_params(max_iter=2)
    fitted, expected = clone(model), clone(model)
    for _ in range(2):
        expected.fit(X, y)
        fitted.fit(host_library.array(X), host_library.array(y))
    assert_array_equal(to_numpy(fitted.prototypes_), expected.prototypes_)


def test_statistics_are_made_by_numpy(host_library, rng):
    X = rng.normal(size=(50, 300)).astype(host_library.dtype)
    y, weights = np.arange(50) % 2, np.arange(50) % 3 + 0.5
    there = host_library.array(X)
    by_blocks = ClassStatistics.from_blocks([(there, host_library.array(y))])
    plain = ClassStatistics.from_data(X, y)
    weighted = ClassStatistics.from_data(
        there, y, sample_weight=host_library.array(weights)
    )
    for statistics, expected in (
        (ClassStatistics.from_data(there, y), plain),
        (by_blocks, plain),
        (weighted, ClassStatistics.from_data(X, y, sample_weight=weights)),
    ):
        assert host_library.is_mine(statistics.covariances)
        assert_array_equal(to_numpy(statistics.covariances), expected.covariances)
    fitted = SQFA(2, max_iter=2, random_state=0).fit_statistics(by_blocks)
    assert host_library.is_mine(fitted.components_)
    assert host_library.is_mine(fitted.statistics_.means)
    by_numpy = clone(fitted).fit_statistics(ClassStatistics.from_data(X, y))
    assert_array_equal(to_numpy(fitted.components_), by_numpy.components_)
    classifier = GaussianClassifier().fit_statistics(fitted.statistics_)
    assert host_library.is_mine(classifier.priors_)


def test_geometry_is_computed_by_numpy(host_library, make_spd):
    A, B = make_spd((3,), 4), make_spd((3,), 4)
    there = host_library.array(A)
    other = host_library.array(B)
    A, B = A.astype(host_library.dtype), B.astype(host_library.dtype)
    for function in (geometry.sqrtm, geometry.logm, geometry.mean_affine_invariant):
        assert host_library.is_mine(function(there))
        assert_array_equal(to_numpy(function(there)), function(A))
    distances = geometry.distance_affine_invariant(there, other)
    assert host_library.is_mine(distances)
    assert_array_equal(to_numpy(distances), geometry.distance_affine_invariant(A, B))


class Keeper(TransformerMixin, BaseEstimator):
    """Keeps the samples, and gives them back."""

    _fitted_array = "X_"
    _parameter_constraints = {}

    @estimator_method
    def fit(self, X, y=None):
        self.X_, self._of_fit = X, type(X)
        return self

    @estimator_method
    def transform(self, X):
        self.lost_ = type(X), type(self.X_)  # on a copy, that ends with the call
        return X, self.X_


def test_nothing_is_copied():
    torch = pytest.importorskip("torch")
    from sklearn import config_context

    tensor, other = torch.arange(6.0).reshape(2, 3), torch.ones(3, 2).T
    with config_context(array_api_dispatch=True):
        keeper = Keeper().fit(tensor)
        assert keeper._of_fit is np.ndarray
        results = keeper.transform(other)
    assert keeper.X_.data_ptr() == tensor.data_ptr()
    for result, given in zip(results, (other, tensor), strict=True):
        assert result.data_ptr() == given.data_ptr()
        assert result.stride() == given.stride()
    assert not hasattr(keeper, "lost_")


def test_what_torch_cannot_share_is_copied(recwarn):
    torch = pytest.importorskip("torch")
    model = torch.ones(1)
    rising = np.arange(3.0)
    fixed = np.broadcast_to(rising, (2, 3))
    assert like(rising[::-1], model).tolist() == [2, 1, 0]
    assert like(fixed, model).tolist() == [[0, 1, 2]] * 2
    assert not recwarn


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
    from sklearn import config_context
    from torch.autograd import forward_ad

    X, y = wine
    tensor = torch.asarray(X)
    matrix, direction = tensor.T @ tensor, torch.diag(tensor[0])
    gradient = torch.func.jacrev(geometry.logm)(matrix)
    expected = torch.einsum("ijkl,kl->ij", gradient, direction)
    _, along = torch.func.jvp(geometry.logm, (matrix,), (direction,))
    torch.testing.assert_close(along, expected)
    with forward_ad.dual_level():
        dual = geometry.logm(forward_ad.make_dual(matrix, direction))
        torch.testing.assert_close(forward_ad.unpack_dual(dual).tangent, expected)
        assert is_in_host_memory(matrix)
    with config_context(array_api_dispatch=True):
        sqfa = SQFA(2, max_iter=3, random_state=0).fit(tensor, y)
        _, along = torch.func.jvp(sqfa.transform, (tensor,), (tensor,))
        torch.testing.assert_close(along, sqfa.transform(tensor))
        classifier = GaussianClassifier("shared").fit(tensor, torch.asarray(y))
        scores = classifier.decision_function  # linear, up to what classes share
        _, along = torch.func.jvp(scores, (tensor,), (torch.ones_like(tensor),))
        along = along - along[:, :1]
        expected = scores(tensor + 1) - scores(tensor)
        torch.testing.assert_close(along, expected - expected[:, :1])


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
    [*CLASSIFIERS, PLRSQ(max_iter=2), GLRSQ(max_iter=2)],
    ids=lambda classifier: repr(classifier),
)
def test_classes_follow_y_as_in_scikit_learn(classifier, library, wine):
    X, y = samples_for(classifier, wine[0]), wine[1]
    names = np.array(["a", "b", "c"])[y]
    for labels in (library.array(y), y, y.tolist(), names, names.tolist()):
        reference = RidgeClassifier(solver="svd").fit(library.array(wine[0]), labels)
        model = seeded(classifier).fit(library.array(X), labels)
        assert namespace(model.classes_) is namespace(reference.classes_)
        predicted = model.predict(library.array(X))
        wanted = reference.predict(library.array(wine[0]))
        assert namespace(predicted) is namespace(wanted)
        if not isinstance(classifier, RejectionClassifier):
            assert predicted.dtype == wanted.dtype
            assert (to_numpy(predicted) == to_numpy(labels)).mean() > 0.6


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    "classifier", [*CLASSIFIERS[:-1], PLRSQ(max_iter=2), GLRSQ(max_iter=2)], ids=repr
)
def test_scorers_of_scikit_learn(classifier, host_library, wine):
    X, y = samples_for(classifier, wine[0]), wine[1]
    kept = y < 2
    X, y = X[kept].astype(host_library.dtype), y[kept]
    # roc_auc of scikit-learn 1.9.1 fails with tensors, of its own classifiers as well.
    for scoring in ("accuracy", "f1_macro", "neg_log_loss"):
        if scoring == "neg_log_loss" and not hasattr(classifier, "predict_proba"):
            continue
        expected = cross_val_score(seeded(classifier), X, y, cv=2, scoring=scoring)
        found = cross_val_score(
            seeded(classifier),
            host_library.array(X),
            host_library.array(y),
            cv=2,
            scoring=scoring,
        )
        np.testing.assert_allclose(found, expected, atol=0.02)


REFUSED = {
    "complex": (lambda X: X * 1j, "Complex data not supported"),
    "sparse": (lambda X: X.to_sparse(), r"X is a sparse tensor.*X\.to_dense\(\)"),
    "rows": (lambda X: X.to_sparse_csr(), r"X is a sparse tensor.*X\.to_dense\(\)"),
    "meta": (lambda X: X.to("meta"), "X lies on the device 'meta'"),
}


@pytest.mark.filterwarnings("ignore:Sparse CSR tensor support")
@pytest.mark.parametrize("kind", REFUSED)
@pytest.mark.parametrize(
    "estimator", [*CLASSIFIERS, *PROJECTIONS, PLRSQ(max_iter=2)], ids=repr
)
def test_tensors_without_real_numbers_are_refused(estimator, kind, wine):
    torch = pytest.importorskip("torch")
    from sklearn import config_context

    X, y = samples_for(estimator, wine[0]), wine[1]
    if kind == "rows" and X.ndim == 3:
        pytest.skip("A matrix has rows.")
    make, message = REFUSED[kind]
    tensor = torch.asarray(X)
    with config_context(array_api_dispatch=True):
        with pytest.raises(ValueError, match=message):
            clone(estimator).fit(make(tensor), y)
        fitted = clone(estimator).fit(tensor, y)
        method = "transform" if hasattr(fitted, "transform") else "predict"
        with pytest.raises(ValueError, match=message):
            getattr(fitted, method)(make(tensor))


def test_where_else_such_tensors_are_refused(wine):
    torch = pytest.importorskip("torch")
    from sklearn import config_context

    X, y = wine
    tensor, labels = torch.asarray(X), torch.asarray(y)
    with config_context(array_api_dispatch=True):
        with pytest.raises(ValueError, match="X is a sparse tensor"):
            ClassStatistics.from_data(tensor.to_sparse(), y)
        for classifier in (
            GaussianClassifier(),
            RejectionClassifier(GaussianClassifier()),
        ):
            with pytest.raises(ValueError, match="y lies on the device 'meta'"):
                classifier.fit(tensor, labels.to("meta"))
            weights = torch.ones(len(y)).to_sparse()
            with pytest.raises(ValueError, match="sample_weight is a sparse tensor"):
                classifier.fit(tensor, labels, sample_weight=weights)
    matrices = torch.eye(2).repeat(3, 1, 1)
    with pytest.raises(ValueError, match="matrices is a sparse tensor"):
        geometry.logm(matrices.to_sparse())
    with pytest.raises(ValueError, match="matrices lies on the device 'meta'"):
        real_embedding(matrices.to("meta"))


def test_callbacks_are_given_what_follows_X(host_library, wine):
    callback = pytest.importorskip("sklearn.callback")
    assert callback
    seen = []

    class Recorder:
        def setup(self, estimator, context):
            pass

        def teardown(self, estimator, context):
            pass

        def on_fit_task_begin(self, estimator, context):
            pass

        def on_fit_task_end(self, estimator, context, *, fitted_estimator, X):
            if fitted_estimator is not None:
                seen.append((X, fitted_estimator))

    X, y = host_library.array(wine[0]), host_library.array(wine[1])
    SQFA(2, max_iter=3, random_state=0).set_callbacks(Recorder()).fit(X, y)
    assert seen
    for samples, model in seen:
        assert host_library.is_mine(samples)
        assert host_library.is_mine(model.transform(samples))


def test_displays_of_what_follows_X(library, wine):
    figure = pytest.importorskip("matplotlib.figure")
    from skgeom.plotting import AccuracyRejectionDisplay, DistanceMatrixDisplay

    left, right = figure.Figure().subplots(1, 2)  # pyplot would keep it
    X, y = library.array(wine[0]), library.array(wine[1])
    sqfa = SQFA(2, max_iter=2).fit(X, y)
    axes = DistanceMatrixDisplay.from_estimator(sqfa, ax=left).ax_
    assert [label.get_text() for label in axes.get_xticklabels()] == ["0", "1", "2"]
    classifier = GaussianClassifier().fit(X, y)
    drawn = AccuracyRejectionDisplay.from_estimator(classifier, X, wine[1], ax=right)
    assert drawn.accuracies.max() == 1
