r"""Solvers of kernel discriminant analysis, as functions of matrices.

All work on one form of the problem. Let F be a matrix whose row i holds the centered
features of sample i, times the root of its weight, in coordinates x in which the
penalty is the identity. With E, an orthonormal basis of the class indicators, the
scatter matrices are

.. math:: S_t = F^\top F, \quad S_b = N N^\top, \quad N = F^\top E, \quad
   S_w = S_t - S_b,

and the components are the leading x of the ratio of :math:`S_t` (criterion "total", of
equation 13) or :math:`S_b` ("between") to :math:`S_w + \lambda I`, scaled such that the
latter is one. For ``penalty="identity"``, F is the centered kernel matrix K, and x are
the coefficients of the samples. For ``penalty="kernel"``, :math:`F F^\top = K`, and x
are coordinates of the function in the feature space, of which the Gram matrix is all
that is known.

``solve_primal`` solves it with matrices of the order of x. ``solve_dual`` needs one
Cholesky factor of the Gram matrix :math:`F F^\top + \lambda I`, of the order of the
samples, and does not need F. Its unknowns are the scores :math:`z = F x`.
``solve_iteratively`` factors F = K itself, in single precision.

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

from contextlib import suppress
from functools import partial

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve, eigh
from scipy.linalg.lapack import dpstrf
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh

_EPS = np.finfo(np.float64).eps


def class_contrasts(class_weights):
    """Orthonormal basis of the complement of the root of class weights of sum one.

    Differences between classes are orthogonal to that root, which stands for the
    overall mean. So n_classes - 1 columns are enough for the class indicators.
    """
    return np.linalg.qr(np.sqrt(class_weights)[:, None], mode="complete")[0][:, 1:]


def rank_tolerance(regularization):
    """Fraction of the largest ratio below which ratios are rounding.

    A penalty of lambda enlarges the rounding of the ratios by its inverse. Raises
    LinAlgError if all ratios would be rounding.
    """
    tol = max(1e-11, 4 * _EPS / regularization)
    if tol >= 1:
        raise LinAlgError("the penalty is below rounding")
    return tol


def solve_primal(total, means, penalty, criterion, n_components, tol):
    """Solve with matrices of the order of x, for "between" by a factor of S_w.

    Parameters
    ----------
    total, means : ndarray of shape (n_coordinates, n_coordinates or n_classes - 1)
        The matrices S_t and N.
    penalty : float
        The factor lambda of the identity.
    criterion : {"total", "between"}
        The numerator of the ratio.
    n_components : int
        Number of vectors.
    tol : float
        Ratios below this fraction of the largest one are zero.

    Returns
    -------
    eigenvalues : ndarray of shape (n_components,)
        The ratios, in falling order.
    vectors : ndarray of shape (n_coordinates, n_components)
        The x, with a denominator of one.
    """
    within = total - means @ means.T
    within.flat[:: len(within) + 1] += penalty
    if criterion == "total":
        return _dense_eigenpairs(total, n_components, tol, within)
    # x = (S_w + lambda I)^-1 N v with eigenvectors v of a matrix of order c - 1.
    directions = inverse_of(within)(means)
    ratios, vectors = _dense_eigenpairs(means.T @ directions, n_components, tol)
    return ratios, directions @ (vectors / np.sqrt(ratios))


def solve_dual(solve, indicators, images, penalty, criterion, n_components, tol):
    """Solve by the inverse of the regularized Gram matrix of the samples.

    Parameters
    ----------
    solve : callable
        Multiplies vectors, the columns of a matrix, by (F F^T + lambda I)^-1.
    indicators : ndarray of shape (n_samples, n_classes - 1)
        The matrix E.
    images : ndarray of shape (n_samples, n_classes - 1)
        F F^T E.
    penalty, criterion, n_components, tol
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
        ratios, vectors = _positive_leading((ratios, vectors), n_components, tol)
        vectors = vectors * np.sqrt((1 + ratios) / ratios)
        return ratios, solved @ vectors, smoothed @ vectors

    correction = smoothed @ vectors @ vectors.T

    def multiply(scores):
        return scores - penalty * solve(scores) + correction @ (smoothed.T @ scores)

    eigenvalues, scores = _leading_eigenpairs(multiply, smoothed, n_components, tol)
    scores = scores * np.sqrt(eigenvalues)
    duals = solve(scores / eigenvalues + indicators @ (indicators.T @ scores))
    return eigenvalues, duals, scores


def solve_iteratively(kernel, indicators, penalty, criterion, n_components, tol):
    """Solve for F = K, a semidefinite kernel matrix, without its square.

    The best x in a subspace leave residuals, which are preconditioned and added to the
    subspace (E. R. Davidson, Journal of Computational Physics 17(1), 1975). The
    preconditioner is (K + sqrt(lambda) I)^-2. For an eigenvalue d of K, its inverse is
    between d^2 + lambda and twice that, whatever K, so that the error falls by a factor
    of about six a step. Single precision is enough for it.

    Parameters
    ----------
    kernel : ndarray of shape (n_samples, n_samples)
        The centered kernel matrix.
    indicators, penalty, criterion, n_components, tol
        As for :func:`solve_dual`.

    Returns
    -------
    eigenvalues, vectors, scores : ndarray
        The ratios, the x and the F x; their relative errors are below 2e-8, and those
        of the ratios below rounding.

    Raises
    ------
    LinAlgError
        If K is not semidefinite to single precision, or the iteration is slow.
    """
    shifted = kernel.astype(np.float32)
    shifted.flat[:: len(kernel) + 1] += np.sqrt(penalty)
    solve = inverse_of(shifted)

    def multiply(block):  # rows times a matrix are faster than a matrix times columns
        return (np.ascontiguousarray(block.T) @ kernel).T

    def precondition(block):
        return solve(solve(block.astype(np.float32))).astype(np.float64)

    # With "total", an x may be orthogonal to all class means, hence random vectors.
    random = np.random.default_rng(0).standard_normal((len(kernel), 2))
    block = np.hstack([precondition(multiply(indicators)), multiply(multiply(random))])
    basis = images = np.empty((len(kernel), 0))
    most, tiny = len(kernel) // 4, np.finfo(np.float64).tiny
    while np.isfinite(block).all() and basis.shape[1] + block.shape[1] <= most:
        block = block / np.maximum(np.linalg.norm(block, axis=0), tiny)
        for _ in range(2):  # once leaves a part that is not orthogonal, by rounding
            block, _ = np.linalg.qr(block - basis @ (basis.T @ block))
        basis, images = np.hstack([basis, block]), np.hstack([images, multiply(block)])
        small = images.T @ images, images.T @ indicators
        ratios, x = solve_primal(*small, penalty, criterion, n_components, tol)
        vectors, scores = basis @ x, images @ x
        between = indicators @ (indicators.T @ scores)
        numerator = scores if criterion == "total" else between
        # S_t x / rho - (S_w + lambda I) x, where all scatter matrices begin with K.
        residuals = multiply(numerator / ratios - scores + between) - penalty * vectors
        block = precondition(residuals)
        errors = np.linalg.norm(block, axis=0) / np.linalg.norm(vectors, axis=0)
        if (errors <= np.sqrt(_EPS)).all():  # errors of ratios are squares
            return ratios, vectors, scores
        block = block[:, errors > np.sqrt(_EPS)]
    raise LinAlgError("the iteration is slow")


def inverse_of(matrix):
    """Function that multiplies by the inverse of a definite matrix; overwrites it."""
    # The transpose of an array in C order is one in Fortran order, of which LAPACK
    # needs no copy.
    factor = cho_factor(matrix.T, lower=True, overwrite_a=True, check_finite=False)
    return partial(cho_solve, factor, check_finite=False)


def pivoted_cholesky(matrix, tol):
    """Factor a semidefinite matrix, as far as it is above rounding.

    Parameters
    ----------
    matrix : ndarray of shape (n, n)
        The matrix; not modified.
    tol : float
        Stopping tolerance: the largest diagonal entry of the residual matrix, divided
        by that of the matrix.

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


def _leading_eigenpairs(multiply, start, n_components, tol):
    """Leading eigenvectors of a symmetric operator, by a Lanczos iteration."""
    n = len(start)
    n_vectors = max(2 * n_components + 1, 20)  # of the iteration, see eigsh
    if n_vectors < n // 4:
        operator = LinearOperator((n, n), multiply, dtype=start.dtype)
        # An eigenvector that is orthogonal to the first vector is never found, hence
        # some random part of it.
        v0, random = start.sum(axis=1), np.random.default_rng(0).standard_normal(n)
        v0 += np.linalg.norm(v0) / n**0.5 * random
        # Many eigenvalues that are nearly equal do not converge.
        restarts = n // n_vectors  # of fewer than n products in all
        with suppress(ArpackNoConvergence):
            pairs = eigsh(operator, n_components, which="LA", v0=v0, maxiter=restarts)
            return _positive_leading(pairs, n_components, tol)
    return _dense_eigenpairs(multiply(np.eye(n)), n_components, tol)


def _dense_eigenpairs(matrix, n_components, tol, denominator=None):
    """Leading eigenvectors of a symmetric matrix, or of it and a definite one."""
    n = len(matrix)
    subset = [max(n - n_components, 0), n - 1]
    matrix = (matrix + matrix.T) / 2
    pairs = eigh(matrix, denominator, subset_by_index=subset, check_finite=False)
    return _positive_leading(pairs, n_components, tol)


def _positive_leading(pairs, n_components, tol):
    """The largest positive of ascending eigenvalues, descending, and their vectors."""
    eigenvalues, vectors = (array[..., ::-1][..., :n_components] for array in pairs)
    kept = eigenvalues > tol * max(eigenvalues[0], 0)
    return eigenvalues[kept], vectors[:, kept]
