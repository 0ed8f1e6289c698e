"""Class statistics of linear features, where the covariances lie on a device."""

import numpy as np

from skgeom.objectives._projection import ProjectedClasses
from skgeom.utils._arrays import in_double, like, namespace, to_numpy


class DeviceClasses(ProjectedClasses):
    """:class:`ProjectedClasses` with covariances of another library than numpy.

    The products with the covariances, nearly all of the cost, are made where these lie.
    All that is given and returned is numpy's, so that an evaluation moves the filters
    and their gradient, (n, m), and the projected covariances and theirs, (c, m, m).
    """

    def __init__(self, means, covariances, regularization):
        self.means = to_numpy(means)
        self.covariances = covariances
        self.regularization = regularization
        self._unit = 1.0

    def in_single_precision(self):
        xp = namespace(self.covariances)
        if self.covariances.dtype == xp.float32:
            return self
        return super().in_single_precision()

    def _traces(self):
        return to_numpy(namespace(self.covariances).linalg.trace(self.covariances))

    def _rounded(self, unit):
        xp = namespace(self.covariances)
        return xp.astype(self.covariances * (1 / unit), xp.float32)

    def _moved(self, array):
        return like(array, self.covariances, self.covariances.dtype)

    def _in_double_precision(self, products):
        products = in_double(products)
        return products if self._unit == 1 else self._unit * products

    def project(self, basis):
        on_device = self._moved(basis)
        products = on_device.T @ (self.covariances @ on_device)
        covariances = self._in_double_precision(products)
        return self.means @ basis, _in_numpy(covariances), self.regularization

    def __call__(self, filters):
        xp = namespace(self.covariances)
        n_classes, n_features = self.means.shape
        n_filters = filters.shape[1]
        rows = xp.reshape(self.covariances, (-1, n_features))
        half = self._in_double_precision(self._moved(filters.T) @ rows.T)
        by_class = xp.reshape(half, (n_filters, n_classes, n_features))
        products = xp.permute_dims(by_class, (1, 0, 2)) @ like(filters, half)
        covariances = self._regularized(_in_numpy(products))

        def pull_back(of_means, of_covariances):
            of_covariances = of_covariances.transpose(1, 2, 0).reshape(n_filters, -1)
            rows = xp.reshape(half, (-1, n_features))
            of_filters = like(of_covariances, half) @ rows
            return 2 * _in_numpy(of_filters).T + self.means.T @ of_means

        return self.means @ filters, covariances, pull_back


def _in_numpy(array):
    """As an array of numpy, in double precision, as the search takes it."""
    return np.asarray(to_numpy(array), dtype=np.float64)


def projected_classes(means, covariances, regularization, parallel=False):
    """Make a :class:`ProjectedClasses` of covariances wherever they lie."""
    if namespace(covariances) is np:
        return ProjectedClasses(means, covariances, regularization, parallel)
    return DeviceClasses(means, covariances, regularization)
