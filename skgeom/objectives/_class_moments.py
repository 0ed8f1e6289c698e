"""Means and covariances of projected classes."""

import numpy as np

from skgeom.objectives._covariances import covariances_of
from skgeom.utils.array_api import on_cpu, to_numpy


class ClassMoments:
    r"""Means and covariances of the projected classes, as a function of filters.

    For filters F of shape (n, m), the projected data of class i have the mean
    :math:`F^\top \gamma_i` and the covariance :math:`F^\top \Phi_i F + \sigma^2 I`.

    If the covariances are an array of another library than NumPy, the products with
    them, which take most of the time, are computed on their device. All other arguments
    and results are NumPy arrays.

    Parameters
    ----------
    means : array of shape (c, n)
        Class means :math:`\gamma_i`.
    covariances : array of shape (c, n, n), or StructuredCovariances
        Class covariances :math:`\Phi_i`; not copied if C-contiguous.
    regularization : float
        :math:`\sigma^2`, in squared units of the data.
    """

    def __init__(self, means, covariances, regularization):
        self.means, self.regularization = to_numpy(means), regularization
        if isinstance(covariances, np.ndarray):
            covariances = np.ascontiguousarray(covariances)
        self.covariances = covariances
        self._of_classes = covariances_of(covariances)

    def on_host(self):
        """The same moments, with covariances in CPU memory."""
        covariances = on_cpu(self.covariances)
        return ClassMoments(self.means, covariances, self.regularization)

    def project(self, basis):
        """The moments for filters ``basis @ G``, as a function of G."""
        covariances = self._of_classes.project(basis).values
        return ClassMoments(self.means @ basis, covariances, self.regularization)

    def __call__(self, filters):
        """Projected means (c, m) and covariances (c, m, m), and their VJP.

        The VJP maps gradients with respect to the means and the covariances (symmetric
        matrices) to the gradient with respect to the filters, (n, m).
        """
        covariances, weighted_sum = self._of_classes.forms(filters)
        covariances = (covariances + covariances.mT) / 2
        covariances += self.regularization * np.eye(filters.shape[1])

        def pull_back(of_means, of_covariances):
            return 2 * weighted_sum(of_covariances) + self.means.T @ of_means

        return self.means @ filters, covariances, pull_back
