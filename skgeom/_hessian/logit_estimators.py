"""Fitted scikit-learn classifiers as models of logits with analytic derivatives."""

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
    model = _from_coefficients(estimator)
    # The softmax of the logits -z and z is the logistic function of 2 z.
    if mode == "multinomial" and not several:
        return linear_model(2 * model.matrix, 2 * model.offset)
    return model


def _from_coefficients(estimator):
    coef, intercept = _float64([estimator.coef_, estimator.intercept_])
    return linear_model(coef, np.broadcast_to(intercept, len(coef)))


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


def _from_pca(pca):
    matrix = pca.components_
    if pca.whiten:
        scale = np.sqrt(pca.explained_variance_)
        scale = np.maximum(scale, np.finfo(scale.dtype).eps)  # as `transform` does
        matrix = matrix / scale[:, None]
    return matrix, -matrix @ pca.mean_


def _from_standard_scaler(scaler):
    # The scaler has a mean even if with_mean=False, and does not subtract it then.
    return _scaled(scaler, scaler.mean_ if scaler.with_mean else None, scaler.scale_)


def _from_robust_scaler(scaler):
    return _scaled(scaler, scaler.center_, scaler.scale_)


def _from_max_abs(scaler):
    return _scaled(scaler, None, scaler.scale_)


def _scaled(scaler, center, scale):
    """The affine map (X - center) / scale, where None leaves a part out."""
    n_features = scaler.n_features_in_
    center = np.zeros(n_features) if center is None else center
    scale = np.ones(n_features) if scale is None else scale
    return np.diag(1 / scale), -center / scale


def _from_min_max(scaler):
    return None if scaler.clip else (np.diag(scaler.scale_), scaler.min_)


TRANSFORMERS = {
    StandardScaler: _from_standard_scaler,
    RobustScaler: _from_robust_scaler,
    MaxAbsScaler: _from_max_abs,
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
    model = _convert(classifier, CLASSIFIERS, _PROBABILITY_METHODS)
    for transformer in transformers[::-1]:
        affine = _convert(transformer, TRANSFORMERS, ["transform"])
        if model is None or affine is None:
            return None
        model = model.after(*_float64(affine))
    return model


def _steps(estimator):
    """The estimators of a pipeline, with those of pipelines inside of it."""
    estimator = unwrap(estimator)
    if not isinstance(estimator, Pipeline):
        return [estimator]
    steps = [step for _, step in estimator.steps if step not in (None, "passthrough")]
    return [inner for step in steps for inner in _steps(step)]
