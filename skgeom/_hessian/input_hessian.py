"""Mean Hessian of a classifier's cross-entropy with respect to its inputs."""

from typing import NamedTuple

import numpy as np
from scipy.special import expit, softmax
from sklearn.utils import gen_batches
from sklearn.utils.validation import check_is_fitted

from skgeom._hessian.differences import estimator_differences, function_differences
from skgeom._hessian.models import (
    SUPPORTED,
    call_in_double,
    classifier_name,
    fitted_classifier,
    function_model,
    is_function,
    is_module,
)
from skgeom.utils._sklearn import StrOptions, check_feature_names, validated_parameters
from skgeom.utils.array_api import (
    in_double,
    like,
    namespace,
    to_numpy,
)
from skgeom.utils.memory import require_memory
from skgeom.utils.progress import current_progress
from skgeom.utils.validation import (
    check_sample_weight,
    check_samples,
    checked_labels,
    named_like_fit,
)


@validated_parameters(
    X=["array-like"],
    y=["array-like"],
    sample_weight=[None, "array-like"],
    curvature=[StrOptions({"hessian", "gauss-newton"})],
    derivatives=[StrOptions({"auto", "analytic", "differences"})],
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
    r"""Compute the mean Hessian of the cross-entropy with respect to the samples.

    .. math::

       H = \frac1n \sum_i \nabla_x^2 \left[-\log p(y_i \mid x_i)\right]
         = \frac1n \sum_i \Bigl( J_i^\top (\operatorname{diag} p_i - p_i p_i^\top) J_i
           + \sum_k (p_{ik} - [y_i = k]) \nabla^2 z_k(x_i) \Bigr)

    For sample i, :math:`J_i` is the Jacobian of the logits z of the classifier with
    respect to the features, and :math:`p_i` is the vector of the class probabilities;
    :math:`[y_i = k]` is 1 if k is the class of the sample, and 0 otherwise. H
    generalizes equation 3 of [1]_ to any number of classes and is averaged over the
    samples. The first term is the Gauss-Newton matrix. The second term is zero if the
    logits are piecewise linear, as in a ReLU network. With two classes and piecewise
    linear logits, H is the mean of :math:`p (1 - p) g g^\top` with the gradient g of
    the logit, and does not depend on the labels.

    All terms are computed from logits, so they are precise also for probabilities close
    to zero or one. Central differences are an exception if the classifier has neither
    decision values nor log-probabilities that agree with ``predict_proba``.

    Parameters
    ----------
    estimator : estimator or callable
        A fitted classifier, a function or a PyTorch module. Formulas for the Hessian
        are available for :class:`~sklearn.neural_network.MLPClassifier`,
        :class:`~sklearn.linear_model.LogisticRegression`,
        :class:`~sklearn.discriminant_analysis.LinearDiscriminantAnalysis`,
        :class:`~sklearn.discriminant_analysis.QuadraticDiscriminantAnalysis`,
        :class:`~sklearn.naive_bayes.GaussianNB`, :class:`KernelDiscriminantAnalysis`
        with the kernel "rbf", "poly" or "linear", and for two classes
        ``CalibratedClassifierCV(SVC(gamma=...), ensemble=False)`` with these kernels
        and a number or "auto" as ``gamma``. The formulas also apply to a
        :class:`~sklearn.pipeline.Pipeline` of scalers, PCA and one of these
        classifiers, to a fitted search, such as
        :class:`~sklearn.model_selection.GridSearchCV`, and to subclasses that override
        only methods of the training. For all other classifiers, the Hessian is computed
        from differences of ``predict_proba``.

        Pass a classifier from another package as a function of X that is written with
        ``autograd.numpy``, or as a ``torch.nn.Module``. Both must return logits or
        log-probabilities of the sorted classes of y, of shape (n_samples, n_classes).
        With two classes, they may return one column, the logit of the second class. The
        module is evaluated in evaluation mode, in its own precision and on its own
        device, and is not modified.
    X : array-like of shape (n_samples, n_features)
        The samples; not modified. The columns of a data frame must have the names and
        the order of the training data of the estimator.
    y : array-like of shape (n_samples,)
        Class labels of the samples. If ``estimator`` is a function or a module, y must
        contain all classes.
    sample_weight : array-like of shape (n_samples,) or None, default=None
        Weights of the samples in the mean; None weights all samples equally.
    curvature : {"hessian", "gauss-newton"}, default="hessian"
        The full Hessian H, or the Gauss-Newton matrix, which has no negative
        eigenvalues.
    derivatives : {"auto", "analytic", "differences"}, default="auto"
        ``"auto"`` uses formulas for classifiers that have them, autograd for functions,
        and central differences for all other classifiers. ``"analytic"`` raises an
        error if a classifier has no formula. ``"differences"`` uses central differences
        for all classifiers and functions; functions then need not be written with
        ``autograd.numpy``. Modules are always differentiated with PyTorch.

        With d features, central differences call ``predict_proba`` for all samples 2 d
        times for the Gauss-Newton matrix, :math:`d^2 + 3 d` times for the Hessian, and
        about ten times to check that the probabilities are smooth. Instead of
        probabilities, decision values or log-probabilities are used if they agree with
        ``predict_proba``, because they are more precise.

    Returns
    -------
    H : ndarray of shape (n_features, n_features)
        The mean Hessian, in the namespace of X.

    Raises
    ------
    ValueError
        If the estimator was fitted to different features or classes, has no
        probabilities, accepts float32 only, or is a multilabel classifier; if no
        formula is available for ``derivatives="analytic"``; if central differences are
        used and the probabilities are not smooth, as for trees and nearest neighbors;
        if the true class of a sample has probability zero, for example because its
        prior is zero; if the Hessian contains infinite or NaN values; or if a function
        raises an error or does not return one row of logits per sample.

    References
    ----------
    .. [1] A. Hartoyo et al., "Synergistic eigenanalysis of covariance and Hessian
       matrices for enhanced binary classification on health datasets", Computers in
       Biology and Medicine 190, 2025.

    Examples
    --------
    The Hessian of a linear classifier of two classes has rank one:

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
    given = check_samples(X, double=True)
    X, y = given if is_module(estimator) else to_numpy(given), checked_labels(y, given)
    weights = check_sample_weight(sample_weight, y)
    mean = mean_curvature(estimator, X, y, weights, curvature, derivatives)
    return like(mean.matrix, given)


class MeanCurvature(NamedTuple):
    """The mean Hessian of samples.

    Attributes
    ----------
    matrix : ndarray of shape (n_features, n_features)
        The mean Hessian.
    traces : ndarray of shape (n_samples,)
        Contribution of each sample to the trace of the Gauss-Newton matrix.
    saturated : bool
        Whether all probabilities are zero or one, up to rounding.
    precision : float
        Relative error of the Hessian, divided by the number of features.
    """

    matrix: np.ndarray
    traces: np.ndarray
    saturated: bool
    precision: float


def mean_curvature(estimator, X, y, weights, curvature, derivatives):
    """The mean Hessian of validated samples, in float64.

    X is a NumPy array, unless the estimator is a PyTorch module.
    """
    require_memory(
        16 * X.shape[1] ** 2,  # the Hessian and the contribution of a block
        f"The Hessian of {X.shape[1]} features and the contribution of a block of X",
        "Reduce the number of features of X first, for example by PCA.",
    )
    classes = check_classifier(estimator, X, y)
    order = np.argsort(classes)
    codes = order[np.searchsorted(classes, y, sorter=order)]
    model = _model(estimator, X, len(classes), curvature, derivatives)
    weights = weights / weights.sum()
    total, traces, saturated = 0.0, np.empty(len(y)), True
    progress, name = current_progress(), classifier_name(estimator)
    batches = list(gen_batches(len(y), model.rows_of_a_block(X)))
    # Overflow is detected after the sum, and raises a ValueError.
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        # For the affine map A, the trace of A^T (B J)^T (B J) A requires only A A^T.
        gram = None if model.matrix is None else model.matrix @ model.matrix.T
        for batch in batches:
            expansion = model.expand(model.inputs(X[batch, ...]))
            _check_own_probability(expansion.logits, codes[batch], y[batch], name)
            residuals, factors = cross_entropy_derivatives(
                expansion.logits, codes[batch]
            )
            share = weights[batch]
            # The sum of the squares of a sample's factors is 1 - sum_k p_k^2.
            variances = np.square(factors[share > 0]).sum(axis=(1, 2))
            saturated &= bool((variances < np.finfo(np.float64).eps).all())
            # Equation 3, by the chain rule. The Gauss-Newton part J^T B^T B J of all
            # samples is one product of the rows B J with themselves, so it is positive
            # semidefinite in spite of rounding.
            products = expansion.vjp(factors * np.sqrt(share)[:, None, None])
            xp = namespace(products)
            rows = xp.reshape(products, (-1, products.shape[2]))
            total = total + in_double(rows.T @ rows)
            images = rows if gram is None else rows @ like(gram, rows, rows.dtype)
            parts = xp.reshape(rows * images, (len(share), -1))
            traces[batch] = to_numpy(xp.sum(parts, axis=1))
            # The second part weights the Hessians of the logits by p - [y = k].
            if curvature == "hessian":
                hessian = expansion.weighted_hessian(residuals * share[:, None])
                total = total + in_double(hessian)
            progressed = f"{batch.stop} of {len(y)} samples"
            progress.step("Hessian", progressed, n_steps=len(batches), name="block")
        matrix = to_numpy(total)
        if model.matrix is not None:
            matrix = model.matrix.T @ matrix @ model.matrix
    if not np.isfinite(matrix).all():
        raise ValueError(
            f"The Hessian of {name} is not finite: its parameters or logits are NaN, "
            "infinite or too large. Scale the features, or regularize the classifier."
        )
    return MeanCurvature((matrix + matrix.T) / 2, traces, saturated, model.precision)


def _check_own_probability(logits, codes, y, name):
    """Raise ValueError if a sample's own class has probability zero."""
    if logits.shape[1] == 1:
        logits = np.hstack([-logits, logits])
    lost = np.isneginf(logits[np.arange(len(codes)), codes])
    if lost.any():
        raise ValueError(
            f"{name} predicts probability zero of class {y[lost].tolist()[0]!r} for a "
            "sample of this class, so the cross-entropy is infinite. Use a positive "
            "prior for the class, or remove its samples."
        )


def cross_entropy_derivatives(logits, codes):
    r"""Derivatives of the cross-entropy :math:`-\log p_y` with respect to the logits.

    Parameters
    ----------
    logits : ndarray of shape (n_samples, n_logits)
        One column for each class, or one column for two classes.
    codes : ndarray of shape (n_samples,)
        The index of each sample's class.

    Returns
    -------
    residuals : ndarray of shape (n_samples, n_logits)
        The gradient, :math:`p_k - [y = k]`.
    factors : ndarray of shape (n_samples, n_rows, n_logits)
        Matrices B such that :math:`B^\top B = \operatorname{diag} p - p p^\top` is the
        Hessian.
    """
    if logits.shape[1] == 1:
        chosen, other = expit(logits), expit(-logits)
        residuals = np.where(codes[:, None] == 1, -other, chosen)
        return residuals, (np.sqrt(chosen) * np.sqrt(other))[:, :, None]
    samples = np.arange(len(codes))
    proba = softmax(logits, axis=1)
    # For the largest probability, 1 - p would cancel. The sum of the others does not.
    largest = proba.argmax(axis=1)
    others = proba.copy()
    others[samples, largest] = 0
    complement = 1 - proba
    complement[samples, largest] = others.sum(axis=1)
    residuals = proba.copy()
    residuals[samples, codes] = -complement[samples, codes]
    # The rows of B are sqrt(p_k) (e_k - p): B^T B = sum_k p_k (e_k - p) (e_k - p)^T is
    # the covariance matrix of a one-hot vector drawn with the probabilities p.
    roots = np.sqrt(proba)
    factors = -roots[:, :, None] * proba[:, None, :]
    diagonal = np.arange(logits.shape[1])
    factors[:, diagonal, diagonal] = roots * complement
    return residuals, factors


def check_classifier(estimator, X, y):
    """Classes of a fitted classifier or a function, after a validation of X and y."""
    if is_function(estimator):
        return np.unique(y)
    if not (hasattr(estimator, "predict_proba") and hasattr(estimator, "classes_")):
        raise ValueError(
            f"{classifier_name(estimator)} has no predict_proba or no classes_. Wrap a "
            "classifier without predict_proba in CalibratedClassifierCV."
        )
    with np.errstate(all="ignore"):
        sample, name = named_like_fit(X[:1], estimator), classifier_name(estimator)
        proba = call_in_double(estimator.predict_proba, sample, name)
    if isinstance(proba, list) or (np.abs(proba.sum(axis=1) - 1) > 1e-3).any():
        raise ValueError(
            f"{classifier_name(estimator)} is a multilabel classifier, "
            "whose cross-entropy is undefined. Fit one classifier per label."
        )
    classes = np.asarray(estimator.classes_)
    unknown = np.setdiff1d(y, classes)
    if len(unknown):
        raise ValueError(
            f"y contains the class {unknown.tolist()[0]!r}, but the classes of the "
            f"estimator are {classes.tolist()}. Use the labels with which the "
            "estimator was trained, and remove samples of other classes."
        )
    return classes


def _model(estimator, X, n_classes, curvature, derivatives):
    if is_function(estimator):
        if derivatives == "differences" and not is_module(estimator):
            return function_differences(estimator, X, n_classes, curvature)
        return function_model(estimator, n_classes)
    model = None if derivatives == "differences" else fitted_classifier(estimator)
    if model is None and derivatives == "analytic":
        raise ValueError(f"There is no formula for {estimator!r}. {SUPPORTED}")
    return model or estimator_differences(estimator, X, curvature)
