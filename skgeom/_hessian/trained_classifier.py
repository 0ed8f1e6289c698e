"""The trained classifier whose Hessian a projection uses."""

import numpy as np
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import has_fit_parameter

from skgeom._hessian.input_hessians import is_function
from skgeom._hessian.logit_estimators import classifier_name, last_step
from skgeom._hessian.logit_torch import is_skorch
from skgeom.utils._frames import with_names
from skgeom.utils.validation import warn_user


def default_network(n_samples, n_classes, random_state=None):
    """The classifier that ``estimator=None`` stands for.

    Its squared weights are penalised. Without that, the probabilities come to be zeros
    and ones, and a few samples decide on the Hessian. The penalty, which is added to
    the sum of the samples' losses, is larger the more samples there are of a class. It
    stays the same from 500 samples on, where the sum of the losses outweighs it.

    There is one hidden layer: with several, a penalty that is large enough makes the
    weights vanish if the classes overlap. It is smooth, so that L-BFGS converges, and
    nearly always to the same classifier.
    """
    network = MLPClassifier(
        (32,),
        activation="tanh",
        solver="lbfgs",
        alpha=min(n_samples, 500) / (5 * n_classes),
        max_iter=2000,
        random_state=random_state,
    )
    return make_pipeline(StandardScaler(), network)


def trained_classifier(estimator, X, y, weights, names, random_state):
    """A fitted clone; functions and frozen estimators are used as they are.

    Parameters
    ----------
    estimator : estimator, callable or None
        None is the default network.
    X : ndarray of shape (n_samples, n_features)
        The samples.
    y : ndarray of shape (n_samples,)
        Their class labels.
    weights : ndarray of shape (n_samples,) or None
        Their weights in the training.
    names : ndarray of shape (n_features,) or None
        The names of the features, which the classifier is fitted with.
    random_state : int, RandomState instance or None
        That of the default network.
    """
    if is_function(estimator):
        return estimator
    if estimator is None:
        estimator = default_network(len(y), len(np.unique(y)), random_state)
    else:
        estimator = clone(estimator)
    # Only a frozen estimator has seen names, and may have seen other ones.
    seen = getattr(estimator, "feature_names_in_", None)
    if seen is not None and names is not None and not np.array_equal(seen, names):
        raise ValueError(
            f"estimator was fitted on the features {seen.tolist()}, but X has "
            f"{names.tolist()}; give the same ones in the same order."
        )
    parameters = {} if weights is None else _weight_parameters(estimator, weights)
    if parameters is None:
        warn_user(
            f"class_weight weights the average of the Hessian alone: the training of "
            f"{classifier_name(estimator)} takes no sample_weight. Weight the classes "
            "by its own parameters, such as class_weight or priors, or freeze a "
            "classifier that was trained with weights.",
            UserWarning,
        )
    # Networks of skorch are in single precision. The estimator may change X in place.
    X = X.astype(np.float32 if is_skorch(last_step(estimator)) else X.dtype)
    X = X if names is None else with_names(X, names)
    return estimator.fit(X, y, **(parameters or {}))


def _weight_parameters(estimator, weights):
    """Arguments of fit that give a classifier weights; None if it takes none."""
    if isinstance(estimator, FrozenEstimator):
        return {}  # is not trained
    if isinstance(estimator, Pipeline):
        name, last = estimator.steps[-1]
        nested = _weight_parameters(last, weights)
        if nested is None:
            return None
        return {f"{name}__{key}": value for key, value in nested.items()}
    if has_fit_parameter(estimator, "sample_weight"):
        return {"sample_weight": weights}
    return None
