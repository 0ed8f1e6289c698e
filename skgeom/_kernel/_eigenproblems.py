r"""Solvers of kernel discriminant analysis, as functions of matrices.

All solvers use the same notation. Row i of the matrix F contains the centered features
of sample i, multiplied by the square root of its weight, in coordinates in which the
penalty matrix is the identity. The columns of E are an orthonormal basis of the class
indicators of c classes. The scatter matrices are

.. math:: S_t = F^\top F, \quad S_b = N N^\top, \quad N = F^\top E, \quad
   S_w = S_t - S_b.

The vectors x of the components successively maximize the ratio of
:math:`x^\top S_t x` (criterion "total") or :math:`x^\top S_b x`
("between") to :math:`x^\top (S_w + \lambda I) x`, and are scaled such that the
denominator is one. For ``penalty="identity"``, F is the centered kernel matrix K, and x
contains the coefficients of the samples. For ``penalty="kernel"``,
:math:`F F^\top = K`, and x contains the coordinates of the function in the feature
space. Only the Gram matrix K is known, not F.

``solve_primal`` uses matrices of the order of x. ``solve_dual`` uses one Cholesky
factor of :math:`F F^\top + \lambda I`, whose order is the number of samples, and does
not need F. Its unknowns are the scores :math:`z = F x`. ``solve_iteratively`` factors
F = K in single precision.

The dual problem follows from :math:`S_t x = \rho (S_w + \lambda I) x`, which is
equivalent to

.. math:: (F^\top F + \lambda I) x = F^\top u, \quad u = z / \rho + E E^\top z.

Therefore :math:`x = F^\top (F F^\top + \lambda I)^{-1} u`, where
:math:`(F F^\top + \lambda I)^{-1} u` are called the duals. The scores are
:math:`z = H u` with the smoother :math:`H = F F^\top (F F^\top + \lambda I)^{-1} =
I - \lambda (F F^\top + \lambda I)^{-1}`. By the Woodbury identity, the scores are the
eigenvectors, with the eigenvalues :math:`\rho`, of

.. math:: (H^{-1} - E E^\top)^{-1} = H + H E (I - E^\top H E)^{-1} E^\top H.

For "between", the same steps lead to :math:`u = (1 + 1 / \rho) E E^\top z`, so z is in
the span of H E, and an eigenproblem of order c - 1 remains.
"""

from contextlib import suppress
from functools import partial

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve, eigh
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh

_EPS = np.finfo(np.float64).eps
# Fraction of the largest ratio below which ratios are rounding errors: with zero, some
# fits of collinear class means have a second discriminant (bench_constants.py).
_RANK_TOLERANCE = 1e-11


def class_contrasts(class_weights):
    """Orthonormal basis of the complement of the square roots of the class weights.

    The class weights sum to one. The vector of their square roots corresponds to the
    overall mean, to which differences between classes are orthogonal. The class
    indicators therefore need only n_classes - 1 columns.
    """
    return np.linalg.qr(np.sqrt(class_weights)[:, None], mode="complete")[0][:, 1:]


def rank_tolerance(regularization):
    """Fraction of the largest ratio below which ratios are rounding errors.

    The rounding errors of the ratios are proportional to 1 / lambda. Raises LinAlgError
    if the tolerance would be 1 or more.
    """
    tol = max(_RANK_TOLERANCE, 4 * _EPS / regularization)
    if tol >= 1:
        raise LinAlgError("the penalty is below rounding")
    return tol


def solve_primal(total, means, penalty, criterion, n_components, tol):
    """Solve with matrices of the order of x; "between" needs a factor of S_w.

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
        The ratios, in descending order.
    vectors : ndarray of shape (n_coordinates, n_components)
        The vectors x, scaled such that the denominator is one.
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
    """Solve with the inverse of the regularized Gram matrix of the samples.

    Parameters
    ----------
    solve : callable
        Multiplies the columns of a matrix by (F F^T + lambda I)^-1.
    indicators : ndarray of shape (n_samples, n_classes - 1)
        The matrix E.
    images : ndarray of shape (n_samples, n_classes - 1)
        The matrix F F^T E.
    penalty, criterion, n_components, tol
        As for :func:`solve_primal`.

    Returns
    -------
    eigenvalues : ndarray of shape (n_components,)
        The ratios, in descending order.
    duals : ndarray of shape (n_samples, n_components)
        The vectors (F F^T + lambda I)^-1 u, with x = F^T (F F^T + lambda I)^-1 u.
    scores : ndarray of shape (n_samples, n_components)
        The scores F x.
    """
    solved = solve(indicators)
    # For a small penalty, I - E^T H E is small. This form avoids cancellation.
    complement = penalty * (indicators.T @ solved)
    # H E is small for a large penalty, and nearly E for a small penalty. Each form
    # avoids cancellation in one of the cases.
    heavy = np.trace(complement) > len(complement) / 2
    smoothed = solve(images) if heavy else indicators - penalty * solved
    hat = indicators.T @ smoothed
    # The eigenproblem E^T H E v = r (I - E^T H E) v. The eigenvalues r are the ratios
    # of "between", and the matrix V of all v satisfies V V^T = (I - E^T H E)^-1.
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
    """Solve for F = K, a semidefinite kernel matrix, without computing its square.

    In each step, the residuals of the best x in a subspace are preconditioned and added
    to the subspace (E. R. Davidson, Journal of Computational Physics 17(1), 1975). The
    preconditioner is (K + sqrt(lambda) I)^-2. For an eigenvalue d of K, the inverse of
    the preconditioner is between d^2 + lambda and 2 (d^2 + lambda), so each step
    reduces the error by a factor of about six for any K. Single precision is sufficient
    for the preconditioner.

    Parameters
    ----------
    kernel : ndarray of shape (n_samples, n_samples)
        The centered kernel matrix.
    indicators, penalty, criterion, n_components, tol
        As for :func:`solve_dual`.

    Returns
    -------
    eigenvalues, vectors, scores : ndarray
        The ratios, the vectors x and the scores F x. The relative errors of the vectors
        and scores are below 2e-8, and the errors of the ratios are below rounding.

    Raises
    ------
    LinAlgError
        If K is not semidefinite in single precision, or if the iteration is slow.
    """
    shifted = kernel.astype(np.float32)
    shifted.flat[:: len(kernel) + 1] += np.sqrt(penalty)
    solve = inverse_of(shifted)

    def multiply(block):  # row vectors times K, faster than K times column vectors
        return (np.ascontiguousarray(block.T) @ kernel).T

    def precondition(block):
        return solve(solve(block.astype(np.float32))).astype(np.float64)

    # Random vectors, because with "total" an x may be orthogonal to all class means.
    random = np.random.default_rng(0).standard_normal((len(kernel), 2))
    block = np.hstack([precondition(multiply(indicators)), multiply(multiply(random))])
    basis = images = np.empty((len(kernel), 0))
    most, tiny = len(kernel) // 4, np.finfo(np.float64).tiny
    while np.isfinite(block).all() and basis.shape[1] + block.shape[1] <= most:
        block = block / np.maximum(np.linalg.norm(block, axis=0), tiny)
        for _ in range(2):  # twice, because of rounding errors
            block, _ = np.linalg.qr(block - basis @ (basis.T @ block))
        basis, images = np.hstack([basis, block]), np.hstack([images, multiply(block)])
        small = images.T @ images, images.T @ indicators
        ratios, x = solve_primal(*small, penalty, criterion, n_components, tol)
        vectors, scores = basis @ x, images @ x
        between = indicators @ (indicators.T @ scores)
        numerator = scores if criterion == "total" else between
        # S_t x / rho - (S_w + lambda I) x, where K is the left factor of all scatters.
        residuals = multiply(numerator / ratios - scores + between) - penalty * vectors
        block = precondition(residuals)
        errors = np.linalg.norm(block, axis=0) / np.linalg.norm(vectors, axis=0)
        if (errors <= np.sqrt(_EPS)).all():  # errors of the ratios are their squares
            return ratios, vectors, scores
        block = block[:, errors > np.sqrt(_EPS)]
    raise LinAlgError("the iteration is slow")


def inverse_of(matrix):
    """Function that multiplies by the inverse of a definite matrix.

    The matrix is overwritten.
    """
    # The transpose of an array in C order is in Fortran order, so LAPACK needs no copy.
    factor = cho_factor(matrix.T, lower=True, overwrite_a=True, check_finite=False)
    return partial(cho_solve, factor, check_finite=False)


def _leading_eigenpairs(multiply, start, n_components, tol):
    """Leading eigenvectors of a symmetric operator, by Lanczos iteration if large."""
    n = len(start)
    n_vectors = max(2 * n_components + 1, 20)  # Lanczos vectors, see eigsh
    if n_vectors < n // 4:
        operator = LinearOperator((n, n), multiply, dtype=start.dtype)
        # The random part, because eigenvectors that are orthogonal to the first vector
        # would not be found.
        v0, random = start.sum(axis=1), np.random.default_rng(0).standard_normal(n)
        v0 += np.linalg.norm(v0) / n**0.5 * random
        # With many nearly equal eigenvalues, the iteration does not converge.
        restarts = n // n_vectors  # with fewer than n products in total
        with suppress(ArpackNoConvergence):
            pairs = eigsh(operator, n_components, which="LA", v0=v0, maxiter=restarts)
            return _positive_leading(pairs, n_components, tol)
    return _dense_eigenpairs(multiply(np.eye(n)), n_components, tol)


def _dense_eigenpairs(matrix, n_components, tol, denominator=None):
    """Leading (generalized) eigenvectors of a symmetric matrix."""
    n = len(matrix)
    subset = [max(n - n_components, 0), n - 1]
    matrix = (matrix + matrix.T) / 2
    pairs = eigh(matrix, denominator, subset_by_index=subset, check_finite=False)
    return _positive_leading(pairs, n_components, tol)


def _positive_leading(pairs, n_components, tol):
    """The largest positive eigenvalues, in descending order, and their eigenvectors.

    The given eigenvalues are in ascending order.
    """
    eigenvalues, vectors = pairs
    eigenvalues = eigenvalues[::-1][:n_components]
    vectors = vectors[:, ::-1][:, :n_components]
    kept = eigenvalues > tol * max(eigenvalues[0], 0)
    return eigenvalues[kept], vectors[:, kept]
