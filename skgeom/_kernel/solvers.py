r"""Solvers of kernel discriminant analysis, as functions of matrices.

All work on one form of the problem. Let F be a matrix whose row i holds the centred
features of sample i, times the root of its weight, in coordinates x in which the
penalty is the identity. With E, an orthonormal basis of the class indicators, the
scatter matrices are

.. math:: S_t = F^\top F, \quad S_b = N N^\top, \quad N = F^\top E, \quad
   S_w = S_t - S_b,

and the components are the leading x of the ratio of :math:`S_t` (criterion "total", of
equation 13) or :math:`S_b` ("between") to :math:`S_w + \lambda I`, scaled such that the
latter is one. For ``penalty="identity"``, F is the centred kernel matrix K, and x are
the coefficients of the samples. For ``penalty="kernel"``, :math:`F F^\top = K`, and x
are coordinates of the function in the feature space, of which the Gram matrix is all
that is known.

``solve_dense`` solves it with matrices of the order of x. ``solve_primal`` needs one
Cholesky factor of :math:`S_w + \lambda I`. ``solve_dual`` needs one of the Gram matrix
:math:`F F^\top + \lambda I`, of the order of the samples, and does not need F. Its
unknowns are the scores :math:`z = F x`. ``solve_davidson`` is an iteration for large K
and the first penalty.

The dual problem follows from :math:`S_t x = \rho (S_w + \lambda I) x`, which is

.. math:: (F^\top F + \lambda I) x = F^\top u, \quad u = z / \rho + E E^\top z,

so :math:`x = F^\top (F F^\top + \lambda I)^{-1} u`, where the inverse times u are the
duals, and :math:`z = H u` with the smoother :math:`H = F F^\top (F F^\top + \lambda
I)^{-1} = I - \lambda (F F^\top + \lambda I)^{-1}`. Solving for z by the Woodbury
identity, the scores are the eigenvectors, for the eigenvalues :math:`\rho`, of

.. math:: (H^{-1} - E E^\top)^{-1} = H + H E (I - E^\top H E)^{-1} E^\top H.

For "between", the same steps give :math:`u = (1 + 1 / \rho) E E^\top z`. So z lies in
the span of H E, and only a matrix of order c - 1 remains.
"""

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve, eigh
from scipy.linalg.lapack import dpstrf, dtrtri
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh
from sklearn.utils import gen_batches

from skgeom.utils.threads import map_threads, one_blas_thread

# Steps after which Davidson's method is given up.
_STEPS = 40
# Ratios below this fraction of the largest one are taken for zero.
RANK_TOLERANCE = 1e-11
# Vectors are divided by their length, or by this if it is smaller.
_TINY = np.finfo(np.float64).tiny
# For more eigenvectors than this part of all, a dense solution is faster than Lanczos.
_LANCZOS_SHARE = 0.07
# Columns of a large matrix that one thread multiplies at once.
_COLUMNS = 1000
# Restarts after which a Lanczos iteration gives way to a dense solution.
_RESTARTS = 50


def class_contrasts(class_weights):
    """Orthonormal basis of the complement of the root of class weights of sum one.

    Differences between classes are orthogonal to that root, which stands for the
    overall mean. So n_classes - 1 columns are enough for the class indicators.
    """
    return np.linalg.qr(np.sqrt(class_weights)[:, None], mode="complete")[0][:, 1:]


def solve_dense(features, indicators, penalty, criterion, n_components):
    """Solve the generalised symmetric eigenproblem of matrices of the order of x.

    Returns
    -------
    eigenvalues : ndarray of shape (n_components,)
        The ratios, in falling order.
    vectors : ndarray of shape (n_coordinates, n_components)
        The x, with a denominator of one.
    """
    total, means = features.T @ features, features.T @ indicators
    between = means @ means.T
    numerator = total if criterion == "total" else between
    denominator = total - between
    denominator.flat[:: len(denominator) + 1] += penalty
    n = len(total)
    subset = [max(n - n_components, 0), n - 1]
    pairs = eigh(numerator, denominator, subset_by_index=subset, check_finite=False)
    return _positive_leading(pairs, n_components)


def solve_primal(total, means, penalty, criterion, n_components):
    """Solve with a Cholesky factor of the regularised within-class matrix.

    Parameters
    ----------
    total, means : ndarray of shapes (n_coordinates, n_coordinates or n_classes - 1)
        The matrices S_t and N.
    penalty : float
        The factor lambda of the identity.
    criterion : {"total", "between"}
        The numerator of the ratio.
    n_components : int
        Number of vectors.

    Returns
    -------
    eigenvalues, vectors : ndarray
        As by :func:`solve_dense`.
    """
    within = total - means @ means.T
    within.flat[:: len(within) + 1] += penalty
    solve = Inverse(within)
    directions = solve(means)
    if criterion == "between":
        # x = (S_w + lambda I)^-1 N v with eigenvectors v of a matrix of order c - 1.
        eigenvalues, vectors = _positive_leading(
            eigh(means.T @ directions), n_components
        )
        return eigenvalues, directions @ (vectors / np.sqrt(eigenvalues))
    return _leading_eigenpairs(
        lambda v: total @ v, directions, n_components, M=within, Minv=solve
    )


def solve_dual(solve, indicators, images, penalty, criterion, n_components):
    """Solve by the inverse of the regularised Gram matrix of the samples.

    Parameters
    ----------
    solve : callable
        Multiplies vectors, the columns of a matrix, by (F F^T + lambda I)^-1.
    indicators : ndarray of shape (n_samples, n_classes - 1)
        The matrix E, in the basis that ``solve`` works in.
    images : ndarray of shape (n_samples, n_classes - 1)
        F F^T E, in the same basis.
    penalty, criterion, n_components
        As for :func:`solve_primal`.

    Returns
    -------
    eigenvalues : ndarray of shape (n_components,)
        The ratios, in falling order.
    duals : ndarray of shape (n_samples, n_components)
        (F F^T + lambda I)^-1 u for each of them, so that x is F^T times it.
    scores : ndarray of shape (n_samples, n_components)
        The F x.
    """
    solved = solve(indicators)
    # I - E^T H E is small if the penalty is light. This form of it does not cancel.
    complement = penalty * (indicators.T @ solved)
    # H E in the form that does not cancel: it is small if the penalty is heavy, and
    # nearly E if it is light.
    heavy = np.trace(complement) > len(complement) / 2
    smoothed = solve(images) if heavy else indicators - penalty * solved
    hat = indicators.T @ smoothed
    # With E^T H E v = r (I - E^T H E) v, r is the ratio of "between", and the matrix of
    # all v is V with V V^T = (I - E^T H E)^-1.
    ratios, vectors = eigh((hat + hat.T) / 2, (complement + complement.T) / 2)
    if criterion == "between":
        ratios, vectors = _positive_leading((ratios, vectors), n_components)
        vectors = vectors * np.sqrt((1 + ratios) / ratios)
        return ratios, solved @ vectors, smoothed @ vectors

    correction = smoothed @ vectors @ vectors.T

    def multiply(scores):
        return scores - penalty * solve(scores) + correction @ (smoothed.T @ scores)

    eigenvalues, scores = _leading_eigenpairs(multiply, smoothed, n_components)
    scores = scores * np.sqrt(eigenvalues)
    duals = solve(scores / eigenvalues + indicators @ (indicators.T @ scores))
    return eigenvalues, duals, scores


def solve_davidson(kernel, indicators, penalty, criterion, n_components, tol=1e-7):
    """Solve for F = K, a semidefinite kernel matrix, without squaring it.

    Davidson's method: the best x in a subspace (the Ritz vectors) leave residuals,
    which are preconditioned and added to the subspace. One more x is followed than is
    wanted, since the order of the ratios may still change.

    The preconditioner is the inverse of (K + sqrt(lambda) I)^2. For each eigenvalue d
    of K, (d^2 + lambda) / (d + sqrt(lambda))^2 is between one half and one, so it is
    that of K^2 + lambda I up to a factor of two, whatever K. The error then falls by
    (sqrt(2) - 1) / (sqrt(2) + 1), or 0.17, a step. The preconditioner need not be
    exact, so its Cholesky factor is in single precision, at half the time.

    Parameters
    ----------
    kernel, indicators : ndarray of shape (n_samples, n_samples or n_classes - 1)
        The centred kernel matrix, and E.
    penalty, criterion, n_components, tol
        As for :func:`solve_primal`, and the last correction's size, relative to x.

    Returns
    -------
    result : tuple or None
        Eigenvalues, x and scores; None if they did not converge.
    """
    n, shift = len(kernel), np.sqrt(penalty)
    shifted = kernel.astype(np.float32)
    shifted.flat[:: n + 1] += shift
    try:
        solve = Inverse(shifted, overwrite=True)
    except LinAlgError:
        return None

    def multiply(block):
        return _multiply_few(kernel, block)

    def precondition(block):
        return solve(solve(block.astype(np.float32))).astype(np.float64)

    # With "total", an x may be orthogonal to all class means, for example by a symmetry
    # of the data. The subspace would never find it from E, hence random directions.
    # Their products with K^2 lean to the directions of large variance, as such x do.
    random = np.random.default_rng(0).standard_normal((n, n_components + 1))
    with one_blas_thread():
        means, random = multiply(indicators), multiply(multiply(random))
    block = np.hstack([precondition(means), random])
    basis, images = np.empty((n, 0)), np.empty((n, 0))
    for _ in range(_STEPS):
        if not np.isfinite(block).all():
            break
        with one_blas_thread():
            block = _orthonormal(block, basis)
            basis = np.hstack([basis, block])
            images = np.hstack([images, multiply(block)])
            ratios, ritz = solve_dense(
                images, indicators, penalty, criterion, n_components + 1
            )
            if not len(ratios):
                break
            vectors, scores = basis @ ritz, images @ ritz
            between = indicators @ (indicators.T @ scores)
            numerator = scores if criterion == "total" else between
            # S_t x / rho - (S_w + lambda I) x, where all scatter matrices begin with K.
            residuals = multiply(numerator / ratios - scores + between)
        block = precondition(residuals - penalty * vectors)
        errors = np.linalg.norm(block, axis=0) / np.linalg.norm(vectors, axis=0)
        if errors[:n_components].max() < tol:
            return tuple(a[..., :n_components] for a in (ratios, vectors, scores))
        block = block[:, errors >= tol]
        if basis.shape[1] + block.shape[1] > n // 4:
            break
    return None


def _multiply_few(matrix, block):
    """Product of a symmetric matrix and a few columns, by threads."""
    # Rows times the matrix are faster than the matrix times columns.
    rows = np.ascontiguousarray(block.T)
    product = np.empty_like(rows)

    def fill(columns):
        np.matmul(rows, matrix[:, columns], out=product[:, columns])

    map_threads(fill, list(gen_batches(len(matrix), _COLUMNS)))
    return product.T


def _orthonormal(block, basis):
    """Orthonormal columns that span those of a block, orthogonal to a basis."""
    block = block / np.maximum(np.linalg.norm(block, axis=0), _TINY)
    # Once is not enough: where the block is nearly in the span of the basis, rounding
    # leaves a part that is not orthogonal. Twice is.
    for _ in range(2):
        block = block - basis @ (basis.T @ block)
        block, _ = np.linalg.qr(block)
    return block


class Inverse:
    """Multiplies vectors by the inverse of a matrix, by its Cholesky factor.

    Parameters
    ----------
    matrix : ndarray of shape (n, n)
        The matrix, positive definite.
    overwrite : bool, default=False
        Whether its memory may be used.
    """

    def __init__(self, matrix, overwrite=False):
        # The transpose of an array in C order is one in Fortran order: it is not
        # copied.
        self._factor = cho_factor(
            matrix.T, lower=True, overwrite_a=overwrite, check_finite=False
        )

    def __call__(self, block):
        return cho_solve(self._factor, block, check_finite=False)

    def last_of_diagonal(self, n_last):
        """The last diagonal entries of the inverse."""
        # The inverse of L L^T ends with that of the last block of L: L^-1 is
        # triangular.
        factor, lower = self._factor
        inverse, _ = dtrtri(np.tril(factor[-n_last:, -n_last:]), lower=lower)
        return np.einsum("ij,ij->j", inverse, inverse)


def pivoted_cholesky(matrix, tol):
    """Factor a semidefinite matrix, as far as it is above rounding.

    Parameters
    ----------
    matrix : ndarray of shape (n, n)
        The matrix; not modified.
    tol : float
        Where to end: the largest diagonal entry of what remains, over that of the
        matrix.

    Returns
    -------
    factor : ndarray of shape (n, rank)
        A lower trapezoidal matrix.
    pivots : ndarray of shape (n,)
        ``factor @ factor.T`` approximates ``matrix[pivots][:, pivots]``.
    """
    matrix = np.array(matrix, dtype=np.float64, order="F")
    factor, pivots, rank, _ = dpstrf(
        matrix, lower=1, tol=tol * matrix.diagonal().max(), overwrite_a=1
    )
    return np.tril(factor[:, :rank]), pivots - 1


def semidefinite_root(matrix, tol):
    """Matrix M, (n, rank), such that M M^T is a semidefinite matrix up to ``tol``."""
    factor, pivots = pivoted_cholesky(matrix, tol)
    root = np.empty_like(factor)
    root[pivots] = factor
    return root


def _leading_eigenpairs(multiply, start, n_components, M=None, Minv=None):
    """Leading eigenvectors of a symmetric operator, by a Lanczos iteration."""
    n = len(start)

    def solve_dense_matrix():
        matrix = multiply(np.eye(n))
        matrix = (matrix + matrix.T) / 2
        subset = [max(n - n_components, 0), n - 1]
        return _positive_leading(eigh(matrix, M, subset_by_index=subset), n_components)

    if n <= 20 or n_components > _LANCZOS_SHARE * n:
        return solve_dense_matrix()
    operators = {
        "M": M,
        "Minv": Minv and LinearOperator((n, n), Minv, dtype=start.dtype),
    }
    operator = LinearOperator((n, n), multiply, dtype=start.dtype)
    # An eigenvector that is orthogonal to the first vector is never found, hence some
    # random part of it.
    v0 = start.sum(axis=1)
    v0 += np.linalg.norm(v0) / n**0.5 * np.random.default_rng(0).standard_normal(n)
    settings = {"which": "LA", "v0": v0, "maxiter": _RESTARTS}
    try:
        pairs = eigsh(operator, n_components, **settings, **operators)
    except ArpackNoConvergence:  # many eigenvalues are nearly equal
        return solve_dense_matrix()
    return _positive_leading(pairs, n_components)


def _positive_leading(pairs, n_components):
    """The largest positive of rising eigenvalues, in falling order, and vectors."""
    eigenvalues, vectors = (array[..., ::-1][..., :n_components] for array in pairs)
    kept = eigenvalues > RANK_TOLERANCE * max(eigenvalues[0], 0)
    return eigenvalues[kept], vectors[:, kept]
