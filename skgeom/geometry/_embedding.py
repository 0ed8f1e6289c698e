"""Hermitian matrices as real symmetric ones of twice the size."""

from skgeom.utils.array_api import is_complex, namespace
from skgeom.utils.validation import check_symmetric, float64_arrays


@float64_arrays("matrices", complex_allowed=True)
def real_embedding(matrices):
    r"""Embed Hermitian matrices of order n into the symmetric ones of order 2 n.

    .. math::

       A \mapsto \begin{bmatrix}
       \operatorname{Re} A & -\operatorname{Im} A \\
       \operatorname{Im} A & \operatorname{Re} A
       \end{bmatrix}

    Sums, products, inverses and means of the embedded matrices are the embedded sums,
    products, inverses and means [1]_. Each eigenvalue comes twice, so that squared
    distances (affine-invariant, log-Euclidean, Bures-Wasserstein) are doubled, and are
    of the same order. So estimators of real matrices can be used for complex ones.

    Parameters
    ----------
    matrices : array-like of shape (..., n, n)
        Hermitian matrices A. For real ones the imaginary part is zero.

    Returns
    -------
    ndarray of shape (..., 2 n, 2 n)
        Real symmetric matrices, positive definite if A is. A is ``M[..., :n, :n] + 1j *
        M[..., n:, :n]``.

    Raises
    ------
    ValueError
        If a matrix is not finite or not Hermitian; the message names the matrix.

    References
    ----------
    .. [1] N. R. Goodman, "Statistical analysis based on a certain multivariate complex
       Gaussian distribution (an introduction)", Annals of Mathematical Statistics
       34(1), 1963.

    Examples
    --------
    >>> import numpy as np
    >>> from skgeom.geometry import real_embedding
    >>> real_embedding(np.array([[2, 1j], [-1j, 3]])).astype(int)
    array([[ 2,  0,  0, -1],
           [ 0,  3,  1,  0],
           [ 0,  1,  2,  0],
           [-1,  0,  0,  3]])
    """
    check_symmetric(matrices, "matrices")
    xp = namespace(matrices)
    if is_complex(matrices):
        real, imaginary = xp.real(matrices), xp.imag(matrices)
    else:
        real, imaginary = matrices, xp.zeros_like(matrices)
    left = xp.concat([real, imaginary], axis=-2)
    right = xp.concat([-imaginary, real], axis=-2)
    return xp.concat([left, right], axis=-1)
