"""Pure functions on stacks of symmetric positive definite matrices, (..., n, n).

All functions except :func:`mean_affine_invariant` broadcast over the leading axes. All
functions except the functions of Gaussians also accept complex Hermitian matrices.

For arrays of PyTorch, CuPy, JAX or another library with the array API standard, the
functions return arrays of the same library on the same device. The results can be
differentiated if the library supports automatic differentiation.
:func:`distance_fisher_rao`, :func:`geodesic_fisher_rao` and the exponential and
logarithm maps are exceptions: they compute with NumPy, copy the result to the device,
and cannot be differentiated.
"""

from skgeom.geometry._affine_invariant import mean_affine_invariant
from skgeom.geometry._distances import (
    calvo_oller_embedding,
    distance_affine_invariant,
    distance_calvo_oller,
)
from skgeom.geometry._fisher_rao import (
    distance_fisher_rao,
    distance_fisher_rao_diagonal,
    distance_fisher_rao_equal_covariance,
)
from skgeom.geometry._gaussian_geodesics import (
    exp_map_fisher_rao,
    geodesic_fisher_rao,
    log_map_fisher_rao,
)
from skgeom.geometry._spd import (
    expm,
    generalized_eigenvalues,
    invsqrtm,
    logm,
    real_embedding,
    sqrtm,
    whiten,
)

__all__ = [
    "calvo_oller_embedding",
    "distance_affine_invariant",
    "distance_calvo_oller",
    "distance_fisher_rao",
    "distance_fisher_rao_diagonal",
    "distance_fisher_rao_equal_covariance",
    "exp_map_fisher_rao",
    "expm",
    "generalized_eigenvalues",
    "geodesic_fisher_rao",
    "invsqrtm",
    "log_map_fisher_rao",
    "logm",
    "mean_affine_invariant",
    "real_embedding",
    "sqrtm",
    "whiten",
]
