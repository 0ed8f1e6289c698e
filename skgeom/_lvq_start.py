"""Where the prototypes of learning vector quantisation start."""

import warnings

import numpy as np
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning

# Prototypes that start at one class mean are moved this far towards a random sample.
_PERTURBATION = 0.1


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
    return np.stack(prototypes)


def _around_mean(space, Z, weights, count, random_state):
    mean = space.mean(Z, weights)
    if count == 1:
        return [mean]
    chosen = random_state.choice(len(Z), count, replace=False)
    return [space.toward(mean, Z[i], _PERTURBATION) for i in chosen]


def _clusters(space, Z, weights, count, random_state):
    """Means of the clusters that k-means finds in the tangent space at the mean."""
    vectors = space.tangent_vectors(Z, space.mean(Z, weights))
    with warnings.catch_warnings():  # of fewer distinct samples than clusters
        warnings.simplefilter("ignore", ConvergenceWarning)
        found = KMeans(count, n_init=4, random_state=random_state).fit(
            vectors, sample_weight=weights
        )
    means = []
    for cluster in range(count):
        own = found.labels_ == cluster
        if own.any():
            means.append(space.mean(Z[own], weights[own]))
        else:
            means.append(Z[random_state.choice(len(Z))])
    return means


def start_subspace(X, y, n_classes, n_components):
    """Orthonormal basis (n, n_components) in which the class means differ most.

    The directions are those in which the logarithms of the class means, at their common
    mean, are largest. The subspace follows the matrices through an affine map.
    """
    from pyriemann.geometry.mean import mean_riemann

    means = np.stack([mean_riemann(X[y == label]) for label in range(n_classes)])
    factor = np.linalg.cholesky(mean_riemann(means))
    inverse = np.linalg.inv(factor)
    eigenvalues, vectors = np.linalg.eigh(inverse @ means @ inverse.T)
    squared_logs = (vectors * np.log(eigenvalues)[:, None] ** 2) @ vectors.mT
    _, directions = np.linalg.eigh(squared_logs.sum(axis=0))
    filters = inverse.T @ directions[:, ::-1][:, :n_components]
    return np.linalg.qr(filters)[0]
