"""Mean Hessian of a classifier's cross-entropy with respect to its inputs."""

from dataclasses import dataclass

import numpy as np
from scipy.special import expit, softmax
from sklearn.utils import (
    check_array,
    check_consistent_length,
    column_or_1d,
    gen_batches,
)
from sklearn.utils._param_validation import StrOptions, validate_params
from sklearn.utils.validation import check_is_fitted

from skgeom._hessian.logit_estimators import (
    CLASSIFIERS,
    TRANSFORMERS,
    analytic_model,
    classifier_name,
    raise_several_labels,
)
from skgeom._hessian.logit_numeric import (
    callable_model,
    estimator_differences,
    function_differences,
)
from skgeom._hessian.logit_torch import is_module, module_function, module_model
from skgeom.utils.array_api import (
    dtype_name,
    float_dtypes,
    in_double,
    like,
    namespace,
    on_host,
    to_numpy,
)
from skgeom.utils.estimator import check_feature_names, current_progress
from skgeom.utils.validation import check_sample_weight


@validate_params(
    {
        "X": ["array-like"],
        "y": ["array-like"],
        "sample_weight": [None, "array-like"],
        "curvature": [StrOptions({"hessian", "gauss-newton"})],
        "derivatives": [StrOptions({"auto", "analytic", "differences"})],
    },
    prefer_skip_nested_validation=True,
)
def input_hessian(
    estimator,
    X,
    y,
    *,
    sample_weight=None,
    curvature="hessian",
    derivatives="auto",
):
    r"""Mean Hessian of a classifier's cross-entropy with respect to the samples.

    .. math::

       H = \frac1n \sum_i \nabla_x^2 \left[-\log p(y_i \mid x_i)\right]
         = \frac1n \sum_i J_i^\top (\operatorname{diag} p_i - p_i p_i^\top) J_i
           + \sum_k (p_{ik} - [y_i = k]) \nabla^2 z_k(x_i)

    with the logits z, their Jacobian J and the probabilities p. It is equation 3 of
    [1]_, as a mean over the samples, for any number of classes. The first term is the
    Gauss-Newton matrix. The second vanishes if the logits are piecewise linear, as
    those of a ReLU network are. With two classes, H is then the mean of
    :math:`p (1 - p) g g^\top` with the gradient g of the logit, and does not depend on
    the labels.

    Everything is computed from logits, so that probabilities close to zero or one keep
    their relative precision.

    Parameters
    ----------
    estimator : estimator or callable
        A fitted classifier. There are formulas for
        :class:`~sklearn.neural_network.MLPClassifier`,
        :class:`~sklearn.linear_model.LogisticRegression`,
        :class:`~sklearn.discriminant_analysis.LinearDiscriminantAnalysis`,
        :class:`~sklearn.discriminant_analysis.QuadraticDiscriminantAnalysis` and
        :class:`~sklearn.naive_bayes.GaussianNB`, also behind scalers and PCA in a
        :class:`~sklearn.pipeline.Pipeline`. Others are differentiated by differences of
        ``predict_proba``. Or a function of X, written with ``autograd.numpy``, that
        returns logits or log-probabilities, of shape (n_samples, n_classes), of the
        sorted classes of y. Or a ``torch.nn.Module`` that does; with two classes, it
        may return one column, the logit of the second. It computes in its evaluation
        mode, precision and device, and is left as it was. Classifiers of skorch are
        differentiated by their modules.
    X : array-like of shape (n_samples, n_features)
        The samples. Not modified. A data frame must have the names that the estimator
        was fitted with, in the same order.
    y : array-like of shape (n_samples,)
        Their class labels. With a function, each of its classes must occur.
    sample_weight : array-like of shape (n_samples,) or None, default=None
        Weights of the samples in the mean; None is one for each.
    curvature : {"hessian", "gauss-newton"}, default="hessian"
        The whole of H, or its first term, which has no negative eigenvalue.
    derivatives : {"auto", "analytic", "differences"}, default="auto"
        ``"auto"`` uses formulas where there are some, and differences otherwise. With d
        features, central differences call ``predict_proba`` on all samples 2 d times
        for Gauss-Newton, :math:`d^2 + 3 d` times for the Hessian, and about ten times
        to check that the probabilities are smooth. Decision values or log-probabilities
        are used instead where they agree with ``predict_proba``, since they keep more
        digits. Functions are differentiated by autograd, and modules by torch, which
        count as analytic. With
        differences, they need not be written with ``autograd.numpy``.

    Returns
    -------
    H : ndarray of shape (n_features, n_features)
        The mean Hessian, in the library of X.

    Raises
    ------
    ValueError
        If the estimator was fitted on other features or classes, or gives no
        probabilities, or several labels at once; if there is no formula for it and
        ``derivatives="analytic"``; if its probabilities are not smooth and there is no
        formula, as for trees and nearest neighbours; if a sample's own class has
        probability zero, as with a prior of zero; if the Hessian is not finite; or if a
        function raises, or returns something else than a row of logits for each sample.

    References
    ----------
    .. [1] A. Hartoyo et al., "Synergistic eigenanalysis of covariance and Hessian
       matrices for enhanced binary classification on health datasets", Computers in
       Biology and Medicine 190, 2025.

    Examples
    --------
    The Hessian of a linear classifier has one direction only:

    >>> import numpy as np
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.preprocessing import StandardScaler
    >>> from skgeom import input_hessian
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> X = StandardScaler().fit_transform(X)
    >>> H = input_hessian(LogisticRegression().fit(X, y), X, y)
    >>> H.shape, int(np.linalg.matrix_rank(H))
    ((30, 30), 1)
    """
    if not is_function(estimator):
        check_is_fitted(estimator)
        check_feature_names(estimator, X, reset=False)
    given = check_array(X, dtype=float_dtypes(X)[0])
    X = given if is_module(estimator) else to_numpy(given)
    y = to_numpy(column_or_1d(y))
    check_consistent_length(X, y)
    weights = check_sample_weight(
        on_host(sample_weight), y, dtype=np.float64, ensure_non_negative=True
    )
    if not weights.any():
        raise ValueError("sample_weight is zero for all samples; give one to some.")
    mean = mean_curvature(estimator, X, y, weights, curvature, derivatives)
    return like(mean.matrix, given)


@dataclass
class MeanCurvature:
    """The mean Hessian of samples.

    Attributes
    ----------
    matrix : ndarray of shape (n_features, n_features)
        The mean.
    traces : ndarray of shape (n_samples,)
        What the Gauss-Newton term of each sample adds to its trace.
    saturated : bool
        Whether all probabilities are zero or one, up to rounding.
    """

    matrix: np.ndarray
    traces: np.ndarray
    saturated: bool


def mean_curvature(estimator, X, y, weights, curvature, derivatives):
    """The mean Hessian of valid samples, in float64; of numpy unless for a module."""
    classes = check_classifier(estimator, X, y)
    order = np.argsort(classes)
    codes = order[np.searchsorted(classes, y, sorter=order)]
    model = _model(estimator, X, len(classes), curvature, derivatives)
    weights = weights / weights.sum()
    n_samples = len(y)
    total, traces, saturated = 0.0, np.empty(n_samples), True
    progress = current_progress()
    # An overflow is reported after the sum, with its cause.
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        gram = model.gram()
        batches = list(gen_batches(n_samples, model.block_rows(X)))
        for batch in batches:
            expansion = model.expand(model.inputs(X[batch, ...]))
            _check_own_probability(expansion.logits, codes[batch], y[batch], estimator)
            residuals, factors = cross_entropy_derivatives(
                expansion.logits, codes[batch]
            )
            # The sum of the squares of a sample's factors is 1 - sum_k p_k^2.
            spread = np.square(factors[weights[batch] > 0]).sum(axis=(1, 2))
            saturated &= bool((spread < np.finfo(np.float64).eps).all())
            part, traces[batch] = _curvature(
                expansion, residuals, factors, weights[batch], curvature, gram
            )
            total = total + part
            said = f"{batch.stop} of {n_samples} samples"
            progress.step("Hessian", said, n_steps=len(batches), name="block")
        matrix = model.to_samples(to_numpy(total))
    if not np.isfinite(matrix).all():
        raise ValueError(
            f"The Hessian of {classifier_name(estimator)} is not finite: its "
            "parameters, or its logits of these samples, are NaN, infinite or too "
            "large. Scale the features, or regularise its training."
        )
    return MeanCurvature((matrix + matrix.T) / 2, traces, saturated)


def _curvature(expansion, residuals, factors, weights, curvature, gram):
    """Weighted sum of samples' Hessians, and the traces of their Gauss-Newton parts."""
    # Equation 3 by the chain rule. The Gauss-Newton part J^T B^T B J of all samples is
    # one product of the rows B J with themselves, so that it is semidefinite whatever
    # the rounding.
    products = expansion.pull_back(factors * np.sqrt(weights)[:, None, None])
    xp = namespace(products)
    rows = xp.reshape(products, (-1, products.shape[2]))
    total = in_double(rows.T @ rows)
    # For the affine map A, the trace of A^T (B J)^T (B J) A needs A A^T only.
    images = rows if gram is None else rows @ like(gram, rows, dtype_name(rows))
    # The other part weights the Hessians of the logits by the gradient, p - [y = k].
    if curvature == "hessian":
        weighted = expansion.weighted_hessian(residuals * weights[:, None])
        total = total + in_double(weighted)
    traces = xp.sum(xp.reshape(rows * images, (products.shape[0], -1)), axis=1)
    return total, to_numpy(traces)


def _check_own_probability(logits, codes, y, estimator):
    """Raise ValueError if a sample's own class has probability zero."""
    if logits.shape[1] == 1:
        own = np.where(codes == 1, 1, -1) * logits[:, 0]
    else:
        own = logits[np.arange(len(codes)), codes]
    if np.isneginf(own).any():
        label = y[np.isneginf(own)].tolist()[0]
        raise ValueError(
            f"{classifier_name(estimator)} gives a sample of class {label!r} "
            "probability zero for it, so that the cross-entropy is infinite. Give the "
            "class a prior above zero, or leave its samples out; if the probabilities "
            "are saturated, regularise the training more."
        )


def cross_entropy_derivatives(logits, codes):
    r"""Derivatives of the cross-entropy :math:`-\log p_y` with respect to the logits.

    Parameters
    ----------
    logits : ndarray of shape (n_samples, n_logits)
        One column for each class, or one column for two classes.
    codes : ndarray of shape (n_samples,)
        The number of each sample's class.

    Returns
    -------
    residuals : ndarray of shape (n_samples, n_logits)
        The gradient, :math:`p_k - [y = k]`.
    factors : ndarray of shape (n_samples, n_rows, n_logits)
        B with :math:`B^\top B = \operatorname{diag} p - p p^\top`, the Hessian.
    """
    if logits.shape[1] == 1:
        chosen, other = expit(logits), expit(-logits)
        residuals = np.where(codes[:, None] == 1, -other, chosen)
        return residuals, (np.sqrt(chosen) * np.sqrt(other))[:, :, None]
    samples = np.arange(len(codes))
    proba = softmax(logits, axis=1)
    # For the largest probability, 1 - p cancels. The sum of the others does not.
    largest = proba.argmax(axis=1)
    others = proba.copy()
    others[samples, largest] = 0
    complement = 1 - proba
    complement[samples, largest] = others.sum(axis=1)
    residuals = proba.copy()
    residuals[samples, codes] = -complement[samples, codes]
    # The rows of B are sqrt(p_k) (e_k - p): B^T B = sum_k p_k (e_k - p) (e_k - p)^T,
    # the covariance matrix of a class drawn with the probabilities p.
    roots = np.sqrt(proba)
    factors = -roots[:, :, None] * proba[:, None, :]
    diagonal = np.arange(logits.shape[1])
    factors[:, diagonal, diagonal] = roots * complement
    return residuals, factors


def check_classifier(estimator, X, y):
    """Classes of a fitted classifier, or of a function; raises unless X and y fit."""
    if is_function(estimator):
        return np.unique(y)
    n_features = getattr(estimator, "n_features_in_", X.shape[1])
    if n_features != X.shape[1]:
        raise ValueError(
            f"estimator was fitted on {n_features} features, but X has {X.shape[1]}; "
            "give the features that it was fitted on, or an estimator that is not "
            "frozen, which is fitted on X."
        )
    if not (hasattr(estimator, "predict_proba") and hasattr(estimator, "classes_")):
        raise ValueError(
            f"estimator, {type(estimator).__name__}, has no class probabilities "
            f"(predict_proba and classes_). {supported_classifiers()}"
        )
    if any(np.ndim(label) for label in estimator.classes_):
        raise_several_labels(estimator)
    classes = np.asarray(estimator.classes_)
    unknown = np.setdiff1d(y, classes)
    if len(unknown):
        raise ValueError(
            f"y has the class {unknown.tolist()[0]!r}, which estimator was not fitted "
            f"on: it knows {classes.tolist()}."
        )
    return classes


def is_function(estimator):
    """Whether the classifier is a plain function of the samples."""
    return is_module(estimator) or (
        callable(estimator) and not hasattr(estimator, "fit")
    )


def supported_classifiers():
    """A sentence for messages that tells which classifiers are supported."""
    classifiers = ", ".join(kind.__name__ for kind in CLASSIFIERS)
    transformers = ", ".join(kind.__name__ for kind in TRANSFORMERS)
    return (
        f"There are formulas for {classifiers}, and for pipelines of {transformers} "
        "with one of these; other classifiers need predict_proba, for "
        "derivatives='differences'; a function of X that returns log-probabilities "
        "must be written with autograd.numpy, unless derivatives='differences'."
    )


def _model(estimator, X, n_classes, curvature, derivatives):
    differences = derivatives == "differences"
    if is_module(estimator):
        if not differences:
            return module_model(estimator, n_classes)
        estimator = module_function(estimator, n_classes)
    if is_function(estimator):
        if differences:
            return function_differences(estimator, X, n_classes, curvature)
        return callable_model(estimator, n_classes)
    model = None if derivatives == "differences" else analytic_model(estimator)
    if model is not None:
        return model
    if derivatives == "analytic":
        raise ValueError(
            f"derivatives='analytic': there is no formula for {estimator!r}. "
            f"{supported_classifiers()}"
        )
    return estimator_differences(estimator, X, curvature)
