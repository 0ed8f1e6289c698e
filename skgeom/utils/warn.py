"""Warnings, at the line of the user's program that called skgeom."""

import sys
import warnings
from pathlib import Path

import numpy as np
from scipy.sparse import issparse
from sklearn.utils import gen_batches
from sklearn.utils.extmath import row_norms

from skgeom.utils.array_api import like, namespace, to_numpy
from skgeom.utils.memory import ROWS_PER_BLOCK

_OURS = ("skgeom", "sklearn", "joblib")
# Largest share of a single sample, or of few features, in the variance without a
# warning: one feature of wine has 99.8 % (page "Constants").
LARGEST_SHARE = 0.99


def warn_user(message, category):
    """Warn with the location of the first frame that is the user's."""
    level, frame = 1, sys._getframe()
    while frame.f_back and frame.f_globals.get("__name__", "").split(".")[0] in _OURS:
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)


def warn_if_unscaled(variances, consequence, estimator):
    """Warn, with a consequence, if few features have nearly the whole variance.

    Few features are one feature, or at most a tenth of the features that vary by more
    than rounding errors.
    """
    rounding = np.finfo(float).eps * variances.max()
    n_few = max(np.count_nonzero(variances > rounding) // 10, 1)
    largest = np.argsort(-variances, kind="stable")[:n_few]
    with np.errstate(invalid="ignore"):  # infinite variances, or zeros only
        shares = np.cumsum(variances[largest]) / variances.sum()
    if np.count_nonzero(variances) > 1 and shares[-1] > LARGEST_SHARE:
        n_leading = int(np.argmax(shares > LARGEST_SHARE)) + 1
        names = getattr(estimator, "feature_names_in_", range(len(variances)))
        listed = ", ".join(repr(names[k]) for k in largest[: min(n_leading, 5)])
        if n_leading > 5:
            listed += ", ..."
        if isinstance(names, range):
            listed += " (counted from 0)"
        warn_user(
            f"{100 * shares[n_leading - 1]:.1f} % of the variance of all features is "
            f"in {n_leading} of {len(variances)} features: {listed}. {consequence} If "
            "the features have different units, divide them by their standard "
            "deviations, as StandardScaler does.",
            UserWarning,
        )


# A file that scikit-geometry contains, and no version of this package.
_ITS_FILE = "draw.py"


def warn_of_scikit_geometry(folder):
    """Warn if scikit-geometry is installed into this package's folder as well."""
    if Path(folder, _ITS_FILE).exists():
        warn_user(
            "The package scikit-geometry is installed in the same folder, "
            f"{folder}: it is imported as skgeom, too, and the package that was "
            "installed last has replaced files of the other. Uninstall both, and "
            "install them in separate environments.",
            RuntimeWarning,
        )


def warn_if_outlier(X, sample_weight=None, rows=None):
    """Warn if one of at least 20 samples causes nearly the whole variance.

    ``rows`` are the positions of the samples in the data of the user, if they differ.
    """
    weights = 1.0 if sample_weight is None else sample_weight
    weights = np.broadcast_to(weights, X.shape[0]).astype(np.float64)
    # Among fewer samples, the only sample of a class is often far from the others.
    if np.count_nonzero(weights) < 20:
        return
    weights /= weights.sum()
    xp, of_library = namespace(X), like(weights, X, dtype=X.dtype)
    with np.errstate(all="ignore"):
        mean = of_library @ X
        if issparse(X):
            squares = row_norms(X, squared=True) - 2 * (X @ mean) + mean @ mean
        else:
            batches = gen_batches(X.shape[0], ROWS_PER_BLOCK)
            squares = np.empty(X.shape[0])
            for b in batches:
                squares[b] = to_numpy(xp.sum((X[b, :] - mean) ** 2, axis=1))
        parts = weights * squares.clip(0)
        # The relative decreases of the variance without a sample.
        shares = parts / (1 - weights) / parts.sum()
    number = shares.argmax()
    if shares[number] > LARGEST_SHARE:
        place = number if rows is None else rows[number]
        warn_user(
            f"Sample {place} (counted from 0) is so far from the other samples that "
            "the variance of the features would decrease by "
            f"{100 * min(shares[number], 1):.2f} % without it. It determines scales "
            "and covariances. Remove the sample if it is an error, or transform the "
            "features, for example with QuantileTransformer.",
            UserWarning,
        )
