"""Hessians of networks of torch and skorch, and projections on devices."""

import pickle
import subprocess
import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import config_context
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skgeom import CovarianceHessianProjection, input_hessian
from skgeom.utils.array_api import move_estimator_to, to_numpy

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
@pytest.mark.parametrize("activation", ["relu", "tanh", "logistic"])
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


@pytest.mark.parametrize("weighted", [False, True])
def test_differences_agree(torch, data, weighted):
    X, y = data[0][::5], data[1][::5]
    weights = np.arange(len(y)) % 3 if weighted else None
    module = as_module(torch, trained(*data))
    exact = input_hessian(module, X, y, sample_weight=weights)
    found = input_hessian(
        module, X, y, sample_weight=weights, derivatives="differences"
    )
    assert_allclose(found, exact, rtol=0, atol=1e-5 * np.abs(exact).max())


def test_blocks_of_samples(torch, data):
    module = as_module(torch, trained(*data))
    whole = input_hessian(module, *data)
    with config_context(working_memory=0.05):
        assert_allclose(input_hessian(module, *data), whole, rtol=0, atol=1e-14)


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


def test_module_of_images(torch):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 36)), np.arange(40) % 3
    torch.manual_seed(0)
    module = torch.nn.Sequential(
        torch.nn.Unflatten(1, (1, 6, 6)),
        torch.nn.Conv2d(1, 2, 3),
        torch.nn.Softplus(),
        torch.nn.Flatten(),
        torch.nn.Linear(32, 3),
        torch.nn.LogSoftmax(dim=1),
    ).double()
    exact = input_hessian(module, X, y)
    found = input_hessian(module, X, y, derivatives="differences")
    assert_allclose(found, exact, rtol=0, atol=1e-5 * np.abs(exact).max())


@pytest.mark.parametrize(
    ("forward", "message"),
    [
        (lambda X: X[:, :2], r"one column a class, \(150, 3\).*got shape \(150, 2\)"),
        (lambda X: X[:, :3].softmax(1), "returns probabilities; return logits"),
        (lambda X: X[:, :3].log(), "returned NaN or infinity"),
        (lambda X: X[:, :3] - X[:, :3].mean(), "gives sample 0 other values alone"),
        (lambda X: X @ X, "raised RuntimeError"),
    ],
    ids=["columns", "probabilities", "infinite", "batch", "error"],
)
def test_modules_that_are_refused(torch, forward, message):
    class Module(torch.nn.Module):
        def forward(self, X):
            return forward(X)

    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match=f"the module Module,.*{message}"):
        input_hessian(Module(), X - X.mean(), y)


def test_sigmoid_at_the_end_is_refused(torch):
    X, y = load_breast_cancer(return_X_y=True)
    module = torch.nn.Sequential(torch.nn.Linear(30, 1), torch.nn.Sigmoid())
    with pytest.raises(ValueError, match="returns probabilities"):
        input_hessian(module, X, y)


def test_samples_of_numpy_need_no_other_library():
    code = """
import sys

class Missing:
    def find_spec(name, *args):
        if name.partition(".")[0] in ("torch", "skorch", "array_api_compat"):
            raise ImportError(name)

sys.meta_path.insert(0, Missing)
import numpy as np
from skgeom import CovarianceHessianProjection
X = np.random.default_rng(0).normal(size=(30, 3))
CovarianceHessianProjection().fit(X, np.arange(30) % 2).transform(X)
"""
    subprocess.run([sys.executable, "-c", code], check=True)


# skorch.


def net_of(torch, X, y, criterion, *last, **settings):
    skorch = pytest.importorskip("skorch")
    torch.manual_seed(0)
    layers = torch.nn.Linear(X.shape[1], 6), torch.nn.Tanh(), *last
    kind = skorch.NeuralNetClassifier
    if criterion is torch.nn.BCEWithLogitsLoss:
        kind = skorch.NeuralNetBinaryClassifier
    return kind(
        torch.nn.Sequential(*layers),
        criterion=criterion,
        lr=0.1,
        verbose=0,
        train_split=None,
        **settings,
    )


@pytest.mark.parametrize("loss", ["CrossEntropyLoss", "NLLLoss", "BCEWithLogitsLoss"])
def test_skorch(torch, loss):
    """The Hessian is that of predict_proba, whatever the loss."""
    X, y = load_breast_cancer(return_X_y=True)
    X = X[:, :5] / X[:, :5].std(axis=0)
    criterion = getattr(torch.nn, loss)
    last = [torch.nn.Linear(6, 1 if loss == "BCEWithLogitsLoss" else 2)]
    if loss == "NLLLoss":
        last.append(torch.nn.Softmax(dim=1))
    y = y.astype(np.float32) if loss == "BCEWithLogitsLoss" else y
    net = net_of(torch, X, y, criterion, *last)
    model = CovarianceHessianProjection(make_pipeline(StandardScaler(), net)).fit(X, y)
    pipeline = model.estimator_
    pipeline[-1].module_.double()

    def log_proba(X):
        with np.errstate(divide="ignore"):
            return np.log(pipeline.predict_proba(X))

    expected = input_hessian(log_proba, X, y, derivatives="differences")
    size = np.abs(expected).max()
    assert_allclose(input_hessian(pipeline, X, y), expected, rtol=0, atol=1e-4 * size)
    assert_allclose(model.hessian_, expected, rtol=0, atol=1e-4 * size)
    frozen = CovarianceHessianProjection(FrozenEstimator(pipeline)).fit(X, y)
    assert_allclose(frozen.hessian_, expected, rtol=0, atol=1e-4 * size)


def test_skorch_with_another_loss_is_refused(torch):
    X, y = load_breast_cancer(return_X_y=True)
    net = net_of(torch, X, y, torch.nn.MultiMarginLoss, torch.nn.Linear(6, 2))
    with pytest.raises(ValueError, match=r"loss MultiMarginLoss.*does not tell"):
        CovarianceHessianProjection(net).fit(X / X.max(axis=0), y)


# The projection.


def test_projection_of_a_module(torch, data):
    X, y = data
    network = trained(X, y)
    module = as_module(torch, network)
    model = CovarianceHessianProjection(module, n_hessian=2).fit(X, y)
    assert model.estimator_ is module
    frozen = CovarianceHessianProjection(FrozenEstimator(network), n_hessian=2)
    assert_allclose(model.components_, frozen.fit(X, y).components_, atol=1e-9)
    for copy in (pickle.loads(pickle.dumps(model)), clone(model).fit(X, y)):
        assert_array_equal(copy.transform(X), model.transform(X))
    with pytest.raises(ValueError, match="Hessian of Sequential is zero"):
        CovarianceHessianProjection(
            torch.nn.Sequential(
                torch.nn.Linear(X.shape[1], 3), torch.nn.Threshold(1e9, 0.0)
            )
        ).fit(X, np.arange(len(y)) % 3)


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
    here = move_estimator_to(there, np, "cpu")
    assert_allclose(here.transform(X), reference, rtol=0, atol=10 * library.tolerance)


def test_module_and_samples_stay_on_their_device(torch, monkeypatch):
    """What goes to the host does not grow with the samples times their features."""
    X, y = load_breast_cancer(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    module = as_module(torch, trained(X, y))
    expected = CovarianceHessianProjection(module).fit(X, y)
    sizes = []
    numpy = torch.Tensor.numpy

    def spy(tensor, *args, **kwargs):
        sizes.append(tensor.numel())
        return numpy(tensor, *args, **kwargs)

    monkeypatch.setattr(torch.Tensor, "numpy", spy)
    # The memory of the host stands for that of a device.
    rule = "skgeom.utils.array_api.is_in_host_memory"
    monkeypatch.setattr(rule, lambda array: False)
    with config_context(array_api_dispatch=True):
        X_there = torch.tensor(X)
        model = CovarianceHessianProjection(module).fit(X_there, torch.tensor(y))
        H = input_hessian(module, X_there, torch.tensor(y))
        assert max(sizes) == 10 * len(y)  # along the ten leading eigenvectors
        sizes.clear()
        Z = model.transform(X_there)
        assert not sizes
    monkeypatch.undo()
    assert_allclose(Z.numpy(), expected.transform(X), rtol=0, atol=1e-10)
    assert_allclose(H.numpy(), expected.hessian_, rtol=0, atol=1e-10)
