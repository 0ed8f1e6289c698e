"""Class statistics of linear features, as functions of the filters."""

from copy import copy
from functools import cached_property
from itertools import pairwise

import numpy as np

from skgeom.utils._threads import map_threads

# If by several threads, classes are projected in blocks of about so many numbers.
_NUMBERS_PER_BLOCK = 2**21

# The least noise, beside the variance of a class, for single precision.
_LEAST_NOISE = 100 * np.finfo(np.float32).eps


class ProjectedClasses:
    r"""Means and covariances of the features of some classes.

    With filters F of shape (n, m), class i has the features' mean
    :math:`F^\top \gamma_i` and covariance :math:`F^\top \Phi_i F + \sigma^2 I`.

    Parameters
    ----------
    means : ndarray of shape (c, n)
        Class means :math:`\gamma_i`.
    covariances : ndarray of shape (c, n, n)
        Class covariances :math:`\Phi_i`; not copied if C-contiguous.
    regularization : float
        :math:`\sigma^2`, in squared units of the data.
    parallel : bool, default=False
        Whether to project by threads of our own instead of those of BLAS.
    """

    def __init__(self, means, covariances, regularization, parallel=False):
        self.means = means
        self.covariances = np.ascontiguousarray(covariances)
        self.regularization = regularization
        self.parallel = parallel
        self._unit = 1.0  # of the covariances

    def in_single_precision(self):
        """The same with covariances in single precision, which takes half the time.

        All else is in double precision. Where rounding could be seen beside the
        regularisation, this is the object itself.
        """
        traces = self._traces()
        if not self.regularization > _LEAST_NOISE * traces.max() > 0:
            return self
        single = copy(self)
        # Neither small nor large numbers may leave the range of single precision.
        single._unit = float(2.0 ** np.round(np.log2(traces.max())))
        single.covariances = self._rounded(single._unit)
        return single

    def _traces(self):
        return np.einsum("cii->c", self.covariances)

    def _rounded(self, unit):
        """The covariances in single precision, in some unit."""
        rounded = np.empty(self.covariances.shape, dtype=np.float32)
        return np.multiply(self.covariances, 1 / unit, out=rounded)  # then rounded

    def project(self, basis):
        """Arguments of the same for filters ``basis @ G``, as a function of G."""
        rounded = basis.astype(self.covariances.dtype, copy=False)
        covariances = map_threads(
            lambda block: rounded.T @ (self.covariances[block] @ rounded),
            self._blocks,
            self.parallel,
        )
        covariances = self._in_double_precision(np.concatenate(covariances))
        return self.means @ basis, covariances, self.regularization

    def _in_double_precision(self, products):
        if products.dtype == np.float64:
            return products
        return np.multiply(products, self._unit, dtype=np.float64)

    @cached_property
    def _blocks(self):
        """Slices of the classes, one for each thread and turn."""
        n_classes, n_blocks = len(self.means), 1
        if self.parallel:
            n_blocks = min(self.covariances.size // _NUMBERS_PER_BLOCK + 1, n_classes)
        ends = np.linspace(0, n_classes, n_blocks + 1).astype(int)
        return [slice(*pair) for pair in pairwise(ends)]

    def __call__(self, filters):
        """Means (c, m), covariances (c, m, m), and a function of their gradients.

        The function maps gradients of these shapes, the latter symmetric, to the
        gradient with respect to the filters, (n, m).
        """
        n_classes, n_features = self.means.shape
        n_filters = filters.shape[1]
        # One pass over the covariances, which is nearly all of the cost: (m, c n), as
        # one product, since the covariances are symmetric.
        dtype = self.covariances.dtype
        half = np.empty((n_filters, n_classes * n_features), dtype)
        rounded = filters.T.astype(dtype)

        def multiply(block):
            columns = slice(block.start * n_features, block.stop * n_features)
            rows = self.covariances[block].reshape(-1, n_features)
            np.matmul(rounded, rows.T, out=half[:, columns])

        map_threads(multiply, self._blocks, self.parallel)
        half = self._in_double_precision(half)
        by_class = half.reshape(n_filters, n_classes, n_features).swapaxes(0, 1)
        covariances = self._regularized(by_class @ filters)

        def pull_back(of_means, of_covariances):
            # The sum over the classes of of_covariances @ by_class, as one product.
            of_covariances = of_covariances.transpose(1, 2, 0).reshape(n_filters, -1)
            of_filters = 2 * (of_covariances @ half.reshape(-1, n_features)).T
            return of_filters + self.means.T @ of_means

        return self.means @ filters, covariances, pull_back

    def _regularized(self, covariances):
        covariances = (covariances + covariances.mT) / 2
        covariances += self.regularization * np.eye(covariances.shape[1])
        return covariances
