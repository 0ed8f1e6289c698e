"""Logits of classifiers, with first and second derivatives.

One function for each type of classifier returns a `LogitModel`: an affine map of the
samples, followed by a function that returns an `Expansion`. A term that is common to
all logits does not change the probabilities, so log-probabilities can be used as
logits.

A torch module can exist only if torch has been imported, so this module does not import
torch to recognize it.
"""

import sys
from collections.abc import Callable
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import numpy as np
from scipy.sparse import issparse
from scipy.special import expit, softmax
from sklearn import get_config
from sklearn.calibration import CalibratedClassifierCV
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import (
    LinearDiscriminantAnalysis,
    QuadraticDiscriminantAnalysis,
)
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.naive_bayes import GaussianNB
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import (
    MaxAbsScaler,
    MinMaxScaler,
    RobustScaler,
    StandardScaler,
)
from sklearn.svm import SVC

from skgeom._kernel.discriminant import KernelDiscriminantAnalysis
from skgeom.utils.array_api import namespace, to_numpy
from skgeom.utils.validation import named_like_fit


class Expansion(NamedTuple):
    """Logits of samples, and functions for their first and second derivatives.

    Attributes
    ----------
    logits : ndarray of shape (n_samples, n_logits)
        One column for each class; for two classes, there may be only the logit of the
        second class.
    vjp : callable
        Maps V of shape (n_samples, n_rows, n_logits) to the products V J of shape
        (n_samples, n_rows, n_inputs), where J is each sample's Jacobian of the logits.
    weighted_hessian : callable
        Maps weights G of shape (n_samples, n_logits) to the sum, over all i and k, of
        G_ik times the Hessian of logit k at sample i; of shape (n_inputs, n_inputs). V
        and G are NumPy arrays. The results may be arrays of a different library.
    """

    logits: np.ndarray
    vjp: Callable
    weighted_hessian: Callable


@dataclass
class LogitModel:
    """Logits as a function of an affine map of the samples.

    Attributes
    ----------
    expand : callable
        Maps inputs of shape (n_samples, n_inputs) to the `Expansion`.
    floats_per_sample : int or None
        Number of floats in memory for the expansion of a sample. None is 64 times the
        number of features.
    inputs : callable
        The affine map from samples to inputs. It may modify its argument.
    matrix : ndarray of shape (n_inputs, n_features) or None
        Jacobian of the affine map; None for the identity.
    precision : float
        Relative error of the Hessian, divided by the number of features.
    """

    expand: Callable
    floats_per_sample: int | None = None
    inputs: Callable = np.copy
    matrix: np.ndarray | None = None
    precision: float = np.finfo(np.float64).eps

    def after(self, transform, matrix):
        """The model that first applies an affine map with a given Jacobian."""
        if self.matrix is not None:
            matrix = self.matrix @ matrix
        return replace(self, inputs=lambda X: self.inputs(transform(X)), matrix=matrix)

    def rows_of_a_block(self, X):
        """Number of samples for which an expansion fits into the working memory."""
        floats = get_config()["working_memory"] * 2**17
        return max(int(floats / (self.floats_per_sample or 64 * X.shape[1])), 1)


# Classifiers of scikit-learn. Each function returns None if there is no formula.


def linear_classifier(estimator):
    """Logits ``X @ coef.T + intercept``."""
    return _layers([estimator.coef_.T], [estimator.intercept_], "identity")


def logistic_regression(estimator):
    """Linear logits; None for one-vs-rest models of more than two classes."""
    one_vs_rest = estimator.solver == "liblinear" and len(estimator.classes_) > 2
    # Before scikit-learn 1.8, this parameter has other values than "deprecated".
    if one_vs_rest or getattr(estimator, "multi_class", "deprecated") != "deprecated":
        return None
    return linear_classifier(estimator)


@np.errstate(divide="ignore", invalid="ignore")  # variances may be zero
def quadratic_discriminant(estimator):
    """Gaussian classes with full covariances."""
    covariances = zip(estimator.rotations_, estimator.scalings_, strict=True)
    precisions = [(axes / variances) @ axes.T for axes, variances in covariances]
    log_determinants = [np.log(variances).sum() for variances in estimator.scalings_]
    return _gaussian_classes(
        estimator, estimator.means_, precisions, estimator.priors_, log_determinants
    )


@np.errstate(divide="ignore")  # variances may be zero
def naive_bayes(estimator):
    """Gaussian classes with diagonal covariances."""
    means, variances, priors = estimator.theta_, estimator.var_, estimator.class_prior_
    precisions = [np.diag(1 / row) for row in variances]
    log_determinants = np.log(variances).sum(axis=1)
    return _gaussian_classes(estimator, means, precisions, priors, log_determinants)


def _gaussian_classes(estimator, means, precisions, priors, log_determinants):
    singular = np.isneginf(log_determinants)
    if singular.any():
        raise ValueError(
            f"The estimator {type(estimator).__name__} has a variance of zero in class "
            f"{estimator.classes_[singular].tolist()[0]!r}. Fit it with a larger "
            "reg_param or var_smoothing, or without constant features."
        )
    precisions = np.stack(precisions)
    with np.errstate(divide="ignore"):  # a prior may be zero
        offsets = np.log(priors) - np.array(log_determinants) / 2

    def expand(X):
        centered = X - means[:, None]
        gradients = -centered @ precisions
        logits = (centered * gradients).sum(axis=2).T / 2 + offsets
        gradients = gradients.swapaxes(0, 1)
        return Expansion(
            logits,
            lambda V: V @ gradients,
            lambda G: -np.tensordot(G.sum(axis=0), precisions, 1),
        )

    return LogitModel(expand, 3 * means.size)


def calibrated_support_vectors(estimator):
    """Logit of two classes: a linear function of the decision function of one `SVC`.

    None for other models, and for ``gamma="scale"``, because its value is not public.
    """
    first, *others = estimator.calibrated_classifiers_
    machine = first.estimator
    one_logit = not others and len(estimator.classes_) == 2
    if type(machine) is not SVC or first.method != "sigmoid" or not one_logit:
        return None
    gamma = machine.gamma
    if gamma == "auto":
        gamma = 1 / machine.n_features_in_
    if gamma == "scale" and machine.kernel != "linear":
        return None
    [sigmoid] = first.calibrators  # the probability is expit(-a f - b)
    coefficients = -sigmoid.a_ * _dense(machine.dual_coef_).T
    intercept = -sigmoid.a_ * machine.intercept_ - sigmoid.b_
    points = _dense(machine.support_vectors_)
    return _kernel_expansion(machine, points, coefficients, intercept, gamma)


def kernel_discriminant(estimator):
    """Log-probabilities of KernelDiscriminantAnalysis, whose scores are linear."""
    if estimator.X_fit_ is None:
        return None
    calibration, priors = estimator.calibration_, to_numpy(estimator.priors_)
    means = to_numpy(estimator.means_)
    means = means * np.asarray(calibration.mean_factors)[..., None]
    constants = calibration.prior_weight * np.log(priors)
    constants -= np.square(means).sum(axis=1) / 2
    intercept = constants - to_numpy(estimator.offset_) @ means.T
    center = estimator.kernel_center_
    model = _kernel_expansion(
        estimator,
        _dense(estimator.X_fit_),
        to_numpy(estimator.dual_coef_) @ means.T / calibration.temperature,
        intercept / calibration.temperature,
        estimator.gamma_ or 1 / estimator.n_features_in_,
        0.0 if center is None else to_numpy(center),
    )
    noise = calibration.label_noise
    model = _with_label_noise(model, noise) if model and noise else model
    if not hasattr(estimator, "omega_"):
        return model
    omega = to_numpy(estimator.omega_)
    return model.after(lambda X: X @ omega.T, omega)


def _with_label_noise(model, noise):
    r"""Log-probabilities of a model if labels are random with a probability.

    The derivative of :math:`\log q_k` with the noisy probability q is :math:`r_k (e_k -
    p)` for the logits, where :math:`r_k = (1 - \epsilon) p_k / q_k`. The second
    derivative is :math:`r_k (1 - r_k) (e_k - p) (e_k - p)^\top - r_k \sum_j p_j
    (e_j - p) (e_j - p)^\top`.
    """

    def expand(X):
        logits, vjp, weighted_hessian = model.expand(X)
        proba = softmax(logits, axis=1)
        noisy = (1 - noise) * proba + noise / proba.shape[1]
        kept = (1 - noise) * proba / noisy

        def of_logits(V):
            V = V * kept[:, None]
            return V - V.sum(axis=2, keepdims=True) * proba[:, None]

        def noisy_hessian(G):
            total = (G * kept).sum(axis=1, keepdims=True)
            weights = G * kept * (1 - kept) - total * proba
            rows = vjp(np.eye(proba.shape[1]) - proba[:, None])
            products = np.tensordot(weights[..., None] * rows, rows, ([0, 1], [0, 1]))
            return products + weighted_hessian(of_logits(G[:, None])[:, 0])

        return Expansion(np.log(noisy), lambda V: vjp(of_logits(V)), noisy_hessian)

    return replace(model, expand=expand)


def _dense(array):
    array = array.toarray() if issparse(array) else to_numpy(array)
    return np.asarray(array, dtype=np.float64)


def _kernel_expansion(estimator, points, coefficients, intercept, gamma, center=0.0):
    r"""Logits :math:`\sum_j c_j k(x, p_j) + b`, or None for other kernels.

    The center is subtracted from x and :math:`p_j`. For linear and polynomial kernels
    :math:`k = \phi(\gamma x^\top p + c_0)`, the
    gradient of k is :math:`\gamma \phi' p` and the Hessian is
    :math:`\gamma^2 \phi'' p p^\top`. For "rbf", the gradient is
    :math:`2 \gamma (p - x) k` and the Hessian is
    :math:`(4 \gamma^2 (x - p) (x - p)^\top - 2 \gamma I) k`.
    """
    name, degree, coef0 = estimator.kernel, estimator.degree, estimator.coef0
    if name not in ("rbf", "linear", "poly", "polynomial"):
        return None
    if name == "linear":
        gamma, degree, coef0 = 1.0, 1, 0.0
    is_rbf = name == "rbf"
    center = points.mean(axis=0) if is_rbf else center
    points = points - center

    def expand(X):
        X = X - center
        if is_rbf:
            value = first = second = rbf_kernel(X, points, gamma)
        else:
            products = gamma * X @ points.T + coef0
            value = products**degree
            first = degree * products ** (degree - 1)
            power = degree - 2 if degree % 1 else max(degree - 2, 0)
            second = degree * (degree - 1) * products**power

        def vjp(V):
            V = (V @ coefficients.T) * first[:, None]
            if not is_rbf:
                return gamma * V @ points
            return 2 * gamma * (V @ points - V.sum(axis=2, keepdims=True) * X[:, None])

        def weighted_hessian(G):
            G = (G @ coefficients.T) * second
            products = points.T @ (G.sum(axis=0)[:, None] * points)
            if not is_rbf:
                return gamma**2 * products
            cross = X.T @ G @ points
            products += X.T @ (G.sum(axis=1)[:, None] * X) - cross - cross.T
            return 4 * gamma**2 * products - 2 * gamma * G.sum() * np.eye(len(products))

        return Expansion(value @ coefficients + intercept, vjp, weighted_hessian)

    return LogitModel(expand, len(points) * (3 + coefficients.shape[1]))


def network(estimator):
    """Fully connected layers with the same activation between all layers."""
    return _layers(estimator.coefs_, estimator.intercepts_, estimator.activation)


def _layers(coefs, intercepts, activation):
    """The model of a network, whose first layer is the affine map of the model.

    Derivatives are computed with respect to the output of the first layer. After the
    summation over samples, they are multiplied by the matrix of the first layer.
    """
    coefs = [np.asarray(coef, dtype=np.float64) for coef in coefs]
    intercepts = [np.asarray(bias, dtype=np.float64) for bias in intercepts]

    def expand(layer):
        layers = []
        for coef, intercept in zip(coefs[1:], intercepts[1:], strict=True):
            value, first, second = activate(layer, activation)
            layers.append((coef, first, second))
            layer = value @ coef + intercept

        def vjp(V):
            for coef, first, _ in reversed(layers):
                V = np.tensordot(V, coef.T, 1) * first[:, None]
            return V

        def weighted_hessian(G):
            return _network_hessian(G, layers)

        return Expansion(layer, vjp, weighted_hessian)

    widest, width = max(coef.shape[1] for coef in coefs), coefs[0].shape[1]
    model = LogitModel(expand, widest * (width + coefs[-1].shape[1]))
    return model.after(lambda X: X @ coefs[0] + intercepts[0], coefs[0].T)


def activate(a, activation):
    """Value, first and second derivative of an activation; None for zero derivatives.

    Derivatives are products of expit(a) and expit(-a), which are precise for saturated
    units. The formula 1 - tanh(a)^2 would cancel.
    """
    if activation == "identity":
        return a, np.ones_like(a), None
    if activation == "relu":
        return np.maximum(a, 0), (a > 0).astype(a.dtype), None
    scale = 2 if activation == "tanh" else 1  # tanh(a) = 2 expit(2 a) - 1
    value, rest = expit(scale * a), expit(-scale * a)
    first = value * rest
    second = first * (rest - value)
    if activation == "tanh":
        return np.tanh(a), 4 * first, 8 * second
    return value, first, second


def _network_hessian(G, layers):
    r"""Weighted sum of the Hessians of the logits of a network.

    Only the activations :math:`\phi` have nonzero second derivatives. Let :math:`a_l`
    be the inputs of the activations of layer l, :math:`J_l` the Jacobian of
    :math:`a_l` with respect to the inputs of the first activation, and
    :math:`\delta_l` the gradient of the weighted logits with respect to the output of
    layer l. By the chain rule, the Hessian for a sample is
    :math:`\sum_l J_l^\top \operatorname{diag}(\delta_l \phi''(a_l)) J_l`. A backward
    pass computes all :math:`\delta_l`, and a forward pass computes all :math:`J_l`.
    For each l, ``layers`` contains the following matrix, :math:`\phi'(a_l)` and
    :math:`\phi''(a_l)`.
    """
    width = layers[0][0].shape[0] if layers else G.shape[1]
    if not layers or layers[0][2] is None:  # piecewise linear
        return np.zeros((width, width))
    weights = []
    for coef, first, second in reversed(layers):
        delta = G @ coef.T
        weights.insert(0, delta * second)
        G = delta * first
    total = np.diag(weights[0].sum(axis=0))  # the Jacobian of the first layer is I
    jacobian = np.eye(width)[:, None]  # (width, n_samples, width of the layer)
    for (coef, first, _), weight in zip(layers, weights[1:], strict=False):
        jacobian = np.tensordot(jacobian * first, coef, 1)
        flat = jacobian.reshape(width, -1)
        total += (flat * weight.ravel()) @ flat.T
    return total


TRANSFORMERS = StandardScaler, RobustScaler, MaxAbsScaler, MinMaxScaler, PCA
CLASSIFIERS = {
    MLPClassifier: network,
    LogisticRegression: logistic_regression,
    LinearDiscriminantAnalysis: linear_classifier,
    QuadraticDiscriminantAnalysis: quadratic_discriminant,
    GaussianNB: naive_bayes,
    CalibratedClassifierCV: calibrated_support_vectors,
    KernelDiscriminantAnalysis: kernel_discriminant,
}

# A subclass may override these names, and the names of metadata requests, without
# computing different probabilities.
_OF_TRAINING = {"fit", "partial_fit", "score", "_parameter_constraints"}


def _formula(classifier):
    """The function of ``CLASSIFIERS`` for a classifier, or None.

    A subclass has the formula of its base class unless it, or the instance, overrides
    attributes on which the probabilities may depend.
    """
    defined = _replaced_methods(classifier) - _OF_TRAINING
    for base in type(classifier).__mro__:
        if base in CLASSIFIERS:
            is_changed = any(hasattr(base, name) for name in defined)
            return None if is_changed else CLASSIFIERS[base]
        defined |= {
            name
            for name in vars(base).keys() - _OF_TRAINING
            if not name.startswith(("__", "set_", "_sklearn"))
        }
    return None


def _replaced_methods(estimator):
    """The names of methods that an instance has replaced."""
    kind = type(estimator)
    return {name for name in vars(estimator) if callable(getattr(kind, name, None))}


def _jacobian(transformer):
    """Jacobian of an affine transformer, (n_components, n_features), or None."""
    kind = type(transformer)
    if "transform" in _replaced_methods(transformer):
        return None
    if kind is PCA:
        if not transformer.whiten:
            return transformer.components_
        scale = np.sqrt(transformer.explained_variance_)
        scale = np.maximum(scale, np.finfo(scale.dtype).eps)  # as in `transform`
        return transformer.components_ / scale[:, None]
    if kind not in TRANSFORMERS or getattr(transformer, "clip", False):
        return None
    if kind is MinMaxScaler:
        return np.diag(transformer.scale_)
    scale = 1.0 if transformer.scale_ is None else transformer.scale_
    return np.diag(np.ones(transformer.n_features_in_) / scale)


_NAMES = ", ".join(kind.__name__ for kind in (*CLASSIFIERS, *TRANSFORMERS))
SUPPORTED = (
    f"There are formulas for {_NAMES} and their pipelines. Other classifiers need "
    "predict_proba and classes_. Functions of X must be written with autograd.numpy, "
    "unless derivatives='differences'."
)


def fitted_classifier(estimator):
    """The model of a fitted classifier, or None if there is no formula for it.

    Raises
    ------
    ValueError
        If there is a formula, but the Hessian of this classifier is undefined.
    """
    *transformers, classifier = steps_of(estimator)
    convert = _formula(classifier)
    model = convert and convert(classifier)
    for transformer in transformers[::-1]:
        matrix = _jacobian(transformer)
        if model is None or matrix is None:
            return None
        matrix = np.asarray(matrix, dtype=np.float64)
        model = model.after(partial(_transform, transformer), matrix)
    return model


def _transform(transformer, X):
    """Samples transformed by ``transform`` instead of the matrix of the transformer.

    The rounding errors of the two differ. They are large if a whitening PCA divides
    rounding errors by a variance of zero.
    """
    X = named_like_fit(X.copy(), transformer)  # transform may modify X in place
    return np.asarray(transformer.transform(X), dtype=np.float64)


def steps_of(estimator):
    """The estimators of a pipeline, including nested pipelines and grid searches."""
    if isinstance(estimator, FrozenEstimator):
        return steps_of(estimator.estimator)
    if hasattr(estimator, "best_estimator_"):
        return steps_of(estimator.best_estimator_)
    if not isinstance(estimator, Pipeline):
        return [estimator]
    steps = [step for _, step in estimator.steps if step not in (None, "passthrough")]
    return [inner for step in steps for inner in steps_of(step)]


def classifier_name(estimator):
    """Name of a classifier for messages."""
    if is_module(estimator) or hasattr(estimator, "fit"):
        names = [type(step).__name__ for step in steps_of(estimator)]
        return names[0] if len(names) == 1 else f"Pipeline({', '.join(names)})"
    return getattr(estimator, "__name__", repr(estimator))


def call_in_double(function, X, name, trial=None):
    """``function(X)`` of the user; ValueError if it accepts float32 only.

    ``trial``, by default the function, is then called with X in both precisions to find
    out whether it accepts float32 only. Errors for any other reason are not changed.
    """
    try:
        return function(X)
    except Exception as error:
        trial = trial or function
        if _accepts(trial, X, np.float64) or not _accepts(trial, X, np.float32):
            raise
        raise ValueError(
            f"{name} raised {type(error).__name__} for X in float64, in which "
            f"Hessians are computed, but accepts float32: {error}. If its PyTorch "
            "module returns logits, pass the module, for example net.module_ of a "
            "skorch classifier net. The module is evaluated in its own precision."
        ) from error


def _accepts(function, X, dtype):
    """Whether a function accepts X in a dtype."""
    try:
        function(X.astype(dtype))
    except Exception:
        return False
    return True


# Functions, which autograd differentiates, and modules, which torch differentiates.


def is_function(estimator):
    """Whether the classifier is a function of the samples, or a torch module."""
    return is_module(estimator) or not hasattr(estimator, "fit")


def is_module(estimator):
    """Whether this is a ``torch.nn.Module``."""
    torch = sys.modules.get("torch")
    return hasattr(torch, "nn") and isinstance(estimator, torch.nn.Module)


def function_model(function, n_classes):
    """Model of a function or module X -> logits or log-probabilities.

    autograd differentiates functions, which must be written with ``autograd.numpy``.
    torch differentiates modules, in their precision and on their device. With two
    classes, the result may have one column, the logit of the second class.
    """
    if not is_module(function):
        name = f"the function {classifier_name(function)}"
        return _differentiated(function, _vjp_of_autograd, np.array, name, n_classes)
    import torch

    name = f"the module {classifier_name(function)}"
    *_, last = function.modules()
    if isinstance(last, torch.nn.Sigmoid):
        _raise_probabilities(name)
    of_tensors, tensor = module_function(function)
    model = _differentiated(of_tensors, _vjp_of_torch, tensor, name, n_classes)
    return replace(model, precision=torch.finfo(tensor(np.zeros(1)).dtype).eps)


def _vjp_of_autograd(function, X):
    """Value of a function, and its vector-Jacobian product."""
    from autograd import make_vjp

    return make_vjp(function)(X)[::-1]


def _vjp_of_torch(function, X):
    from torch.func import vjp

    values, product = vjp(function, X)
    return values, lambda V: product(V)[0]


def module_function(module):
    """A module as a function of tensors, and a function that converts arrays.

    The first function evaluates a copy of the module with constant parameters and in
    evaluation mode, in which samples are independent. The second function copies arrays
    to tensors with the precision and device of the module.
    """
    import torch

    module = deepcopy(module).eval().requires_grad_(False)
    state = [*module.parameters(), *module.buffers()]
    floats = [t for t in state if t.is_floating_point()] or [torch.empty(0)]

    def function(X):
        values = module(X)
        values = values[0] if isinstance(values, tuple) else values
        return values[:, None] if values.ndim == 1 else values

    def tensor(array):
        if not isinstance(array, torch.Tensor):
            array = torch.tensor(to_numpy(array))
        return array.detach().to(floats[0].device, floats[0].dtype, copy=True)

    return function, tensor


def _differentiated(function, vjp, copied, name, n_classes):
    """Model of a function that autograd or torch differentiates.

    ``vjp`` returns the value of a function at X and its vector-Jacobian product.
    """

    def expand(X):
        check_logits(lambda X: function(copied(X)), X, n_classes, name)
        with _errors_explained(name):
            values, product = vjp(function, X)
        xp = namespace(X)

        @_errors_explained(name)
        def products(V):
            V = copied(V)
            return xp.stack([product(V[:, row]) for row in range(V.shape[1])], axis=1)

        # The term 0 * X avoids the warning of autograd that the gradient of linear
        # logits does not depend on X.
        @_errors_explained(name)
        def weighted_hessian(G):
            G, rows = copied(G), []
            _, product = vjp(lambda X: vjp(function, X)[1](G) + 0 * X, X)
            # The logits of a sample depend on that sample only, so the product with
            # ones in a feature contains a row of the Hessian of each sample.
            for feature in range(X.shape[1]):
                direction = xp.zeros_like(X)
                direction[:, feature] = 1
                rows.append(xp.sum(product(direction), axis=0))
            return xp.stack(rows)

        logits = to_numpy(values).astype(np.float64)
        return Expansion(logits, products, weighted_hessian)

    return LogitModel(expand, inputs=copied)


@contextmanager
def _errors_explained(name):
    """Convert errors of a function or module to a ValueError with a remedy."""
    try:
        yield
    except Exception as error:
        raise ValueError(
            f"The estimator, {name}, raised {type(error).__name__}: {error}. It must "
            "map X of shape (n_samples, n_features) to logits of shape (n_samples, "
            "n_classes). Write functions with autograd.numpy, or use "
            "derivatives='differences'."
        ) from error


def check_logits(function, X, n_classes, name):
    """Raise ValueError unless each row of X is mapped to logits independently."""

    @_errors_explained(name)
    def values_of(X):
        return to_numpy(call_in_double(function, X, name))

    values, n_samples = values_of(X), X.shape[0]
    shapes = {(n_samples, n_classes)} | ({(n_samples, 1)} if n_classes == 2 else set())
    if np.shape(values) not in shapes:
        raise ValueError(
            f"The estimator, {name}, must return one row per sample and one column per "
            f"class of y, {(n_samples, n_classes)}, or one column for two classes, got "
            f"shape {np.shape(values)}. Each class must occur in y."
        )
    values = np.asarray(values, dtype=np.result_type(values, np.float32))
    if not np.isfinite(values).all():
        raise ValueError(
            f"The estimator, {name}, returned NaN or infinity. Scale the features, and "
            "compute log-probabilities from logits."
        )
    if (values >= 0).all() and np.allclose(values.sum(axis=1), 1):
        _raise_probabilities(name)
    tolerance = np.finfo(values.dtype).eps ** 0.4
    for row in {0, n_samples // 2, n_samples - 1}:
        alone = values_of(X[row : row + 1])
        if not np.allclose(alone, values[row], rtol=tolerance, atol=tolerance):
            raise ValueError(
                f"The estimator, {name}, returns different values for sample {row} "
                "alone and together with other samples. Each row of its result must "
                "depend on the same row of X only."
            )


def _raise_probabilities(name):
    raise ValueError(
        f"The estimator, {name}, returns probabilities. Return logits, without a "
        "final softmax or sigmoid."
    )
