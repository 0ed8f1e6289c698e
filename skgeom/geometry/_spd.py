"""Matrix functions, congruences and the real embedding of stacks of SPD matrices."""

from math import isqrt, sqrt

import numpy as np

from skgeom.geometry._affine_invariant import from_spectrum
from skgeom.utils.array_api import (
    adjoint,
    device_of,
    is_complex,
    like,
    namespace,
    real_part,
)
from skgeom.utils.linalg import embedded
from skgeom.utils.validation import (
    check_accurate,
    check_symmetric,
    cholesky,
    float64_arrays,
)


def _spectral(matrices, function, positive=True):
    """Apply a function to the eigenvalues, which must be positive unless stated."""
    check_symmetric(matrices, "matrices")
    if positive:
        cholesky(matrices, "matrices")
    eigenvalues, vectors = namespace(matrices).linalg.eigh(matrices)
    if positive:
        check_accurate(eigenvalues, "matrices")
    return from_spectrum(vectors, function(eigenvalues))


@float64_arrays("matrices", definite=("matrices",), complex_allowed=True)
def sqrtm(matrices):
    """Compute the symmetric square roots of SPD matrices.

    Parameters
    ----------
    matrices : array-like of shape (..., n, n)
        Symmetric, or complex Hermitian, positive definite matrices.

    Returns
    -------
    ndarray of shape (..., n, n)
        The SPD matrices S with ``S @ S = matrices``.

    Raises
    ------
    ValueError
        If a matrix is not finite, not symmetric or not positive definite. The message
        names the argument or the matrix, and the smallest eigenvalue of a matrix that
        is not positive definite.

    Examples
    --------
    >>> import numpy as np
    >>> from skgeom.geometry import sqrtm
    >>> sqrtm(np.diag([4.0, 9.0]))
    array([[2., 0.],
           [0., 3.]])
    """
    return _spectral(matrices, namespace(matrices).sqrt)


@float64_arrays("matrices", definite=("matrices",), complex_allowed=True)
def invsqrtm(matrices):
    """Compute the symmetric inverse square roots of SPD matrices.

    Parameters
    ----------
    matrices : array-like of shape (..., n, n)
        Symmetric, or complex Hermitian, positive definite matrices.

    Returns
    -------
    ndarray of shape (..., n, n)
        The SPD matrices S with ``S @ matrices @ S = I``.

    Raises
    ------
    ValueError
        If a matrix is not finite, not symmetric or not positive definite. The message
        names the argument or the matrix, and the smallest eigenvalue of a matrix that
        is not positive definite.

    Examples
    --------
    >>> import numpy as np
    >>> from skgeom.geometry import invsqrtm
    >>> invsqrtm(np.diag([4.0, 16.0]))
    array([[0.5 , 0.  ],
           [0.  , 0.25]])
    """
    xp = namespace(matrices)
    return _spectral(matrices, lambda eigenvalues: 1 / xp.sqrt(eigenvalues))


@float64_arrays("matrices", definite=("matrices",), complex_allowed=True)
def logm(matrices):
    """Compute the symmetric logarithms of SPD matrices.

    Parameters
    ----------
    matrices : array-like of shape (..., n, n)
        Symmetric, or complex Hermitian, positive definite matrices.

    Returns
    -------
    ndarray of shape (..., n, n)
        The symmetric matrices S with ``expm(S) = matrices``.

    Raises
    ------
    ValueError
        If a matrix is not finite, not symmetric or not positive definite. The message
        names the argument or the matrix, and the smallest eigenvalue of a matrix that
        is not positive definite.

    Examples
    --------
    >>> import numpy as np
    >>> from skgeom.geometry import logm
    >>> logm(np.diag([1.0, np.e]))
    array([[0., 0.],
           [0., 1.]])
    """
    return _spectral(matrices, namespace(matrices).log)


@float64_arrays("matrices", complex_allowed=True)
def expm(matrices):
    """Compute the exponentials of symmetric matrices, the inverse of :func:`logm`.

    Parameters
    ----------
    matrices : array-like of shape (..., n, n)
        Symmetric or Hermitian matrices, which may be indefinite.

    Returns
    -------
    ndarray of shape (..., n, n)
        The exponentials, which are positive definite.

    Raises
    ------
    ValueError
        If a matrix is not finite or not symmetric. The message names the argument or
        the matrix.

    Examples
    --------
    >>> import numpy as np
    >>> from skgeom.geometry import expm
    >>> expm(np.zeros((2, 2)))
    array([[1., 0.],
           [0., 1.]])
    """
    return _spectral(matrices, namespace(matrices).exp, positive=False)


@float64_arrays("matrices", "reference", definite=("reference",), complex_allowed=True)
def whiten(matrices, reference):
    r"""Whiten matrices with a reference matrix.

    The result is :math:`W = L^{-1} M L^{-\top}`, where L is the Cholesky factor of the
    reference :math:`R = L L^\top`. The same transformation maps R to the identity.
    Affine-invariant functions, such as :func:`distance_affine_invariant`, have the same
    value for (M, R) and (W, I). The eigenvalues of W are the generalized eigenvalues of
    the pair (M, R).

    Parameters
    ----------
    matrices : array-like of shape (..., n, n)
        Symmetric or Hermitian matrices M.
    reference : array-like of shape (..., n, n)
        Positive definite matrices R, broadcast against ``matrices``.

    Returns
    -------
    ndarray of shape (..., n, n)
        The whitened matrices W, which are symmetric.

    Raises
    ------
    ValueError
        If a matrix is not finite or not symmetric, if ``reference`` is not positive
        definite, or if the sizes of the matrices differ. The message names the
        argument.

    Examples
    --------
    >>> import numpy as np
    >>> from skgeom.geometry import whiten
    >>> whiten(np.diag([8.0, 3.0]), reference=np.diag([4.0, 1.0]))
    array([[2., 0.],
           [0., 3.]])
    """
    return _whitened(matrices, "matrices", reference, "reference")


def _whitened(matrices, name, reference, name_of_reference):
    check_pair(matrices, name, reference, name_of_reference)
    factor = cholesky(reference, name_of_reference)
    solve = namespace(matrices).linalg.solve
    whitened = solve(factor, adjoint(solve(factor, matrices)))
    return (whitened + adjoint(whitened)) / 2


@float64_arrays("a", "b", definite=("b",), complex_allowed=True)
def generalized_eigenvalues(a, b):
    r"""Compute the generalized eigenvalues of pairs of symmetric matrices.

    The generalized eigenvalues :math:`\lambda` solve :math:`A v = \lambda B v`. They
    are invariant under :math:`A, B \to G A G^\top, G B G^\top` for invertible G.

    Parameters
    ----------
    a : array-like of shape (..., n, n)
        Symmetric or Hermitian matrices A.
    b : array-like of shape (..., n, n)
        Positive definite matrices B, broadcast against ``a``.

    Returns
    -------
    ndarray of shape (..., n)
        The generalized eigenvalues of each pair, in ascending order.

    Raises
    ------
    ValueError
        If a matrix is not finite or not symmetric, if ``b`` is not positive definite,
        or if the sizes of the matrices differ. The message names the argument.

    Examples
    --------
    >>> import numpy as np
    >>> from skgeom.geometry import generalized_eigenvalues
    >>> generalized_eigenvalues(np.diag([8.0, 3.0]), np.diag([2.0, 1.0]))
    array([3., 4.])
    """
    return namespace(a).linalg.eigvalsh(_whitened(a, "a", b, "b"))


def check_pair(a, name_a, b, name_b):
    """Raise ValueError unless two stacks have symmetric matrices of the same size."""
    check_symmetric(a, name_a)
    check_symmetric(b, name_b)
    check_same_order(a, name_a, b, name_b)


def check_same_order(a, name_a, b, name_b):
    """Raise ValueError unless the matrices of two stacks have the same size."""
    if a.shape[-1] != b.shape[-1]:
        raise ValueError(
            f"{name_a} and {name_b} must have the same last dimension, got shapes "
            f"{tuple(a.shape)} and {tuple(b.shape)}."
        )


def upper_triangles(matrices):
    """Isometric vectors of symmetric or Hermitian matrices: their upper triangles.

    Off-diagonal entries are multiplied by sqrt(2), because each represents two entries
    of the matrix. The norm of the vector is then the Frobenius norm of the matrix. The
    real parts of the entries, row by row, precede the imaginary parts of the
    off-diagonal entries.

    Parameters
    ----------
    matrices : ndarray of shape (..., n, n)
        Symmetric or Hermitian matrices. Their lower triangles are not read.

    Returns
    -------
    ndarray of shape (..., n (n + 1) / 2) or (..., n^2)
        The vectors, real. Those of complex matrices have n^2 entries.
    """
    xp, size = namespace(matrices), matrices.shape[-1]
    rows, columns, weights = weighted_triangle(size, real_part(matrices))
    entries = xp.reshape(matrices, (*matrices.shape[:-2], size * size))
    vectors = xp.take(entries, rows * size + columns, axis=-1) * weights
    if not is_complex(matrices):
        return vectors
    off_diagonal = xp.nonzero(rows != columns)[0]
    imaginary = xp.take(xp.imag(vectors), off_diagonal, axis=-1)
    return xp.concat([xp.real(vectors), imaginary], axis=-1)


def from_upper_triangles(vectors):
    """Symmetric matrices from their upper triangles: inverts :func:`upper_triangles`.

    Parameters
    ----------
    vectors : ndarray of shape (..., n (n + 1) / 2)
        The vectors.

    Returns
    -------
    ndarray of shape (..., n, n)
        Exactly symmetric matrices, in float64.
    """
    size = int(sqrt(2 * vectors.shape[-1]))  # n^2 < n (n + 1) < (n + 1)^2
    xp = namespace(vectors)
    # Some libraries cannot assign to indices. Each entry of the matrix is read from its
    # place in the vector instead.
    index = xp.arange(size, device=device_of(vectors))
    row, column = xp.minimum(index[:, None], index), xp.maximum(index[:, None], index)
    places = row * size - row * (row + 1) // 2 + column
    entries = xp.take(vectors, xp.reshape(places, (-1,)), axis=-1)
    entries = xp.reshape(entries, (*vectors.shape[:-1], size, size))
    return xp.where(row == column, entries, entries / sqrt(2))


def hermitian_from_upper_triangles(vectors):
    """Hermitian matrices (..., n, n) from NumPy vectors (..., n^2)."""
    size = isqrt(vectors.shape[-1])
    rows, columns = np.triu_indices(size)
    real, imaginary = np.split(vectors, [len(rows)], axis=-1)
    upper = np.zeros_like(real)
    upper[..., rows != columns] = imaginary
    index = np.arange(size)
    signs = np.sign(index - index[:, None])  # conjugates below the diagonal
    return from_upper_triangles(real) + 1j * signs * from_upper_triangles(upper)


def weighted_triangle(size, model):
    """Row indices, column indices and weights of the entries of an upper triangle.

    The arrays have the namespace and device of ``model``.
    """
    rows, columns = np.triu_indices(size)
    weights = like(np.where(rows == columns, 1, sqrt(2)), model, model.dtype)
    return like(rows, model), like(columns, model), weights


@float64_arrays("matrices", complex_allowed=True)
def real_embedding(matrices):
    r"""Embed Hermitian matrices of order n into the symmetric matrices of order 2 n.

    .. math::

       A \mapsto \begin{bmatrix}
       \operatorname{Re} A & -\operatorname{Im} A \\
       \operatorname{Im} A & \operatorname{Re} A
       \end{bmatrix}

    The embedding preserves sums, products, inverses and means of matrices [1]_. Each
    eigenvalue of A occurs twice in the embedded matrix. Squared affine-invariant,
    log-Euclidean and Bures-Wasserstein distances are therefore doubled, and the order
    of distances does not change. Use the embedding to fit estimators of real matrices
    to complex matrices. The Hermitian matrices have n^2 dimensions, but the symmetric
    matrices of order 2 n have n (2 n + 1), so the shrinkage of covariances of tangent
    vectors differs.

    Parameters
    ----------
    matrices : array-like of shape (..., n, n)
        Hermitian matrices A. Real matrices are also accepted.

    Returns
    -------
    ndarray of shape (..., 2 n, 2 n)
        Real symmetric matrices, which are positive definite if A is. For the result M,
        A equals ``M[..., :n, :n] + 1j * M[..., n:, :n]``.

    Raises
    ------
    ValueError
        If a matrix is not finite or not Hermitian. The message names the argument or
        the matrix.

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
    return embedded(matrices)
