"""Distances between projected classes, with their gradients.

This is the place where a distance is added. A distance is a class:

``Distance(means, covariances)``
    takes the projected statistics of all classes, (c, m) and (c, m, m), and does once
    per class whatever can be done once per class;
``distance.pairs(i, j)``
    takes two integer arrays of p class indices and returns p values and a function
    that maps p weights to the gradient of the weighted sum of the values, in the
    coordinates of the distance's own choice: an array whose first axis is the class;
``distance.pull_back(gradient)``
    turns such an array into the gradients with respect to means and covariances,
    (c, m) and (c, m, m), the latter symmetric;
``Distance.returns_square``
    says that ``pairs`` returns the square of the distance. Where the distance is a
    root, only its square has a gradient at zero.

Then it gets its name in ``DISTANCES``, and the tests of the registry find it there.
"""

import numpy as np


class CalvoOllerDistance:
    r"""Calvo-Oller bound of the Fisher-Rao distance, as the Gaussians' parameters move.

    With the embeddings :math:`\Omega_i` (equation 5 of Herrera-Esposito and Burge,
    2025), :math:`\Omega_j V = \Omega_i V \Lambda` and :math:`V^\top \Omega_i V = I`,

    .. math::

       d^2 = \tfrac12 \sum_k \log^2 \lambda_k, \quad
       \frac{\partial d^2}{\partial \Omega_i} = -V \log(\Lambda) V^\top, \quad
       \frac{\partial d^2}{\partial \Omega_j} = V \log(\Lambda) \Lambda^{-1} V^\top

    so one symmetric eigendecomposition a pair gives value and gradient.
    """

    returns_square = True

    def __init__(self, means, covariances):
        n_classes, size = means.shape
        # A translation changes nothing, and centred means keep the embedding well
        # conditioned. A common factor needs no such care: it does not harm Cholesky.
        self._means = means - means.mean(axis=0)
        embedded = np.ones((n_classes, size + 1, size + 1))
        np.multiply(
            self._means[:, :, None], self._means[:, None], embedded[:, :-1, :-1]
        )
        embedded[:, :-1, :-1] += covariances
        embedded[:, :-1, -1] = embedded[:, -1, :-1] = self._means
        self._embedded = embedded
        self._inverse_factors = np.linalg.inv(np.linalg.cholesky(embedded))

    def pairs(self, i, j):
        inverse_factors = self._inverse_factors[i]
        eigenvalues, vectors = np.linalg.eigh(
            inverse_factors @ self._embedded[j] @ inverse_factors.mT
        )
        if not (eigenvalues > 0).all():
            raise np.linalg.LinAlgError("An embedded class is singular.")
        logs = np.log(eigenvalues)
        squared = (logs**2).sum(axis=1) / 2

        def gradient(weights):
            scaled = weights[:, None] * logs
            v = inverse_factors.mT @ vectors
            of_i = (v * -scaled[:, None]) @ v.mT
            of_j = (v * (scaled / eigenvalues)[:, None]) @ v.mT
            n_classes = len(self._embedded)
            return _sum_by_class(i, of_i, n_classes) + _sum_by_class(j, of_j, n_classes)

        return squared, gradient

    def pull_back(self, gradient):
        of_covariances = gradient[:, :-1, :-1]
        of_means = (of_covariances @ self._means[:, :, None])[:, :, 0]
        of_means += gradient[:, :-1, -1]
        return 2 * of_means, of_covariances


def _sum_by_class(labels, arrays, n_classes):
    """Sum of the arrays, (p, k, k), that carry each label: (n_classes, k, k)."""
    indicator = np.equal.outer(np.arange(n_classes), labels).astype(float)
    return np.tensordot(indicator, arrays, axes=1)


DISTANCES = {"fisher-rao": CalvoOllerDistance}
