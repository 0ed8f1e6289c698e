"""Hessians of torch modules, and projections on devices."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import config_context
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.preprocessing import StandardScaler
from sklearn.utils import _array_api

from skgeom import CovarianceHessianProjection, input_hessian
from skgeom.utils.array_api import to_numpy

DATA = {"binary": load_breast_cancer, "multi-class": load_iris}


@pytest.fixture
def torch():
    return pytest.importorskip("torch")


@pytest.fixture(params=DATA)
def data(request):
    X, y = DATA[request.param](return_X_y=True)
    return StandardScaler().fit_transform(X[:, :10]), y


def as_module(torch, network):
    """The logits of an MLPClassifier as a module in double precision."""
    activations = {"relu": "ReLU", "tanh": "Tanh", "logistic": "Sigmoid"}
    layers = []
    for coef, bias in zip(network.coefs_, network.intercepts_, strict=True):
        layer = torch.nn.Linear(*coef.shape, dtype=torch.float64)
        with torch.no_grad():
            layer.weight.copy_(torch.tensor(coef.T))
            layer.bias.copy_(torch.tensor(bias))
        layers += [layer, getattr(torch.nn, activations[network.activation])()]
    return torch.nn.Sequential(*layers[:-1])


def trained(X, y, activation="tanh"):
    network = MLPClassifier((8, 5), activation=activation, random_state=0)
    for _ in range(30):
        network.partial_fit(X, y, classes=np.unique(y))
    return network


# The Hessian.


@pytest.mark.parametrize("curvature", ["hessian", "gauss-newton"])
@pytest.mark.parametrize("activation", ["relu", "tanh"])
def test_module_has_the_hessian_of_the_same_network(torch, data, activation, curvature):
    """A ReLU network is piecewise linear: both leave its second derivatives zero."""
    network = trained(*data, activation)
    expected = input_hessian(network, *data, curvature=curvature)
    module = as_module(torch, network)
    found = input_hessian(module, *data, curvature=curvature)
    size = np.abs(expected).max()
    assert_allclose(found, expected, rtol=0, atol=1e-12 * size)
    single = input_hessian(module.float(), *data, curvature=curvature)
    assert_allclose(single, expected, rtol=0, atol=1e-5 * size)


def test_rounding_of_single_precision_is_no_component(torch, data):
    X, y = data
    rank = len(np.unique(y)) - 1
    module = torch.nn.Linear(X.shape[1], rank + 1)
    with pytest.raises(ValueError, match="exceeds the number of positive eigenvalues"):
        CovarianceHessianProjection(module, n_hessian=rank + 1).fit(X, y)


def test_module_is_left_as_it_was(torch, data):
    """In training, its dropout and batch normalisation would change the result."""
    X, y = data
    n_classes = len(np.unique(y))
    module = torch.nn.Sequential(
        torch.nn.Linear(X.shape[1], 6),
        torch.nn.BatchNorm1d(6),
        torch.nn.Dropout(0.5),
        torch.nn.ReLU(inplace=True),
        torch.nn.Linear(6, n_classes),
    )
    module[1].eval()
    module[0].weight.requires_grad_(False)
    module[4].bias.grad = torch.ones(n_classes)
    state = {name: value.clone() for name, value in module.state_dict().items()}
    X.flags.writeable = False
    first = input_hessian(module, X, y)
    assert_array_equal(input_hessian(module, X, y), first)
    assert [part.training for part in module] == [True, False, True, True, True]
    assert not module[0].weight.requires_grad
    assert module[4].weight.requires_grad
    assert module[4].weight.grad is None
    assert (module[4].bias.grad == 1).all()
    assert all((state[name] == value).all() for name, value in state.items())
    assert not module[4]._forward_hooks
    assert_array_equal(input_hessian(module.eval(), X, y), first)


@pytest.mark.parametrize(
    ("forward", "message"),
    [
        (
            lambda X: X[:, :2],
            r"one column per class of y, \(150, 3\).*got shape \(150, 2\)",
        ),
        (lambda X: X[:, :3].softmax(1), "returns probabilities. Return logits"),
        (lambda X: X[:, :3].log(), "returned NaN or infinity"),
        (lambda X: X[:, :3] - X[:, :3].mean(), "different values for sample 0 alone"),
        (lambda X: X @ X, "raised RuntimeError"),
    ],
    ids=["columns", "probabilities", "infinite", "batch", "error"],
)
def test_bad_modules(torch, forward, message):
    class Module(torch.nn.Module):
        def forward(self, X):
            return forward(X)

    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match=f"the module Module,.*{message}"):
        input_hessian(Module(), X - X.mean(), y)


# The projection.


@pytest.mark.parametrize(
    "estimator", [None, LogisticRegression()], ids=["network", "logistic"]
)
def test_projection_of_samples_on_a_device(library, data, estimator):
    X, y = data
    model = CovarianceHessianProjection(estimator, random_state=0)
    with config_context(array_api_dispatch=False):
        expected = model.fit(X.astype(library.dtype), y)
        expected = pickle.loads(pickle.dumps(expected))
    X_there, y_there = library.array(X), library.array(y)
    there = model.fit(X_there, y_there)
    for name, value in vars(expected).items():
        if isinstance(value, np.ndarray):
            found = getattr(there, name)
            assert library.is_mine(found), name
            assert_allclose(to_numpy(found), value, rtol=0, atol=1e-5, err_msg=name)
    found = there.transform(X_there)
    assert library.is_mine(found)
    assert library.dtype in str(found.dtype)
    reference = expected.transform(X)
    assert_allclose(to_numpy(found), reference, rtol=0, atol=10 * library.tolerance)
    grid = there.separation(X_there, y_there)
    assert_allclose(grid.ratio, expected.separation_.ratio, rtol=1e-4)
    assert_allclose(
        there.conditions_.isotropy, expected.conditions_.isotropy, rtol=1e-5
    )
    with pytest.raises(ValueError, match="move_estimator_to"):
        there.transform(X)
    here = _array_api.move_estimator_to(there, np, "cpu")
    assert_allclose(here.transform(X), reference, rtol=0, atol=10 * library.tolerance)


class SinglePrecision(ClassifierMixin, BaseEstimator):
    """A classifier that requires float32, as skorch's."""

    def __init__(self, fits_double=False):
        self.fits_double = fits_double

    def fit(self, X, y):
        import torch

        torch.manual_seed(0)
        self.classes_ = np.unique(y)
        if hasattr(X, "columns"):
            self.feature_names_in_ = np.asarray(X.columns)
        self.module_ = torch.nn.Linear(X.shape[1], len(self.classes_))
        if not self.fits_double:
            self.predict_proba(X)
        return self

    def predict_proba(self, X):
        import torch

        with torch.no_grad():
            return self.module_(torch.tensor(np.asarray(X))).softmax(1).numpy()


@pytest.mark.parametrize("as_frame", [False, True])
def test_classifier_of_single_precision(torch, data, as_frame):
    X, y = data
    X = X.astype(np.float32)
    if as_frame:
        X = pytest.importorskip("pandas").DataFrame(X).add_prefix("x")
    model = SinglePrecision().fit(X, y)
    message = r"SinglePrecision raised RuntimeError .* float32: .* module"
    with pytest.raises(ValueError, match=message) as raised:
        input_hessian(model, X, y)
    assert isinstance(raised.value.__cause__, RuntimeError)
    assert input_hessian(model.module_, X, y).shape == (X.shape[1],) * 2
    for fits_double in (False, True):
        projection = CovarianceHessianProjection(SinglePrecision(fits_double))
        with pytest.raises(ValueError, match=message):
            projection.fit(X, y)


def test_function_of_single_precision(torch, data):
    X, y = data
    module = torch.nn.Linear(X.shape[1], len(np.unique(y)))

    def logits(X):
        return module(torch.tensor(X)).detach().numpy()

    with pytest.raises(ValueError, match=r"float32: .* module"):
        input_hessian(logits, X, y, derivatives="differences")


def test_errors_of_any_precision_are_unchanged(data):
    X, y = data

    class Failing(LogisticRegression):
        def predict_proba(self, X):
            raise RuntimeError("no licence")

    with pytest.raises(RuntimeError, match=r"^no licence$"):
        input_hessian(Failing().fit(X, y), X, y)
