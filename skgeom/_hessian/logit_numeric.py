"""Classifiers as logits whose derivatives come from autograd or from differences."""

from contextlib import contextmanager

import numpy as np
from scipy.special import expit, log_softmax, softmax

from skgeom._hessian.logit_estimators import classifier_name, raise_several_labels
from skgeom._hessian.logit_models import Expansion, LogitModel
from skgeom.utils._frames import named_like_fit

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
    import autograd.numpy as anp
    from autograd import grad, make_vjp

    def expand(X):
        with _errors_explained(function):
            pull, logits = make_vjp(function)(X)
        _check_result(function, X, logits, n_classes)

        def pull_back(V):
            with _errors_explained(function):
                rows = [pull(V[:, row]) for row in range(V.shape[1])]
            return np.stack(rows, axis=1)

        def weighted_hessian(G):
            # If the logits are linear, their gradient does not depend on X, of which
            # autograd would warn. The second term, which is zero, prevents that.
            gradient = grad(lambda X: anp.sum(G * function(X)) + 0 * anp.sum(X**2))
            rows = []
            with _errors_explained(function):
                # The logits of a sample depend on that sample only. So one product with
                # ones in a feature gives that row of the Hessians of all samples.
                hessian_product, _ = make_vjp(gradient)(X)
                for feature in range(X.shape[1]):
                    direction = np.zeros_like(X)
                    direction[:, feature] = 1
                    rows.append(hessian_product(direction).sum(axis=0))
            return np.stack(rows)

        return Expansion(logits, pull_back, weighted_hessian)

    return LogitModel(expand, floats_per_sample=64)


@contextmanager
def _errors_explained(function):
    """Turn errors of a function into a ValueError that tells what it must do."""
    try:
        yield
    except Exception as error:
        raise ValueError(
            f"estimator, the function {classifier_name(function)}, raised "
            f"{type(error).__name__}: {error}. It must take X, an array of shape "
            "(n_samples, n_features), and return logits or log-probabilities, "
            "(n_samples, n_classes); write it with autograd.numpy, or use "
            "derivatives='differences' if it cannot be."
        ) from error


def _check_result(function, X, logits, n_classes):
    if np.shape(logits) != (len(X), n_classes):
        raise ValueError(
            "estimator, a function, must return one row a sample and one column a "
            f"class of y, {(len(X), n_classes)}, got shape {np.shape(logits)}. Each "
            "class must occur in y; for a single logit of two classes, put a column "
            "of zeros in front."
        )
    if not np.isfinite(logits).all():
        raise ValueError(
            "estimator, a function, returned NaN or infinity; get log-probabilities "
            "from logits, without taking the logarithm of a probability that is zero."
        )
    tolerance = np.finfo(_as_floats(logits).dtype).eps ** 0.4
    for row in {0, len(X) // 2, len(X) - 1}:
        with _errors_explained(function):
            alone = np.asarray(function(X[[row]]))
        if alone.shape != (1, n_classes) or not np.allclose(
            alone, logits[row], rtol=tolerance, atol=tolerance
        ):
            raise ValueError(
                f"estimator, a function, gives sample {row} other values alone than "
                "among others; each row of its result may depend on that row of X only."
            )


def function_differences(function, X, n_classes, curvature):
    """Model of any function X -> logits or log-probabilities, by differences."""

    def logits(X):
        with _errors_explained(function):
            return _as_floats(function(X.copy()))

    _check_result(function, X, logits(X), n_classes)
    return difference_model(logits, X, classifier_name(function), curvature)


def estimator_differences(estimator, X, curvature):
    """Model of a fitted classifier, by differences of its most precise output."""
    logits = _precise_output(estimator, X)
    return difference_model(logits, X, classifier_name(estimator), curvature)


def _precise_output(estimator, X):
    """The function that gives decision values, log-probabilities or probabilities.

    A probability close to one has lost the digits of its complement. So decision values
    are preferred, if their softmax agrees with `predict_proba`, and next the result of
    `predict_log_proba`, if its softmax does.
    """

    def output(method):
        def values(X):
            X = named_like_fit(X.copy(), estimator)
            with np.errstate(divide="ignore"):
                values = _as_floats(getattr(estimator, method)(X))
            return values[:, None] if values.ndim == 1 else values

        return values

    def log_proba(X):
        with np.errstate(divide="ignore"):
            return np.log(output("predict_proba")(X))

    proba = output("predict_proba")(X)
    _check_probabilities(estimator, proba, len(X))
    tolerance = np.sqrt(np.finfo(proba.dtype).eps)
    for method in ("decision_function", "predict_log_proba"):
        if hasattr(estimator, method):
            values = output(method)(X)
            found = _probabilities(values)
            if found.shape == proba.shape and np.allclose(
                found, proba, rtol=0, atol=tolerance
            ):
                return output(method)
    return log_proba


def _as_floats(values):
    values = np.asarray(values)
    return values if values.dtype.kind == "f" else values.astype(np.float64)


def _check_probabilities(estimator, proba, n_samples):
    shape = n_samples, len(estimator.classes_)
    if proba.shape != shape:
        raise ValueError(
            f"predict_proba of estimator, {classifier_name(estimator)}, must return "
            f"one row a sample and one column a class, {shape}, got shape "
            f"{proba.shape}."
        )
    if not (np.isfinite(proba).all() and (proba >= 0).all()):
        raise ValueError(
            f"predict_proba of estimator, {classifier_name(estimator)}, returned NaN, "
            "infinity or negative values; check what it was fitted on."
        )
    if not np.allclose(proba.sum(axis=1), 1, rtol=0, atol=1e-3):
        raise_several_labels(estimator)


def _probabilities(logits):
    """Probabilities of all classes, from one column for each, or one for two."""
    if logits.shape[1] == 1:
        return np.hstack([expit(-logits), expit(logits)])
    return softmax(logits, axis=1)


def difference_model(function, X, name, curvature):
    """Model of a function X -> logits by central differences.

    The step in a feature is about the fourth root of the precision of the logits, times
    the standard deviation of the feature. A second difference with the step h has a
    rounding error of the order eps / h^2 and a truncation error of the order h^2, which
    are equal there.
    """
    logits = function(X)
    precision = np.finfo(logits.dtype).eps
    steps = _steps(X, precision)
    n_features = X.shape[1]
    _check_smooth(function, X, steps, precision, name, curvature)

    def shifted(X, *features, sign):
        X = X.copy()
        for feature in features:
            X[:, feature] += sign * steps[feature]
        return _finite(function(X))

    def expand(X):
        logits = function(X).astype(np.float64)
        central = _finite(logits)

        def pull_back(V):
            gradients = [
                (shifted(X, j, sign=1) - shifted(X, j, sign=-1)) / (2 * steps[j])
                for j in range(n_features)
            ]
            return V @ np.stack(gradients, axis=2)

        def weighted_hessian(G):
            # The second difference along some features together. Each side is compared
            # with the centre first: subtracting twice a large logit would cancel.
            def change(*features):
                up, down = (shifted(X, *features, sign=sign) for sign in (1, -1))
                return (G * ((up - central) + (down - central))).sum()

            single = np.array([change(j) for j in range(n_features)])
            total = np.diag(single / steps**2)
            # Along h_j e_j + h_k e_k the second difference is h_j^2 H_jj + h_k^2 H_kk
            # + 2 h_j h_k H_jk, up to higher orders.
            for j, k in zip(*np.triu_indices(n_features, 1), strict=True):
                mixed = change(j, k) - single[j] - single[k]
                total[j, k] = total[k, j] = mixed / (2 * steps[j] * steps[k])
            return total

        return Expansion(logits, pull_back, weighted_hessian)

    return LogitModel(expand, floats_per_sample=n_features * (logits.shape[1] + 1))


def _finite(logits):
    """Logits in float64, with a large negative number for minus infinity."""
    return np.where(np.isneginf(logits), np.log(_TINY), logits).astype(np.float64)


def _steps(X, precision):
    """Steps of differences, as powers of two, so that adding them rounds less."""
    size = np.abs(X).max(axis=0)
    spread = X.std(axis=0)
    constant = spread <= 10 * np.finfo(np.float64).eps * size
    spread = np.where(constant, size, spread)
    spread = np.where(spread > 0, spread, 1.0)
    return np.exp2(np.round(np.log2(precision**0.25 * spread)))


def _check_smooth(function, X, steps, precision, name, curvature):
    """Raise ValueError unless differences by one step and by two agree.

    Truncation makes differences of a smooth function by steps h and 2 h differ by the
    order h^2 only. For a function with steps or kinks, they differ by a factor. These
    are differences of log-probabilities, along two random directions in which all
    features change, weighted by the probabilities, as in the Hessian.
    """
    central = _finite(function(X))
    levels = _log_probabilities(central)
    weights = np.exp(levels / 2)
    rounding = 30 * precision * np.linalg.norm(weights * (1 + np.abs(levels)))
    varied = np.ptp(central, axis=0).max() > 1e-3
    signs = np.random.default_rng(0).choice([-1, 1], size=(2, len(steps)))
    for direction in signs * steps / np.sqrt(len(steps)):
        flat, firsts, seconds = True, [], []
        for factor in (1, 2):
            up, down = (
                _finite(function(X + sign * factor * direction)) for sign in (1, -1)
            )
            flat &= (np.abs(up - down) <= 10 * precision * (1 + np.abs(central))).all()
            up, down = _log_probabilities(up), _log_probabilities(down)
            firsts.append(weights * (up - down) / factor)
            seconds.append(weights * ((up - levels) + (down - levels)) / factor**2)
        checked = [firsts] if curvature == "gauss-newton" else [firsts, seconds]
        if (flat and varied) or any(
            np.linalg.norm(one - two) > 0.1 * np.linalg.norm(two) + rounding
            for one, two in checked
        ):
            _raise_not_smooth(name, curvature)


def _log_probabilities(logits):
    if logits.shape[1] == 1:
        logits = np.hstack([np.zeros_like(logits), logits])
    return log_softmax(logits, axis=1)


def _raise_not_smooth(name, curvature):
    remedy = (
        "Use a classifier with smooth probabilities, such as one with a formula, and "
        "method='sigmoid' in a calibration"
    )
    if curvature == "hessian":
        remedy += (
            "; if the logits are piecewise linear, use curvature='gauss-newton', which "
            "needs first derivatives only"
        )
    raise ValueError(
        f"There is no Hessian of {name} by differences: its probabilities are not a "
        "smooth function of X, since differences by steps of different lengths do not "
        "agree, or are zero although the probabilities vary. Trees, nearest neighbours "
        f"and isotonic calibrations are like that. {remedy}."
    )
