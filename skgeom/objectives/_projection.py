"""Class statistics of linear features, as functions of the filters."""

from copy import copy
from functools import cached_property
from itertools import pairwise

import numpy as np

from skgeom.utils.array_api import in_double, like, namespace, to_numpy
from skgeom.utils.threads import map_threads

# With several threads, classes are projected in blocks of about so many numbers.
_NUMBERS_PER_BLOCK = 2**21

# Least regularization for single precision, relative to the variance of a class.
_LEAST_NOISE = 100 * float(np.finfo(np.float32).eps)


class ProjectedClasses:
    r"""Means and covariances of the features of some classes.

    With filters F of shape (n, m), class i has the features' mean
    :math:`F^\top \gamma_i` and covariance :math:`F^\top \Phi_i F + \sigma^2 I`.

    The covariances may be arrays of another library than NumPy. The products with them,
    nearly all of the cost, are then computed on their device. All other arguments and
    results are NumPy arrays.

    Parameters
    ----------
    means : array of shape (c, n)
        Class means :math:`\gamma_i`.
    covariances : array of shape (c, n, n)
        Class covariances :math:`\Phi_i`; not copied if C-contiguous.
    regularization : float
        :math:`\sigma^2`, in squared units of the data.
    parallel : bool, default=False
        Whether to project NumPy arrays with our own threads instead of those of BLAS.
    """

    def __init__(self, means, covariances, regularization, parallel=False):
        of_numpy = namespace(covariances) is np
        self.means = to_numpy(means)
        self.covariances = (
            np.ascontiguousarray(covariances) if of_numpy else covariances
        )
        self.regularization = regularization
        self.parallel = parallel and of_numpy
        # The unit of covariances in single precision.
        is_double = covariances.dtype == namespace(covariances).float64
        self._unit = None if is_double else 1.0

    def in_single_precision(self):
        """The same with covariances in single precision, which takes half the time.

        All else is in double precision. Where rounding would be visible next to the
        regularization, this is the object itself.
        """
        xp, covariances = namespace(self.covariances), self.covariances
        largest = float(xp.max(xp.linalg.trace(covariances)))
        if not self.regularization > _LEAST_NOISE * largest > 0:
            return self
        if covariances.dtype == xp.float32:
            return self
        single = copy(self)
        # Neither small nor large numbers may leave the range of single precision.
        single._unit = float(2.0 ** np.round(np.log2(largest)))
        if xp is np:  # without an array in double precision
            rounded = np.empty(covariances.shape, dtype=np.float32)
            np.multiply(covariances, 1 / single._unit, out=rounded)
        else:
            rounded = xp.astype(covariances * (1 / single._unit), xp.float32)
        single.covariances = rounded
        return single

    def project(self, basis):
        """Arguments of the same for filters ``basis @ G``, as a function of G."""
        columns = like(basis, self.covariances, self.covariances.dtype)
        products = self._by_blocks(lambda part: columns.T @ (part @ columns))
        covariances = namespace(products[0]).concat(products)
        if self._unit is not None:
            covariances = in_double(covariances) * self._unit
        return (
            self.means @ basis,
            np.asarray(to_numpy(covariances), dtype=np.float64),
            self.regularization,
        )

    def __call__(self, filters):
        """Means (c, m), covariances (c, m, m), and a function of their gradients.

        The function maps gradients of these shapes, the latter symmetric, to the
        gradient with respect to the filters, (n, m).
        """
        xp = namespace(self.covariances)
        n_classes, n_features = self.means.shape
        n_filters = filters.shape[1]
        rows = like(filters.T, self.covariances, self.covariances.dtype)
        # One pass over the covariances, which is nearly all of the cost: (m, c n), as
        # products of few rows, since the covariances are symmetric.
        halves = self._by_blocks(
            lambda part: rows @ xp.reshape(part, (-1, n_features)).T
        )
        half = xp.concat(halves, axis=1)
        if self._unit is not None:
            half = in_double(half) * self._unit
        by_class = xp.reshape(half, (n_filters, n_classes, n_features))
        products = xp.permute_dims(by_class, (1, 0, 2)) @ like(filters, half)
        covariances = np.asarray(to_numpy(products), dtype=np.float64)
        covariances = (covariances + covariances.mT) / 2
        covariances += self.regularization * np.eye(n_filters)

        def pull_back(of_means, of_covariances):
            # The sum over the classes of of_covariances @ by_class, as one product.
            weights = of_covariances.transpose(1, 2, 0).reshape(n_filters, -1)
            of_filters = like(weights, half) @ xp.reshape(half, (-1, n_features))
            of_filters = np.asarray(to_numpy(of_filters), dtype=np.float64)
            return 2 * of_filters.T + self.means.T @ of_means

        return self.means @ filters, covariances, pull_back

    @cached_property
    def _blocks(self):
        """Slices of the classes, one for each call of a thread."""
        n_classes, n_blocks = len(self.means), 1
        if self.parallel:
            n_blocks = min(self.covariances.size // _NUMBERS_PER_BLOCK + 1, n_classes)
        ends = np.linspace(0, n_classes, n_blocks + 1).astype(int)
        return [slice(*pair) for pair in pairwise(ends)]

    def _by_blocks(self, function):
        """Results of a function of blocks of the covariances."""
        if len(self._blocks) == 1:
            return [function(self.covariances)]
        return map_threads(
            lambda block: function(self.covariances[block, ...]),
            self._blocks,
            self.parallel,
        )


projected_classes = ProjectedClasses
