"""Dispersion of projected SPD matrices."""

import numpy as np


class ProjectedDispersion:
    r"""Mean squared distance of projected matrices from the identity.

    For filters G of shape (n, m) with orthonormal columns it is

    .. math::

       \frac1N \sum_i d_{AI}^2(G^\top Y_i G,\; I)
       = \frac1N \sum_i \|\log(G^\top Y_i G)\|_F^2

    With :math:`Y_i = M^{-1/2} X_i M^{-1/2}` that is the squared distance of
    :math:`W^\top X_i W` from :math:`W^\top M W`, for :math:`W = M^{-1/2} G`.

    Parameters
    ----------
    matrices : ndarray of shape (N, n, n)
        The SPD matrices :math:`Y_i`; not copied if C-contiguous.
    """

    def __init__(self, matrices):
        self.matrices = np.ascontiguousarray(matrices)

    def __call__(self, filters):
        r"""Value and gradient, (n, m).

        With :math:`S_i = G^\top Y_i G`, the gradient is the mean of
        :math:`4\, Y_i G\, S_i^{-1} \log S_i`.
        """
        n_matrices, n_features, _ = self.matrices.shape
        n_filters = filters.shape[1]
        # One product with all matrices, which are symmetric.
        half = filters.T @ self.matrices.reshape(-1, n_features).T
        by_matrix = half.reshape(n_filters, n_matrices, n_features).swapaxes(0, 1)
        eigenvalues, vectors = np.linalg.eigh(by_matrix @ filters)
        if not (eigenvalues > 0).all():
            raise np.linalg.LinAlgError("A projected matrix is singular.")
        logarithms = np.log(eigenvalues)
        slopes = (vectors * (logarithms / eigenvalues)[:, None, :]) @ vectors.mT
        slopes = slopes.transpose(1, 2, 0).reshape(n_filters, -1)
        gradient = (slopes @ half.reshape(-1, n_features)).T
        return np.square(logarithms).sum() / n_matrices, 4 / n_matrices * gradient
