"""Statistics of classes in the plane of two features."""

import numpy as np


def checked_dims(dims, n_features):
    if n_features == 1:
        raise ValueError("A plane needs two features, but there is one only.")
    indices = np.asarray(dims)
    if indices.shape == (2,) and indices.dtype.kind in "iu":
        inside = (-n_features <= indices) & (indices < n_features)
        first, second = (indices % n_features).tolist()
        if inside.all() and first != second:
            return [first, second]
    raise ValueError(
        f"dims must be two different indices of the {n_features} features, got "
        f"{dims!r}."
    )


def moments_in_plane(statistics, dims):
    """Means and covariances of two features; second moments as centred classes."""
    block = np.ix_(range(len(statistics.classes)), dims, dims)
    if statistics.means is None:
        moments = statistics.second_moments[block]
        return np.zeros(moments.shape[:2]), moments
    return statistics.means[:, dims], statistics.covariances[block]


def axes_of_ellipses(covariances):
    """Half axes, the larger one first, and the angles of these, in degrees."""
    eigenvalues, vectors = np.linalg.eigh(covariances)
    # Covariances of rank 1 may have eigenvalues of -1e-17.
    half_axes = np.sqrt(np.maximum(eigenvalues[:, ::-1], 0))
    return half_axes, np.degrees(np.arctan2(vectors[:, 1, 1], vectors[:, 0, 1]))


def scale_of_arrows(statistics, dims, components):
    """What makes the longest filter as long as the largest ellipse from its centre."""
    _, covariances = moments_in_plane(statistics, dims)
    half_axis = axes_of_ellipses(covariances)[0].max()
    longest = np.linalg.norm(components, axis=1).max()
    return half_axis / longest if half_axis > 0 and longest > 0 else 1.0
