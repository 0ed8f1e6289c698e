"""The kernel of an estimator: its parameters, and its values for samples."""

from numbers import Real

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from skgeom._kernel.blocks import BlockedRows, row_moments
from skgeom._kernel.functions import (
    check_arguments,
    check_callable,
    check_precomputed,
    kernel_matrix,
    uses_gamma,
)
from skgeom.utils.estimator import with_parameters

_EPS = np.finfo(np.float64).eps
# The parameters that all kernels have in common; ``kernel`` itself is each class's own.
KERNEL_CONSTRAINTS = {
    "gamma": [
        None,
        StrOptions({"scale"}),
        Interval(Real, 0, None, closed="neither"),
    ],
    "degree": [Interval(Real, 0, None, closed="left")],
    "coef0": [Interval(Real, None, None, closed="neither")],
    "kernel_params": [None, dict],
}


class KernelMixin:
    """Kernel of an estimator with ``kernel`` and the parameters above."""

    @property
    def _needs_library(self):
        """A function is given samples of the library of X."""
        return callable(self.kernel)

    def _prepare_kernel(self, X, sample_weight=None):
        """Check the kernel and its arguments, and set ``gamma_``."""
        check_arguments(self.kernel, self.kernel_params)
        names = ("kernel", "degree", "coef0", "kernel_params")
        self._kernel_of_fit = {name: getattr(self, name) for name in names}
        if self.kernel == "precomputed":
            check_precomputed(X)
        elif callable(self.kernel):
            check_callable(self.kernel, X, self.kernel_params or {})
        self.gamma_ = self.gamma if uses_gamma(self.kernel) else None
        if self.gamma_ == "scale":
            # The variance of all entries of X, where weights are repeated samples.
            blocked = isinstance(X, BlockedRows)
            with np.errstate(over="ignore", invalid="ignore"):
                means, variances = X.row_moments if blocked else row_moments(X)
                center = np.average(means, weights=sample_weight)
                squares = variances + np.square(means - center)
                variance = np.average(squares, weights=sample_weight)
            if not np.isfinite(variance):
                raise ValueError(
                    "The squares of the numbers of X are too large for floating-point "
                    "numbers. Divide X by a common factor, or use StandardScaler."
                )
            # Equal entries have a variance of rounding.
            varies = variance > np.square(10 * _EPS * center)
            self.gamma_ = float(1 / (X.shape[1] * variance)) if varies else 1.0

    def _with_kernel_of_fit(self):
        """This object with the kernel of its fit: parameters may be set later."""
        return with_parameters(self, self._kernel_of_fit)

    def _kernel(self, X, Y=None):
        """Kernel matrix of samples X and Y."""
        if self.kernel == "precomputed":
            return X
        if callable(self.kernel):
            parameters = self.kernel_params or {}
        else:
            parameters = {"degree": self.degree, "coef0": self.coef0}
            if self.gamma_ is not None:
                parameters["gamma"] = self.gamma_
        return kernel_matrix(X, Y, self.kernel, parameters)
