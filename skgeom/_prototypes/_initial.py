"""Initial prototypes."""

import warnings

import numpy as np
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning

from skgeom.utils.array_api import astype, like, namespace, on_cpu, to_numpy
from skgeom.utils.linalg import embedded, from_embedded
from skgeom.utils.validation import (
    check_array,
    check_not_dict,
    check_symmetric,
    cholesky,
)
from skgeom.utils.warn import warn_user


def prototype_counts(n_prototypes, classes):
    """Number of prototypes of each class, from the parameter ``n_prototypes``."""
    check_not_dict(n_prototypes, "n_prototypes")
    counts, shape = to_numpy(n_prototypes), (len(classes),)
    if counts.shape not in ((), shape) or counts.dtype.kind not in "iu":
        raise ValueError(
            f"n_prototypes must be an integer or {len(classes)} integers, one for each "
            f"class, got {n_prototypes!r}."
        )
    counts = np.broadcast_to(counts, shape)
    if counts.min() < 1:
        raise ValueError(
            f"n_prototypes is {counts.min()} for class {classes[counts.argmin()]}; "
            "each class needs at least 1."
        )
    return tuple(counts.tolist())


def given_prototypes(init, shape, labels, dtype, n_copies):
    """Initial prototypes from an array ``init``, on the device of ``labels``.

    ``n_copies`` is 2 if the samples are complex. The prototypes are then converted to
    real matrices of twice the size.
    """
    init = on_cpu(init)
    if n_copies == 2 and np.ndim(init) > 1:
        init = embedded(np.asarray(init))
    init = check_array(
        init,
        dtype=np.float64,
        ensure_2d=False,
        allow_nd=True,
        copy=True,
        input_name="init",
    )
    if init.shape != shape:
        shape, found = (
            (s[0], *(n // n_copies for n in s[1:])) for s in (shape, init.shape)
        )
        raise ValueError(
            f"init must have shape {shape}, with the prototypes in the order of "
            f"classes_, got {found}."
        )
    if len(shape) == 3:
        matrices = from_embedded(init) if n_copies == 2 else init
        check_symmetric(matrices, "init")
        cholesky(matrices, "init")
    return astype(like(init, labels), dtype)


def class_prototypes(metric, Z, y, weights, counts, rng):
    """Initial prototypes class by class, encoded by the metric.

    The prototype of a class is the mean of its samples or, for several prototypes, the
    prototypes are the means of clusters. If the distances do not change when all
    samples A X A' replace X, the prototypes W become A W A'.
    """
    prototypes = []
    for label, count in enumerate(counts):
        if count:
            own = y == label
            prototypes += _clusters(metric, Z[own], weights[own], count, rng)
    return namespace(y).stack(prototypes)


def warn_if_equal(prototypes, counts):
    """Warn if the initial prototypes of all classes are equal."""
    xp = namespace(prototypes)
    apart = xp.max(xp.abs(prototypes - prototypes[:1, ...]))
    several = np.count_nonzero(counts) > 1
    if several and apart <= 1e-13 * xp.max(xp.abs(prototypes)):
        warn_user(
            "The initial prototypes of all classes are equal: the samples of the "
            "classes are equal, or have equal means. Check X and y, or set init.",
            UserWarning,
        )


def _clusters(metric, Z, weights, count, rng):
    """Means of the clusters that k-means finds in the tangent space at the mean.

    scikit-learn's k-means accepts NumPy arrays, so the vectors are copied to CPU
    memory.
    """
    mean = metric.mean(Z, weights)
    if count == 1:
        return [mean]
    vectors = metric.tangent_vectors(Z, mean)
    with warnings.catch_warnings():  # "fewer distinct samples than clusters"
        warnings.simplefilter("ignore", ConvergenceWarning)
        n_clusters = min(count, Z.shape[0])  # a fold may have fewer samples
        found = KMeans(n_clusters, n_init=4, random_state=rng).fit(
            on_cpu(vectors), sample_weight=to_numpy(weights)
        )
    means = []
    for cluster in range(count):
        own = found.labels_ == cluster
        if not own.any():  # a random sample
            own[rng.choice(len(own))] = True
        own = like(own, weights)
        means.append(metric.mean(Z[own], weights[own]))
    return means


# Share of the amplitude in the variance. With a larger share, the accuracy with the
# metric "riemann" decreases by more than two points (simulated matrices). The share is
# at most 0.32 on BCI IV 2a, SSVEP, ERP and ETH-80.
_AMPLITUDE_SHARE = 0.9


def warn_if_amplitudes_vary(samples, model):
    r"""Warn if samples of a class differ mainly by a factor in the metric "riemann".

    The squared distance of a matrix X of size n from its multiple c X is
    :math:`n \log^2 c`, and log det(c X) is log det X + n log c.
    """
    X, y, weights = map(to_numpy, (samples.X, samples.y, samples.weights))
    # The variance is that of reduced matrices with ``n_components``, and that around
    # several prototypes otherwise.
    if X.shape != samples.Z.shape or max(model.counts) > 1 or len(X[0]) == 1:
        return
    log_dets = np.linalg.slogdet(X)[1]
    log_dets -= (np.bincount(y, weights * log_dets) / np.bincount(y, weights))[y]
    squared_distance = 2 * model.variance
    share = np.average(log_dets**2, weights=weights) / len(X[0]) / squared_distance
    if share > _AMPLITUDE_SHARE:
        warn_user(
            f"{100 * share:.0f} % of the within-class variance is due to the amplitude "
            "(a factor) of the matrices, which hides other differences in the metric "
            "'riemann'. If the amplitude contains no information about the class, "
            "divide each matrix by its trace.",
            UserWarning,
        )
