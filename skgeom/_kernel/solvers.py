r"""Solvers of kernel discriminant analysis, as functions of matrices.

All work on one form of the problem. Let F be a matrix whose row i holds the centred
features of sample i, times the root of its weight, in coordinates x in which the
penalty is the identity. With E, an orthonormal basis of the class indicators, the
scatter matrices are

.. math:: S_t = F^\top F, \quad S_b = N N^\top, \quad N = F^\top E, \quad
   S_w = S_t - S_b,

and what is sought are the leading x of the ratio of :math:`S_t` (criterion "total") or
:math:`S_b` ("between") to :math:`S_w + \lambda I`, scaled such that the latter is one.
For ``penalty="identity"``, F is the centred kernel matrix K and x the coefficients of
the samples; for ``penalty="kernel"``, :math:`F F^\top = K`.

``solve_dense`` takes the matrices of the order of x as they are. ``solve_primal`` needs
one Cholesky factor of :math:`S_w + \lambda I`. ``solve_dual`` needs one of
:math:`F F^\top + \lambda I`, of the order of the samples, and not F: it seeks the
scores :math:`z = F x`. With the smoother :math:`H = I - \lambda (F F^\top + \lambda
I)^{-1}` they are the leading eigenvectors of

.. math:: H + H E (I - E^\top H E)^{-1} E^\top H

for "total", and lie in the span of H E for "between"; then :math:`x = F^\top (F F^\top
+ \lambda I)^{-1} u` with :math:`u = z / \rho + E E^\top z` for an eigenvalue
:math:`\rho` of the former. ``solve_davidson`` serves large K and the first penalty.
"""

from functools import partial

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve, eigh
from scipy.linalg.lapack import dpstrf
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh
from sklearn.utils import gen_batches

from skgeom.utils._threads import map_threads, one_blas_thread

# Steps after which the iteration without squares is given up.
_STEPS = 40
# Ratios below this fraction of the largest one are taken for zero.
RANK_TOLERANCE = 1e-11
# The least length that vectors are divided by.
_TINY = np.finfo(np.float64).tiny
# Lanczos iterations of this share of all eigenvectors cost more than dense ones.
_MANY = 0.07
# Columns of a large matrix that one thread multiplies at once.
_COLUMNS = 1000
# Restarts after which a Lanczos iteration is given up for the dense problem.
_RESTARTS = 50


def class_contrasts(shares):
    """Orthonormal basis of what is orthogonal to the root of shares of sum one."""
    return np.linalg.qr(np.sqrt(shares)[:, None], mode="complete")[0][:, 1:]


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
    found = eigh(numerator, denominator, subset_by_index=subset, check_finite=False)
    return _falling(found, n_components)


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
    solve = factorize(within)
    directions = solve(means)
    if criterion == "between":
        eigenvalues, mix = _falling(eigh(means.T @ directions), n_components)
        return eigenvalues, directions @ (mix / np.sqrt(eigenvalues))
    return _leading(lambda v: total @ v, directions, n_components, M=within, Minv=solve)


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
    gap = penalty * (indicators.T @ solved)  # I - E^T H E, without cancellation
    # H E: a heavy penalty makes it small, a light one makes it nearly E.
    heavy = np.trace(gap) > len(gap) / 2
    smoothed = solve(images) if heavy else indicators - penalty * solved
    hat = indicators.T @ smoothed
    ratios, mix = eigh((hat + hat.T) / 2, (gap + gap.T) / 2)
    if criterion == "between":
        ratios, mix = _falling((ratios, mix), n_components)
        mix = mix * np.sqrt((1 + ratios) / ratios)
        return ratios, solved @ mix, smoothed @ mix

    correction = smoothed @ mix @ mix.T

    def smooth(scores):
        return scores - penalty * solve(scores) + correction @ (smoothed.T @ scores)

    eigenvalues, scores = _leading(smooth, smoothed, n_components)
    scores = scores * np.sqrt(eigenvalues)
    duals = solve(scores / eigenvalues + indicators @ (indicators.T @ scores))
    return eigenvalues, duals, scores


def solve_davidson(kernel, indicators, penalty, criterion, n_components, tol=1e-7):
    """Solve for F = K, a semidefinite kernel matrix, without squaring it.

    A subspace grows by the preconditioned residuals of the best x in it, one more than
    are wanted, lest another one overtakes unseen. The inverse of
    (K + sqrt(lambda) I)^2 differs from that of K^2 + lambda I by factors between one
    half and one, whatever K. So the error falls by about (sqrt(2) - 1) / (sqrt(2) + 1),
    or 0.17, a step, and the one Cholesky factor can be in single precision.

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
        solve = factorize(shifted, overwrite=True)
    except LinAlgError:
        return None

    def multiply(block):
        return _multiply_few(kernel, block)

    def precondition(block):
        return solve(solve(block.astype(np.float32))).astype(np.float64)

    # Random directions, for vectors that are orthogonal to all of E by symmetry. Those
    # that lead have a large variance, as powers of K have.
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
            ratios, mix = solve_dense(
                images, indicators, penalty, criterion, n_components + 1
            )
            if not len(ratios):
                break
            vectors, scores = basis @ mix, images @ mix
            between = indicators @ (indicators.T @ scores)
            numerator = scores if criterion == "total" else between
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
    for _ in range(2):
        block = block - basis @ (basis.T @ block)
        block, _ = np.linalg.qr(block)
    return block


def factorize(matrix, overwrite=False):
    """Cholesky factor of a symmetric matrix, as what multiplies by its inverse."""
    # The transpose of an array in C order is one in Fortran order: it is not copied.
    factor = cho_factor(matrix.T, lower=True, overwrite_a=overwrite, check_finite=False)
    return partial(cho_solve, factor, check_finite=False)


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


def _leading(multiply, start, n_components, M=None, Minv=None):
    """Leading eigenvectors of a symmetric operator, by a Lanczos iteration."""
    n = len(start)

    def solve_all():
        matrix = multiply(np.eye(n))
        matrix = (matrix + matrix.T) / 2
        subset = [max(n - n_components, 0), n - 1]
        return _falling(eigh(matrix, M, subset_by_index=subset), n_components)

    if n <= 20 or n_components > _MANY * n:
        return solve_all()
    operators = {
        "M": M,
        "Minv": Minv and LinearOperator((n, n), Minv, dtype=start.dtype),
    }
    operator = LinearOperator((n, n), multiply, dtype=start.dtype)
    # All leading vectors should have a part in the start, whatever their symmetry.
    v0 = start.sum(axis=1)
    v0 += np.linalg.norm(v0) / n**0.5 * np.random.default_rng(0).standard_normal(n)
    settings = {"which": "LA", "v0": v0, "maxiter": _RESTARTS}
    try:
        found = eigsh(operator, n_components, **settings, **operators)
    except ArpackNoConvergence:  # many eigenvalues are nearly equal
        return solve_all()
    return _falling(found, n_components)


def _falling(pairs, n_components):
    """The leading positive ones of rising eigenvalues, and their vectors."""
    eigenvalues, vectors = (array[..., ::-1][..., :n_components] for array in pairs)
    kept = eigenvalues > RANK_TOLERANCE * max(eigenvalues[0], 0)
    return eigenvalues[kept], vectors[:, kept]
