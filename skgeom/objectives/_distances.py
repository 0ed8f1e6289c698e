"""Distances between projected classes, with their gradients.

This is the place where a distance is added. A distance is a class:

``Distance(means, covariances)``
    takes the projected statistics of all classes, (c, m) and (c, m, m), and does once
    per class whatever can be done once per class;
``distance.pairs(i, j)``
    takes two integer arrays of p class indices and returns p values and a function
    that maps p weights to the gradient of the weighted sum of the values, an array
    whose first axis is the class;
``distance.pull_back(gradient)``
    turns such an array into the gradients with respect to means and covariances,
    (c, m) and (c, m, m), the latter symmetric;
``Distance.returns_square``
    says that ``pairs`` returns the square of the distance. Where the distance is a
    root, only its square has a gradient at zero;
``Distance.affine_invariant``
    says that an invertible linear map of the features changes nothing;
``Distance.translation_invariant``
    says that a common offset of all means changes nothing;
``Distance.parallel``
    says that several threads may call ``pairs``;
``Distance.decomposes_pairs``
    says that ``pairs`` takes an eigendecomposition for each pair, so that where classes
    are many most of the work is there.

A distance with parameters is an object that is called in the place of the class. Both
inherit from ``Distance``, which has what most distances have in common.
It raises ``numpy.linalg.LinAlgError`` where a covariance is not positive definite. With
its name in ``DISTANCES`` or ``SECOND_MOMENT_DISTANCES``, in ``__init__.py``, it can be
used, and the tests of the registries find it.
"""

import numpy as np
from scipy.sparse import csc_array


def sum_by_class(i, j, of_i, of_j, n_classes):
    """Sum of arrays of pairs, (p, ...), that belong to each class: (n_classes, ...)."""
    arrays = np.concatenate([of_i, of_j])
    labels = np.concatenate([i, j])
    n_arrays = len(arrays)
    one_a_column = np.ones(n_arrays), labels, np.arange(n_arrays + 1)
    indicator = csc_array(one_a_column, shape=(n_classes, n_arrays))
    sums = indicator @ arrays.reshape(n_arrays, -1)
    return sums.reshape(n_classes, *arrays.shape[1:])


class Distance:
    """What is true of most distances."""

    returns_square = False
    affine_invariant = True
    translation_invariant = True
    parallel = True
    decomposes_pairs = False


class StackedGradient(Distance):
    """For distances of means and covariances: how the gradients of a pair are kept.

    The gradient of the covariance, (m, m), and that of the mean as a last column.
    """

    def __init__(self, means, covariances):
        self.means = means
        self.covariances = covariances

    def by_class(self, i, j, of_i, of_j):
        """Sum over the pairs of each class; ``of_i`` is (of_covariance, of_mean)."""
        stacked = [
            np.concatenate([of_covariance, of_mean[..., None]], axis=-1)
            for of_covariance, of_mean in (of_i, of_j)
        ]
        return sum_by_class(i, j, *stacked, len(self.means))

    @staticmethod
    def pull_back(gradient):
        """Split the stack."""
        return gradient[..., -1], gradient[..., :-1]


def inverse_factors_of(matrices):
    """Inverses of the lower Cholesky factors."""
    return np.linalg.inv(np.linalg.cholesky(matrices))


def _spectrum(quotients):
    """Eigenvalues and eigenvectors of Q Q' for a stack of square matrices Q.

    Singular values keep twice as many digits and cost twice as much, so they are taken
    where the eigenvalues of the product would not be good to about 1e-7.
    """
    eigenvalues, vectors = np.linalg.eigh(quotients @ quotients.mT)
    if not (eigenvalues[:, 0] > 1e-9 * eigenvalues[:, -1]).all():
        vectors, singular_values, _ = np.linalg.svd(quotients)
        eigenvalues = singular_values**2
        if not (eigenvalues > 0).all():
            raise np.linalg.LinAlgError("A projected class is singular.")
    return eigenvalues, vectors


class AffineInvariantDistance(Distance):
    r"""Affine-invariant distance of matrices; means are not used.

    With :math:`A_j V = A_i V \Lambda` and :math:`V^\top A_i V = I`,

    .. math::

       d^2 = \sum_k \log^2 \lambda_k, \quad
       \frac{\partial d^2}{\partial A_i} = -2 V \log(\Lambda) V^\top, \quad
       \frac{\partial d^2}{\partial A_j} = 2 V \log(\Lambda) \Lambda^{-1} V^\top

    so one symmetric eigendecomposition a pair gives value and gradient. It is that of
    :math:`Q Q^\top` with the quotient :math:`Q = L_i^{-1} L_j` of Cholesky factors.
    """

    returns_square = True
    decomposes_pairs = True

    def __init__(self, means, covariances):
        self._means = means
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
            return sum_by_class(i, j, of_i, of_j, len(self._means))

        return (logs**2).sum(axis=1), gradient

    def pull_back(self, gradient):
        return np.zeros_like(self._means), gradient


class CalvoOllerDistance(StackedGradient):
    r"""Calvo-Oller bound of the Fisher-Rao distance.

    :math:`d^2 = \tfrac12 d_{AI}^2(\Omega_i, \Omega_j)` with the embedding
    :math:`\Omega` of equation 5 of Herrera-Esposito and Burge (2025), which has the
    factor :math:`K = [[L, \mu], [0, 1]]`. The quotient
    :math:`K_i^{-1} K_j = [[L_i^{-1} L_j, L_i^{-1} (\mu_j - \mu_i)], [0, 1]]` holds the
    difference of the means only, so that classes far apart cost no digits. In these
    coordinates class i is the standard Gaussian, and the derivatives are those of
    :class:`AffineInvariantDistance` with :math:`V` orthogonal.
    """

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
            return self.by_class(i, j, (of_i, of_mean), (of_j, -of_mean))

        squares = self.spread * (logs**2).sum(axis=1) - self.dilation * sums**2
        return squares, gradient


class EuclideanDistance(Distance):
    """Frobenius distance of the matrices; means are not used."""

    returns_square = True
    affine_invariant = False

    def __init__(self, means, covariances):
        self._means = means
        self._matrices = covariances

    def pairs(self, i, j):
        offsets = self._matrices[i] - self._matrices[j]

        def gradient(weights):
            of_i = 2 * weights[:, None, None] * offsets
            return sum_by_class(i, j, of_i, -of_i, len(self._means))

        return (offsets**2).sum(axis=(1, 2)), gradient

    def pull_back(self, gradient):
        return np.zeros_like(self._means), gradient


class LogEuclideanDistance(EuclideanDistance):
    r"""Frobenius distance of the matrix logarithms; means are not used.

    The derivative of the logarithm at :math:`V \Lambda V^\top` multiplies, in the basis
    V, by the divided differences of the logarithm at the eigenvalues (Daleckii and
    Krein): one eigendecomposition a class serves all pairs.
    """

    def __init__(self, means, covariances):
        eigenvalues, self._vectors = np.linalg.eigh(covariances)
        if not (eigenvalues > 0).all():
            raise np.linalg.LinAlgError("A projected class is singular.")
        logs = np.log(eigenvalues)
        self._differences = _divided_differences(eigenvalues, logs)
        super().__init__(means, (self._vectors * logs[:, None]) @ self._vectors.mT)

    def pull_back(self, gradient):
        inside = self._vectors.mT @ gradient @ self._vectors * self._differences
        return super().pull_back(self._vectors @ inside @ self._vectors.mT)


def _divided_differences(eigenvalues, logs):
    """(log a - log b) / (a - b) for all pairs of eigenvalues, 1 / a if they agree."""
    a, b = eigenvalues[:, :, None], eigenvalues[:, None, :]
    ratio = (a - b) / b
    close = np.abs(ratio) < 1e-5
    safe = np.where(close, 1.0, a - b)
    far = (logs[:, :, None] - logs[:, None, :]) / safe
    near = (1 - ratio / 2 + ratio**2 / 3) / b
    return np.where(close, near, far)
