"""Classifiers as logits whose derivatives come from autograd or from differences."""

import autograd.numpy as anp
import numpy as np
from autograd import grad, make_vjp

from skgeom._logit_models import Expansion, LogitModel

_TINY = np.finfo(np.float64).tiny


def callable_model(function, n_classes):
    """Model of a function X -> logits or log-probabilities, written with autograd.

    Parameters
    ----------
    function : callable
        From X, (n_samples, n_features), the array (n_samples, n_classes).
    n_classes : int
        The number of columns that it must have.
    """

    def expand(X):
        pull, logits = make_vjp(function)(X)
        _check_result(function, X, logits, n_classes)

        def pull_back(V):
            rows = [pull(V[:, row]) for row in range(V.shape[1])]
            return np.stack(rows, axis=1)

        def bend(G):
            # The second term is zero. It makes the gradient depend on X, of which
            # autograd would warn if the logits are linear.
            gradient = grad(lambda X: anp.sum(G * function(X)) + 0 * anp.sum(X**2))
            push, _ = make_vjp(gradient)(X)
            rows = []
            for feature in range(X.shape[1]):
                direction = np.zeros_like(X)
                direction[:, feature] = 1
                rows.append(push(direction).sum(axis=0))
            return np.stack(rows)

        return Expansion(logits, pull_back, bend)

    return LogitModel(expand, floats_per_sample=64)


def _check_result(function, X, logits, n_classes):
    if np.shape(logits) != (len(X), n_classes):
        raise ValueError(
            "estimator, a function, must return one row a sample and one column a "
            f"class, {(len(X), n_classes)}, got shape {np.shape(logits)}."
        )
    if not np.isfinite(logits).all():
        raise ValueError(
            "estimator, a function, returned NaN or infinity; get log-probabilities "
            "from logits, without taking the logarithm of a probability that is zero."
        )
    alone = np.asarray(function(X[:1]))
    if not np.allclose(alone, logits[:1], rtol=1e-6, atol=1e-8):
        raise ValueError(
            "estimator, a function, gives the first sample other values alone than "
            "among others; each row of its result may depend on that row of X only."
        )


def difference_model(estimator, X):
    """Model of a fitted classifier by central differences of its log-probabilities.

    The step in a feature is the fourth root of the machine precision times the standard
    deviation of the feature, where rounding and truncation err about equally.
    """
    scale = X.std(axis=0)
    steps = np.finfo(np.float64).eps ** 0.25 * np.where(scale > 0, scale, 1.0)
    n_features = X.shape[1]

    def log_proba(X):
        return np.log(np.maximum(estimator.predict_proba(_named(X, estimator)), _TINY))

    def shifted(X, *features, sign):
        X = X.copy()
        for feature in features:
            X[:, feature] += sign * steps[feature]
        return log_proba(X)

    def expand(X):
        logits = log_proba(X)

        def pull_back(V):
            gradients = [
                (shifted(X, j, sign=1) - shifted(X, j, sign=-1)) / (2 * steps[j])
                for j in range(n_features)
            ]
            return V @ np.stack(gradients, axis=2)

        def bend(G):
            def change(*features):
                up, down = (shifted(X, *features, sign=sign) for sign in (1, -1))
                return (G * ((up - logits) + (down - logits))).sum()

            single = np.array([change(j) for j in range(n_features)])
            total = np.diag(single / steps**2)
            for j, k in zip(*np.triu_indices(n_features, 1), strict=True):
                mixed = change(j, k) - single[j] - single[k]
                total[j, k] = total[k, j] = mixed / (2 * steps[j] * steps[k])
            return total

        return Expansion(logits, pull_back, bend)

    n_classes = len(estimator.classes_)
    return LogitModel(expand, floats_per_sample=n_features * (n_classes + 1))


def _named(X, estimator):
    """Samples as the estimator saw them: with names of features, if it had such."""
    names = getattr(estimator, "feature_names_in_", None)
    if names is None:
        return X
    import pandas as pd  # the names come from a data frame, so there is one

    return pd.DataFrame(X, columns=names)
