"""Where the prototypes of learning vector quantisation start."""

import warnings
from numbers import Integral

import numpy as np
from scipy.sparse import issparse
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_array

from skgeom.geometry._affine_invariant import (
    affine_invariant_mean,
    from_spectrum,
    inverse_factors,
)
from skgeom.utils.array_api import astype, like, namespace, on_host, to_numpy
from skgeom.utils.validation import check_symmetric, cholesky, refuse_dict, warn_user

# Prototypes that start at one class mean are moved this far towards a random sample.
_PERTURBATION = 0.1


def prototype_counts(n_prototypes, classes):
    """Number of prototypes of each class, by the parameter of that name."""
    n_classes = len(classes)
    if isinstance(n_prototypes, Integral):
        return np.full(n_classes, n_prototypes)
    refuse_dict(n_prototypes, "n_prototypes")
    counts = check_array(
        n_prototypes, ensure_2d=False, dtype=None, input_name="n_prototypes"
    )
    if counts.shape != (n_classes,) or counts.dtype.kind not in "iu":
        raise ValueError(
            f"n_prototypes must be an integer or {n_classes} integers, one for each "
            f"class, got {n_prototypes!r}."
        )
    if counts.min() < 1:
        raise ValueError(
            f"n_prototypes is {counts.min()} for class {classes[counts.argmin()]}; "
            "each class needs at least 1."
        )
    return counts


def find_start(space, Z, y, weights, counts, init, random_state, classes):
    """Where prototypes start, by the parameter ``init``, as the space encodes them.

    Parameters
    ----------
    space : Space
        Where they live.
    Z, y, weights : ndarray
        Encoded samples, the indices of their classes, and their weights.
    counts : ndarray of shape (n_classes,)
        Number of prototypes of each class.
    init : {"auto", "mean", "kmeans"} or array-like
        The parameter.
    random_state : RandomState
        For starts with several prototypes.
    classes : ndarray of shape (n_classes,)
        Class labels, for messages.

    Returns
    -------
    ndarray of shape (n_prototypes_in_all, ...)
        The prototypes, class by class.
    """
    if not isinstance(init, str):
        shape = space.decode(Z[:1, ...]).shape[1:]
        given = given_prototypes(init, (int(counts.sum()), *shape))
        return space.encode(astype(like(given, Z), Z.dtype))
    check_counts(counts, to_numpy(y), classes)
    if init == "auto":
        init = "kmeans" if counts.max() > 1 else "mean"
    return start_prototypes(space, Z, y, weights, counts, init, random_state)


def given_prototypes(init, shape):
    """A copy of the parameter ``init``, an array, as prototypes of a shape."""
    init = check_array(
        init if namespace(init) is np else to_numpy(init),
        dtype=np.float64,
        ensure_2d=False,
        allow_nd=True,
        copy=True,
        input_name="init",
    )
    if init.shape != shape:
        raise ValueError(
            f"init must have shape {shape}, one prototype after the other in the order "
            f"of classes_, got {init.shape}."
        )
    if len(shape) == 3:
        check_symmetric(init, "init")
        cholesky(init, "init")
    return init


def check_counts(counts, y, classes):
    """Raise ValueError if a class has fewer samples than prototypes."""
    present = np.bincount(y, minlength=len(counts))
    short = present < counts
    if short.any():
        raise ValueError(
            f"Class {classes[short][0]} has {present[short][0]} samples, fewer than "
            f"its {counts[short][0]} prototypes. Lower n_prototypes, or give init."
        )


def start_prototypes(space, Z, y, weights, counts, init, random_state):
    """Prototypes of all classes, class by class, as the space encodes them.

    Everything follows the samples through an affine map, if the metric does: means, the
    clusters of logarithms at a mean, and moves towards samples.
    """
    prototypes = []
    for label, count in enumerate(counts):
        own = y == label
        find = _clusters if init == "kmeans" and count > 1 else _around_mean
        prototypes += find(space, Z[own], weights[own], count, random_state)
    xp = namespace(Z)
    prototypes = xp.stack(prototypes)
    apart = xp.max(xp.abs(prototypes - prototypes[:1, ...]))
    if apart <= 1e-13 * xp.max(xp.abs(prototypes)):
        warn_user(
            "The prototypes of all classes start at the same point, so that nothing "
            "tells them apart: the samples of the classes are the same, or have the "
            "same mean. Check X and y, or give init.",
            UserWarning,
        )
    return prototypes


def _around_mean(space, Z, weights, count, random_state):
    mean = space.mean(Z, weights)
    if count == 1:
        return [mean]
    chosen = random_state.choice(Z.shape[0], count, replace=False).tolist()
    return [space.geodesic(mean, _sample(Z, i), _PERTURBATION) for i in chosen]


def _sample(Z, i):
    """A sample, dense."""
    return Z[[i]].toarray()[0] if issparse(Z) else Z[i, ...]


def _clusters(space, Z, weights, count, random_state):
    """Means of the clusters that k-means finds in the tangent space at the mean.

    scikit-learn's k-means takes arrays of numpy: the vectors are copied to the host.
    """
    vectors = space.tangent_vectors(Z, space.mean(Z, weights))
    with warnings.catch_warnings():  # of fewer distinct samples than clusters
        warnings.simplefilter("ignore", ConvergenceWarning)
        found = KMeans(count, n_init=4, random_state=random_state).fit(
            on_host(vectors), sample_weight=to_numpy(weights)
        )
    means = []
    for cluster in range(count):
        own = found.labels_ == cluster
        if own.any():
            own = like(own, Z)
            means.append(space.mean(Z[own], weights[own]))
        else:
            means.append(_sample(Z, random_state.choice(Z.shape[0])))
    return means


def start_subspace(X, y, weights, n_components):
    """Orthonormal basis (n, n_components) in which the class means differ most.

    The directions are those in which the logarithms of the class means, at their common
    mean, are largest. The subspace follows the matrices through an affine map.
    """
    xp, labels = namespace(X), range(int(namespace(y).max(y)) + 1)
    means = xp.stack(
        [affine_invariant_mean(X[y == c], weights[y == c]) for c in labels]
    )
    inverse = inverse_factors(affine_invariant_mean(means, None))
    eigenvalues, vectors = xp.linalg.eigh(inverse @ means @ inverse.T)
    squared_logs = from_spectrum(vectors, xp.log(eigenvalues) ** 2)
    _, directions = xp.linalg.eigh(xp.sum(squared_logs, axis=0))
    filters = inverse.T @ xp.flip(directions, axis=1)[:, :n_components]
    return xp.linalg.qr(filters)[0]
