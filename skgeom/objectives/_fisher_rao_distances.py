"""Fisher-Rao distances, by the eigenvalues of quotients of matrices."""

import numpy as np

from skgeom.objectives._base_distance import Distance, MatrixDistance, stacked


class AffineInvariantDistance(MatrixDistance):
    r"""Affine-invariant distance of matrices; means are not used.

    With :math:`A_j V = A_i V \Lambda` and :math:`V^\top A_i V = I`,

    .. math::

       d^2 = \sum_k \log^2 \lambda_k, \quad
       \frac{\partial d^2}{\partial A_i} = -2 V \log(\Lambda) V^\top, \quad
       \frac{\partial d^2}{\partial A_j} = 2 V \log(\Lambda) \Lambda^{-1} V^\top

    so one symmetric eigendecomposition a pair gives value and gradient. It is that of
    :math:`Q Q^\top` with the quotient :math:`Q = L_i^{-1} L_j` of Cholesky factors.
    """

    label = "affine-invariant"
    returns_square = True
    decomposes_pairs = True

    def __init__(self, means, covariances):
        super().__init__(means, covariances)
        self._factors = np.linalg.cholesky(covariances)
        self._inverse_factors = np.linalg.inv(self._factors)

    def pairs(self, i, j):
        inverse_factors = self._inverse_factors[i]
        eigenvalues, vectors = _spectrum(inverse_factors @ self._factors[j])
        logs = np.log(eigenvalues)

        def gradient(weights):
            scaled = 2 * weights[:, None] * logs
            v = inverse_factors.mT @ vectors
            of_i = (v * -scaled[:, None]) @ v.mT
            of_j = (v * (scaled / eigenvalues)[:, None]) @ v.mT
            return self.by_class(i, j, of_i, of_j)

        return (logs**2).sum(axis=1), gradient


class CalvoOllerDistance(Distance):
    r"""Calvo-Oller bound of the Fisher-Rao distance.

    :math:`d^2 = \tfrac12 d_{AI}^2(\Omega_i, \Omega_j)` with the embedding
    :math:`\Omega` of equation 5 of Herrera-Esposito and Burge (2025), which has the
    factor :math:`K = [[L, \mu], [0, 1]]`. The quotient
    :math:`K_i^{-1} K_j = [[L_i^{-1} L_j, L_i^{-1} (\mu_j - \mu_i)], [0, 1]]` holds the
    difference of the means only, so that classes far apart cost no digits. In these
    coordinates class i is the standard Gaussian, and the derivatives are those of
    :class:`AffineInvariantDistance` with :math:`V` orthogonal.
    """

    label = "Fisher-Rao"
    returns_square = True
    decomposes_pairs = True

    # d^2 = spread * sum(log^2) - dilation * sum(log)^2, for the sake of StudentT.
    spread, dilation = 0.5, 0.0

    def __init__(self, means, covariances):
        super().__init__(means, covariances)
        self._factors = np.linalg.cholesky(covariances)
        self._inverse_factors = np.linalg.inv(self._factors)

    def pairs(self, i, j):
        inverse_factors = self._inverse_factors[i]
        offsets = self.means[j] - self.means[i]
        order = offsets.shape[1] + 1
        quotients = np.zeros((len(i), order, order))
        quotients[:, :-1, :-1] = inverse_factors @ self._factors[j]
        quotients[:, :-1, -1:] = inverse_factors @ offsets[:, :, None]
        quotients[:, -1, -1] = 1
        eigenvalues, vectors = _spectrum(quotients)
        logs = np.log(eigenvalues)
        sums = logs.sum(axis=1)

        def gradient(weights):
            slopes = 2 * self.spread * logs - 2 * self.dilation * sums[:, None]
            scaled = weights[:, None] * slopes
            v = inverse_factors.mT @ vectors[:, :-1]
            of_i = (v * -scaled[:, None]) @ v.mT
            of_j = (v * (scaled / eigenvalues)[:, None]) @ v.mT
            # The means enter by their difference; the mean of class i is at the origin,
            # where its derivative is twice the last column of that of the embedding.
            of_mean = -2 * (v @ (scaled * vectors[:, -1])[:, :, None])[:, :, 0]
            of_i, of_j = stacked(of_i, of_mean), stacked(of_j, -of_mean)
            return self.by_class(i, j, of_i, of_j)

        squares = self.spread * (logs**2).sum(axis=1) - self.dilation * sums**2
        return squares, gradient


def _spectrum(quotients):
    """Eigenvalues and eigenvectors of Q Q' for a stack of square matrices Q.

    Singular values keep twice as many digits and cost twice as much, so they are taken
    where the eigenvalues of the product would not be good to about 1e-7.
    """
    eigenvalues, vectors = np.linalg.eigh(quotients @ quotients.mT)
    lost = ~(eigenvalues[:, 0] > 1e-9 * eigenvalues[:, -1])
    if lost.any():
        vectors[lost], singular_values, _ = np.linalg.svd(quotients[lost])
        eigenvalues[lost] = singular_values**2
        if not (eigenvalues > 0).all():
            raise np.linalg.LinAlgError("A projected class is singular.")
    return eigenvalues, vectors
