"""Moments of classes: their estimates from samples, and the check of given ones."""

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_array, column_or_1d

from skgeom.utils._validation import check_semidefinite, check_symmetric

# Rows that are copied, as float64, at a time. Large enough for BLAS, small beside X.
_ROWS_PER_BLOCK = 2048

# Sums of squares below this leave room for sums over classes and pairs.
_LARGEST = 1e290

# The estimators of pyriemann.geometry.covariance that estimate a covariance.
# The M-estimators "hub", "stu" and "tyl" are not among them: they give the shape of a
# covariance, but not its size, which has to fit that of the means.
_ESTIMATOR_NAMES = ("cov", "lwf", "mcd", "oas", "sch", "scm")


def sample_moments(X, rows, label):
    """Mean and unbiased covariance of the rows of X of a class, block by block.

    Each block is centred by its own mean and its scatter is merged into that of the
    blocks before it (Chan, Golub and LeVeque, 1983), so a large common offset costs no
    digits. numpy evaluates ``block.T @ block`` by a symmetric rank-k update.
    """
    n_features = X.shape[1]
    count, mean, scatter = 0, np.zeros(n_features), np.zeros((n_features, n_features))
    with np.errstate(over="ignore", invalid="ignore"):
        for start in range(0, len(rows), _ROWS_PER_BLOCK):
            block = X[rows[start : start + _ROWS_PER_BLOCK]]
            block = block.astype(np.float64, copy=False)
            block_mean = block.mean(axis=0)
            block -= block_mean
            scatter += block.T @ block
            offset = block_mean - mean
            total = count + len(block)
            scatter += np.outer(offset * (count * len(block) / total), offset)
            mean += offset * (len(block) / total)
            count = total
        # Sums over all features and classes must not overflow either.
        trace = np.trace(scatter) + np.square(mean).sum()
    if not trace < _LARGEST:
        raise ValueError(
            f"The squares of the numbers of class {label}, which are up to "
            f"{np.abs(X[rows]).max():.3g}, are too large for floating-point numbers. "
            "Divide X by a common factor, or use StandardScaler."
        )
    return mean, scatter / max(count - 1, 1)


def estimated_covariance(estimator, samples, label):
    """Covariance of the samples of one class by a named estimator or an object."""
    if isinstance(estimator, str) and estimator not in _ESTIMATOR_NAMES:
        raise ValueError(
            f"covariance_estimator must be None, one of {_ESTIMATOR_NAMES}, or an "
            f"object with fit and covariance_, got {estimator!r}."
        )
    fit = _fit_by_name if isinstance(estimator, str) else _fit_object
    failure = (
        f"covariance_estimator={estimator!r} fails for class {label}, which has "
        f"{len(samples)} sample{'s' * (len(samples) != 1)}"
    )
    try:
        covariance = check_array(fit(estimator, samples), dtype=np.float64)
        if covariance.shape != 2 * samples.shape[1:]:
            raise ValueError(f"the covariance has shape {covariance.shape}.")
        check_symmetric(covariance, "the covariance")
        check_semidefinite(covariance[None], "the covariance")
    except (ValueError, ArithmeticError) as error:
        raise ValueError(f"{failure}: {error}") from error
    return (covariance + covariance.T) / 2


def _fit_by_name(name, samples):
    # pyriemann imports matplotlib, which takes as long as all of scikit-learn.
    from pyriemann.geometry.covariance import covariances

    # Unseeded, "mcd" would draw its starts from the global random state.
    options = {"random_state": 0} if name == "mcd" else {}
    return covariances(samples.T, estimator=name, **options)


def _fit_object(estimator, samples):
    fitted = clone(estimator).fit(samples)
    if not hasattr(fitted, "covariance_"):
        raise ValueError("it has no attribute covariance_ after fit.")
    return fitted.covariance_


def checked_matrices(matrices, name, shape_of_means=None):
    """A float64 copy of semidefinite matrices, exactly symmetric."""
    matrices = check_array(matrices, dtype=np.float64, allow_nd=True, input_name=name)
    if shape_of_means is not None:
        n_classes, n_features = shape_of_means
        expected = (n_classes, n_features, n_features)
        if matrices.shape != expected:
            raise ValueError(
                f"{name} must have shape {expected} to go with means of shape "
                f"{shape_of_means}, got {matrices.shape}."
            )
    elif matrices.ndim != 3:
        raise ValueError(
            f"{name} must have shape (n_classes, n_features, n_features), got "
            f"{matrices.shape}."
        )
    check_symmetric(matrices, name)
    check_semidefinite(matrices, name)
    return (matrices + matrices.mT) / 2


def checked_labels(classes, counts, n_classes):
    """Labels in sorted order, their counts, and the order."""
    classes = column_or_1d(np.asarray(classes))
    counts = column_or_1d(np.asarray(counts))
    whole = counts.dtype.kind in "iuf" and np.all(
        (counts == np.round(counts)) & (counts < 2**53)
    )
    if len(counts) != n_classes or not whole or np.any(counts < 1):
        raise ValueError(
            f"counts must hold the number of samples, a whole number of at least 1, of "
            f"each of the {n_classes} classes, got {counts}."
        )
    labels, order = np.unique(classes, return_index=True)
    if len(classes) != n_classes or len(labels) != n_classes:
        raise ValueError(
            f"classes must hold {n_classes} distinct labels, one for each of the "
            f"classes, got {classes}."
        )
    return labels, counts[order].astype(np.int64), order
