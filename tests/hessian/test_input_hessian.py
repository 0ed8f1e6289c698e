"""Input Hessians against autograd, differences and closed forms."""

import autograd.numpy as anp
import numpy as np
import pytest
from autograd import hessian, jacobian
from scipy.special import log_softmax, softmax
from sklearn import config_context
from sklearn.calibration import CalibratedClassifierCV
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import (
    LinearDiscriminantAnalysis,
    QuadraticDiscriminantAnalysis,
)
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    MaxAbsScaler,
    MinMaxScaler,
    RobustScaler,
    StandardScaler,
)
from sklearn.svm import SVC

from skgeom import KernelDiscriminantAnalysis as KDA
from skgeom import input_hessian

CURVATURES = ["hessian", "gauss-newton"]
LAYERS = [(), (3,), (9, 4, 3)]


def network(X, y, rng, activation="relu", layers=(4, 3), gain=1.0, **parameters):
    """A network of random weights, whose logits are as large as the gain asks for."""
    model = MLPClassifier(layers, activation=activation, random_state=0, **parameters)
    model.partial_fit(X, y, classes=np.unique(y))
    model.coefs_ = [rng.normal(size=coef.shape) for coef in model.coefs_]
    model.intercepts_ = [rng.normal(size=bias.shape) for bias in model.intercepts_]
    size = np.abs(network_logits(model, X)).max()
    model.coefs_[-1] *= gain / size
    model.intercepts_[-1] *= gain / size
    return model


def network_logits(model, X):
    """Logits of a network in autograd, a column for each of several classes."""
    functions = {
        "relu": lambda a: anp.maximum(a, 0),
        "tanh": anp.tanh,
        "logistic": lambda a: 1 / (1 + anp.exp(-a)),
        "identity": lambda a: a,
    }
    for coef, bias in zip(model.coefs_[:-1], model.intercepts_[:-1], strict=True):
        X = functions[model.activation](X @ coef + bias)
    return X @ model.coefs_[-1] + model.intercepts_[-1]


def with_zero(logits):
    """Logits of two classes from one."""
    return logits if len(logits) > 1 else anp.concatenate([anp.zeros(1), logits])


def by_autograd(logits, X, y, weights, curvature):
    """Weighted mean over the samples, each differentiated on its own."""

    def loss(x, code):
        z = with_zero(logits(x))
        return anp.log(anp.sum(anp.exp(z - anp.max(z)))) + anp.max(z) - z[code]

    def of_sample(x, code):
        if curvature == "hessian":
            return hessian(loss)(x, code)
        p, J = (
            softmax(with_zero(logits(x))),
            jacobian(lambda x: with_zero(logits(x)))(x),
        )
        return J.T @ (np.diag(p) - np.outer(p, p)) @ J

    codes = np.unique(y, return_inverse=True)[1]
    return np.average([*map(of_sample, X, codes)], axis=0, weights=weights)


# Networks.


@pytest.mark.parametrize("curvature", CURVATURES)
@pytest.mark.parametrize("layers", LAYERS, ids=str)
@pytest.mark.parametrize("activation", ["identity", "logistic", "relu", "tanh"])
def test_network(data, rng, activation, layers, curvature, assert_close):
    X, y = data
    model = network(X, y, rng, activation, layers, gain=4)
    X, y = X[::5], y[::5]
    weights = rng.uniform(size=len(y))
    H = input_hessian(model, X, y, sample_weight=weights, curvature=curvature)
    expected = by_autograd(lambda x: network_logits(model, x), X, y, weights, curvature)
    assert_close(H, expected, 1e-10)


@pytest.mark.filterwarnings("ignore:Output seems independent of input")  # autograd's
@pytest.mark.parametrize("gain", [40, 300])
@pytest.mark.parametrize("labels", ["predicted", "random"])
@pytest.mark.parametrize("activation", ["relu", "tanh"])
def test_saturated_network(data, rng, activation, labels, gain):
    """Logits of +-40 and 300: probabilities of the usual formulas have no digits."""
    X, y = data
    model = network(X, y, rng, activation, gain=gain)
    codes = model.predict(X) if labels == "predicted" else rng.permutation(y)
    # All samples of one size, so that those which are not saturated do not hide others.
    for x, code in zip(X[::5], codes[::5], strict=True):
        z = with_zero(network_logits(model, x))
        J = jacobian(lambda x: with_zero(network_logits(model, x)))(x)
        curvatures = hessian(lambda x: with_zero(network_logits(model, x)))(x)
        # diag p - p p^T is the sum of p_j p_k (e_j - e_k) (e_j - e_k)^T over the pairs.
        log_p = log_softmax(z)
        of_pairs, gaps = np.exp(log_p[:, None] + log_p), J[:, None] - J
        expected = np.einsum("jk,jka,jkb->ab", of_pairs, gaps, gaps) / 2
        rest = np.tensordot(np.exp(log_p), curvatures - curvatures[code], 1)
        for curvature, wanted in zip(
            CURVATURES, [expected + rest, expected], strict=True
        ):
            assert np.isfinite(wanted).all()
            options = {"curvature": curvature, "derivatives": "analytic"}
            actual = input_hessian(model, x[None], np.array([code]), **options)
            size = max(np.abs(wanted).max(), 1e-300)
            np.testing.assert_allclose(actual / size, wanted / size, rtol=0, atol=1e-6)


def test_blocks_of_samples(data, rng, assert_close):
    X, y = data
    model = network(X, y, rng, "tanh")
    whole = input_hessian(model, X, y)
    with config_context(working_memory=1e-3):
        assert_close(input_hessian(model, X, y), whole, 1e-13)


# Other classifiers.


@pytest.mark.parametrize("curvature", CURVATURES)
@pytest.mark.parametrize(
    "classifier",
    [
        LogisticRegression(),
        LinearDiscriminantAnalysis(),
        LinearDiscriminantAnalysis(solver="lsqr", shrinkage=0.3),
        QuadraticDiscriminantAnalysis(reg_param=0.1),
        GaussianNB(),
        make_pipeline(StandardScaler(), PCA(4, whiten=True), GaussianNB()),
        make_pipeline(
            "passthrough",
            RobustScaler(),
            MinMaxScaler(),
            MaxAbsScaler(),
            StandardScaler(with_mean=False),
            PCA(5),
            QuadraticDiscriminantAnalysis(reg_param=0.1),
        ),
        make_pipeline(StandardScaler(with_std=False), LogisticRegression(C=0.1)),
        FrozenEstimator(make_pipeline(FrozenEstimator(PCA(3)), LogisticRegression())),
        GridSearchCV(LogisticRegression(), {"C": [0.1, 1]}, cv=2),
        KDA(gamma=0.05),
        make_pipeline(
            StandardScaler(),
            KDA(kernel="poly", degree=2, gamma=0.05, regularization=0.1),
        ),
        make_pipeline(MinMaxScaler(), KDA(kernel="linear")),
    ],
    ids=lambda model: repr(model).replace("\n", "")[:60],
)
def test_classifier(data, classifier, curvature, assert_close):
    X, y = data
    inner = classifier
    if isinstance(classifier, FrozenEstimator):
        inner = classifier.estimator
        inner[0].estimator.fit(X)
    inner.fit(X, y)
    H = input_hessian(classifier, X, y, curvature=curvature, derivatives="analytic")
    expected = input_hessian(
        classifier, X, y, curvature=curvature, derivatives="differences"
    )
    assert_close(H, expected)


@pytest.mark.parametrize("curvature", CURVATURES)
@pytest.mark.parametrize(
    "kernel",
    [
        {"gamma": 0.05},
        {"kernel": "linear"},
        {"kernel": "poly", "gamma": "auto", "coef0": 1},
    ],
    ids=str,
)
def test_calibrated_support_vectors(rng, kernel, curvature, assert_close):
    X, y = rng.normal(size=(60, 6)), np.arange(60) % 2
    X[:, 0] += 2 * y
    model = CalibratedClassifierCV(SVC(**kernel), ensemble=False).fit(X, y)
    H, expected = (
        input_hessian(model, X, y, curvature=curvature, derivatives=derivatives)
        for derivatives in ("analytic", "differences")
    )
    assert_close(H, expected)


@pytest.mark.parametrize("kernel", ["rbf", "poly"])
@pytest.mark.parametrize("curvature", CURVATURES)
def test_kernel_discriminants_by_torch(data, kernel, curvature, assert_close):
    torch = pytest.importorskip("torch")
    X, y = data
    X = X + 100 * (kernel == "rbf")  # far from the origin
    gamma = {"rbf": 0.05, "poly": "select"}[kernel]
    model = KDA(kernel=kernel, degree=2, gamma=gamma).fit(X, y, 1.0 + 4 * (y == 0))
    calibration, priors = model.calibration_, torch.tensor(model.priors_)
    log_priors = calibration.prior_weight * torch.log(priors)
    means = torch.tensor(model.means_ * calibration.mean_factors[:, None])

    class Module(torch.nn.Module):
        def __init__(self):
            super().__init__()
            for name in ("X_fit_", "dual_coef_", "offset_"):
                self.register_buffer(name, torch.tensor(getattr(model, name)))

        def forward(self, samples):
            squared = ((samples[:, None] - self.X_fit_) ** 2).sum(dim=2)
            K = torch.exp(-0.05 * squared)
            if kernel == "poly":
                K = (1 + model.gamma_ * samples @ self.X_fit_.mT) ** 2
            Z = K @ self.dual_coef_ - self.offset_
            distances = ((Z[:, None] - means) ** 2).sum(dim=2)
            joint = (log_priors - distances / 2) / calibration.temperature
            noise = calibration.label_noise
            return torch.log(
                (1 - noise) * torch.softmax(joint, 1) + noise / len(priors)
            )

    H = input_hessian(model, X, y, curvature=curvature)
    expected = input_hessian(Module(), X, y, curvature=curvature)
    assert_close(H, expected, 1e-9)
    of_gamma = [
        input_hessian(KDA(kernel=kernel, gamma=gamma).fit(X, y), X, y)
        for gamma in (None, 1 / X.shape[1])
    ]
    assert_close(*of_gamma)


def test_polynomial_kernel_of_fractional_degree(data, assert_close):
    X, y = data
    settings = {"kernel": "poly", "degree": 0.5, "gamma": 0.02, "coef0": 1}
    model = KDA(**settings, penalty="identity", solver="eigen").fit(X, y)
    expected = input_hessian(model, X, y, derivatives="differences")
    assert_close(input_hessian(model, X, y), expected, 1e-5)


# Functions.


@pytest.mark.parametrize("curvature", CURVATURES)
@pytest.mark.parametrize("normalised", [False, True])
@pytest.mark.parametrize("activation", ["relu", "tanh"])
def test_function(data, rng, activation, normalised, curvature, assert_close):
    """A function written with autograd, of log-probabilities or of logits."""
    X, y = data
    model = network(X, y, rng, activation, gain=4)

    def logits(X):
        z = network_logits(model, X)
        if z.shape[1] == 1:
            z = anp.concatenate([0 * z, z], axis=1)
        if normalised:
            z = z - anp.log(anp.sum(anp.exp(z), axis=1, keepdims=True))
        return z

    H = input_hessian(logits, X, y, curvature=curvature)
    assert_close(H, input_hessian(model, X, y, curvature=curvature), 1e-10)


@pytest.mark.parametrize("base", [KDA, LogisticRegression])
def test_subclasses(data, base, assert_close):
    """A subclass has the formula of its base class if it inherits the predictions."""

    class Renamed(base):
        def fit(self, X, y):
            return super().fit(2 * X, y)

    class Tempered(base):
        def predict_proba(self, X):
            return (1 + super().predict_proba(X)) / (1 + len(self.classes_))

    X, y = data
    expected = input_hessian(base().fit(2 * X, y), X, y, derivatives="analytic")
    found = input_hessian(Renamed().fit(X, y), X, y, derivatives="analytic")
    np.testing.assert_array_equal(found, expected)
    tempered = Tempered().fit(2 * X, y)
    with pytest.raises(ValueError, match="no formula"):
        input_hessian(tempered, X, y, derivatives="analytic")


@pytest.mark.parametrize(
    ("step", "method"), [("logisticregression", "predict_proba"), ("pca", "transform")]
)
def test_methods_replaced_on_an_instance(data, step, method):
    X, y = data
    model = make_pipeline(PCA(), LogisticRegression()).fit(X, y)
    setattr(model[step], method, getattr(model[step], method))
    with pytest.raises(ValueError, match="no formula"):
        input_hessian(model, X, y, derivatives="analytic")
