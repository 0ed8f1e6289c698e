"""Fitted scikit-learn classifiers as models of logits with analytic derivatives."""

from functools import partial

import numpy as np
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import (
    LinearDiscriminantAnalysis,
    QuadraticDiscriminantAnalysis,
)
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import (
    MaxAbsScaler,
    MinMaxScaler,
    RobustScaler,
    StandardScaler,
)

from skgeom._hessian.logit_models import linear_model, network_model, quadratic_model
from skgeom._hessian.logit_torch import is_module, is_skorch, skorch_model
from skgeom.utils._frames import named_like_fit


def _float64(arrays):
    return [np.asarray(array, dtype=np.float64) for array in arrays]


def raise_several_labels(estimator):
    """Raise ValueError because a classifier gives a sample several labels."""
    raise ValueError(
        f"estimator, {type(estimator).__name__}, gives a sample several labels at "
        "once, which have no common cross-entropy; fit one classifier a label, with y "
        "of shape (n_samples,)."
    )


def _from_network(estimator):
    if estimator.out_activation_ != "softmax" and estimator.n_outputs_ > 1:
        raise_several_labels(estimator)
    return network_model(
        _float64(estimator.coefs_),
        _float64(estimator.intercepts_),
        estimator.activation,
    )


def _from_logistic_regression(estimator):
    several = len(estimator.classes_) > 2
    # Before scikit-learn 1.8, multi_class="ovr" fitted one regression for each class.
    mode = getattr(estimator, "multi_class", "deprecated")
    if several and (mode == "ovr" or estimator.solver == "liblinear"):
        return None
    # The softmax of the logits -z and z is the logistic function of 2 z.
    return _from_coefficients(
        estimator, 2 if mode == "multinomial" and not several else 1
    )


def _from_coefficients(estimator, factor=1):
    coef, intercept = _float64([estimator.coef_, estimator.intercept_])
    return linear_model(factor * coef, factor * np.broadcast_to(intercept, len(coef)))


def _from_qda(estimator):
    scalings = _float64(estimator.scalings_)
    for label, scaling in zip(estimator.classes_.tolist(), scalings, strict=True):
        _check_variances(estimator, scaling, f"class {label!r}", "reg_param")
    scaled = [
        rotation / np.sqrt(scaling)
        for rotation, scaling in zip(
            _float64(estimator.rotations_), scalings, strict=True
        )
    ]
    log_determinants = [np.log(scaling).sum() for scaling in scalings]
    return quadratic_model(
        np.asarray(estimator.means_, dtype=np.float64),
        np.stack([root @ root.T for root in scaled]),
        _log_priors(estimator.priors_) - np.array(log_determinants) / 2,
    )


def _from_naive_bayes(estimator):
    variances = np.asarray(estimator.var_, dtype=np.float64)
    for feature, values in enumerate(variances.T):
        _check_variances(estimator, values, f"feature {feature}", "var_smoothing")
    return quadratic_model(
        np.asarray(estimator.theta_, dtype=np.float64),
        1 / variances,
        _log_priors(estimator.class_prior_) - np.log(variances).sum(axis=1) / 2,
    )


def _log_priors(priors):
    """Logarithms; minus infinity for a class that is never predicted."""
    with np.errstate(divide="ignore"):
        return np.log(np.asarray(priors, dtype=np.float64))


def _check_variances(estimator, variances, where, remedy):
    if not (variances > 0).all():
        raise ValueError(
            f"estimator, {type(estimator).__name__}, has a variance of zero for "
            f"{where}, where its density is infinite; fit it with a larger {remedy}, "
            "or without features that are constant."
        )


CLASSIFIERS = {
    MLPClassifier: _from_network,
    LogisticRegression: _from_logistic_regression,
    LinearDiscriminantAnalysis: _from_coefficients,
    QuadraticDiscriminantAnalysis: _from_qda,
    GaussianNB: _from_naive_bayes,
}


# The Jacobians of affine transformers, (n_components, n_features).


def _from_pca(pca):
    if not pca.whiten:
        return pca.components_
    scale = np.sqrt(pca.explained_variance_)
    scale = np.maximum(scale, np.finfo(scale.dtype).eps)  # as `transform` does
    return pca.components_ / scale[:, None]


def _from_scaler(scaler):
    scale = np.ones(scaler.n_features_in_) if scaler.scale_ is None else scaler.scale_
    return np.diag(1 / scale)


def _from_min_max(scaler):
    return None if scaler.clip else np.diag(scaler.scale_)


TRANSFORMERS = {
    StandardScaler: _from_scaler,
    RobustScaler: _from_scaler,
    MaxAbsScaler: _from_scaler,
    MinMaxScaler: _from_min_max,
    PCA: _from_pca,
}


# Methods on which the probabilities of a classifier may depend.
_PROBABILITY_METHODS = [
    "predict_proba",
    "predict_log_proba",
    "decision_function",
    "_joint_log_likelihood",
]


def _convert(estimator, table, methods):
    """Convert an estimator by the table of its class; None if it has no entry.

    A subclass has the entry of its base class, unless it overrides one of the methods.
    """
    for kind, convert in table.items():
        if isinstance(estimator, kind) and all(
            getattr(type(estimator), method, None) is getattr(kind, method, None)
            for method in methods
        ):
            return convert(estimator)
    return None


def unwrap(estimator):
    """The fitted estimator inside of a frozen one or a finished search."""
    while True:
        if isinstance(estimator, FrozenEstimator):
            estimator = estimator.estimator
        elif hasattr(estimator, "best_estimator_"):
            estimator = estimator.best_estimator_
        else:
            return estimator


def classifier_name(estimator):
    """Name of a classifier for messages."""
    estimator = unwrap(estimator)
    if isinstance(estimator, Pipeline):
        return f"Pipeline({', '.join(map(classifier_name, _steps(estimator)))})"
    if is_module(estimator):
        return type(estimator).__name__
    if not hasattr(estimator, "fit"):
        return getattr(estimator, "__name__", repr(estimator))
    return type(estimator).__name__


def analytic_model(estimator):
    """The model of a fitted classifier, or None if there is no formula for it here.

    Raises
    ------
    ValueError
        If there is one, but the parameters of this classifier have no Hessian.
    """
    *transformers, classifier = _steps(estimator)
    if is_skorch(classifier):
        model = skorch_model(classifier)
    else:
        model = _convert(classifier, CLASSIFIERS, _PROBABILITY_METHODS)
    for transformer in transformers[::-1]:
        matrix = _convert(transformer, TRANSFORMERS, ["transform"])
        if model is None or matrix is None:
            return None
        matrix = np.asarray(matrix, dtype=np.float64)
        model = model.after(partial(_transform, transformer), matrix)
    return model


def _transform(transformer, X):
    """Transformed samples, exactly as the classifier behind the transformer sees them.

    The matrix would round otherwise. That matters where a whitening by PCA divides
    rounding by a variance of zero.
    """
    X = named_like_fit(X.copy(), transformer)  # which may change in place
    return np.asarray(transformer.transform(X), dtype=np.float64)


def last_step(estimator):
    """The classifier at the end of a pipeline, or the estimator itself."""
    return _steps(estimator)[-1]


def _steps(estimator):
    """The estimators of a pipeline, with those of pipelines inside of it."""
    estimator = unwrap(estimator)
    if not isinstance(estimator, Pipeline):
        return [estimator]
    steps = [step for _, step in estimator.steps if step not in (None, "passthrough")]
    return [inner for step in steps for inner in _steps(step)]
