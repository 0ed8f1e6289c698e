r"""Shortest geodesics between Gaussians by Newton's method on fibres.

The manifold of Gaussians of m dimensions is a quotient of a symmetric space (Kobayashi
2023), the SPD matrices G of order 2m + 1 with J G J = G^-1, where J swaps the first m
coordinates with the last m. The first m rows of G determine a Gaussian: the first m
columns are Sigma^-1, and the next column is Sigma^-1 mu. The *fibre* of a Gaussian is
the set of all G that determine it, one for each antisymmetric matrix Phi of order m,
the *fibre coordinate*. For mu = d and Sigma = diag(q)^2,

    G = F' F,    F = [ Q^-1   Q^-1 d   -Q^-1 (d d' / 2 + Phi) ]
                     [  0       1              -d'            ]    Q = diag(q).
                     [  0       0               Q             ]

The projection of G to its Gaussian is a Riemannian submersion (O'Neill 1966), so the
distance of two Gaussians is the smallest distance between a point of one fibre and a
point of the other. An affine map transforms the first Gaussian to the standard
Gaussian. Because of the symmetries of the space, its point can be fixed to G = I, and
the distance is minimized over the fibre coordinate Phi of the second Gaussian.

The block of F that maps the eigenspace of J with eigenvalue -1 to the eigenspace with
eigenvalue 1 is, in orthonormal bases,

    B = [ Q^-1 (I + d d' / 2 + Phi) / 2 - Q / 2 ]
        [              d' / sqrt(2)             ]    of shape (m + 1, m).

Let sinh(s_k / 2) be the singular values of B. The eigenvalues of log G are 0 and the
pairs s_k, -s_k, so the squared distance of I and G is

    value = |log G|^2 / 4 = sum(s_k^2) / 2.

The gradient of the value with respect to Phi is the upper right block of log G, of
order m, which is antisymmetric. It is zero if the geodesic from I to G is horizontal,
that is, orthogonal to the fibres. Newton's method minimizes the value for many pairs of
Gaussians at the same time, with conjugate gradients in a trust region.

Each iterate provides an upper and a lower bound of the distance. The geodesic from I to
G projects to a path between the Gaussians that is at most as long: the upper bound. The
lower bound (`_lower_bound`) is the upper bound minus a quantity that decreases to zero
with the norm of the gradient. The iteration stops when the difference of the bounds is
small enough.

S. Kobayashi, "Geodesics of multivariate normal distributions and a Toda lattice type
Lax pair", Physica Scripta 98(11), 2023. B. O'Neill, "The fundamental equations of a
submersion", Michigan Mathematical Journal 13, 1966.
"""

from typing import NamedTuple

import numpy as np

# Up to this length, every geodesic is the only shortest path between its ends. The
# manifold is homogeneous and has no closed geodesic, so its injectivity radius is the
# distance to the first conjugate point. The sectional curvature is at most 2/7, so this
# distance is at least pi sqrt(7/2) = 5.87. Numerical minimization yields 11.7496 for
# each m from 2 to 6. For m = 1, the manifold is a hyperbolic plane, which has no
# conjugate points.
INJECTIVITY_RADIUS = 11.7

# Largest number of iterations of Newton's method, and of the conjugate gradients in
# each Newton step. Not tuned: in practice, both stop earlier by their own criteria.
MAX_ITERATIONS = 300
EPS = np.finfo(np.float64).eps


def shortest_on_fibres(offset, scale, tol):
    """Fisher-Rao distances of p Gaussians from the standard Gaussian.

    Parameters
    ----------
    offset : ndarray of shape (p, m)
        Means of the Gaussians.
    scale : ndarray of shape (p, m)
        Standard deviations of the Gaussians, whose covariances are diagonal.
    tol : float
        Largest accepted error: absolute for distances up to 1, relative for larger
        distances.

    Returns
    -------
    found : ndarray of shape (4, p)
        The distances, the lower bounds, the upper bounds, and estimates of the errors.
        For distances above the injectivity radius, the lower bound is 0 and the error
        is the distance.
    fibres : ndarray of shape (p, m, m)
        The fibre coordinates Phi of the ends of the geodesics.
    """
    found, fibres = _descend(offset, scale, 0 * _least_trace(offset, scale), tol)
    if scale.shape[1] == 1:
        return found, fibres
    far = found[0] > INJECTIVITY_RADIUS
    if far.any():
        # Several geodesics, which are local minima, can connect the Gaussians. Each of
        # the two initializations at each of the two Gaussians finds the shortest one in
        # some cases.
        offset, scale = offset[far], scale[far]
        other_end = -offset / scale, 1 / scale
        # Multiplication by ``turn`` converts fibre coordinates for the second Gaussian
        # to fibre coordinates for exchanged Gaussians.
        turn = -1 / (scale[:, :, None] * scale[:, None, :])
        from_other = _least_trace(*other_end)
        starts = [
            (offset, scale, _least_trace(offset, scale), 1),
            (*other_end, from_other, 1 / turn),
            (*other_end, 0 * from_other, 1 / turn),
        ]
        best, at = found[:, far], fibres[far]
        for *start, factor in starts:
            other, fibre = _descend(*start, tol)
            shorter = other[2] < best[2]
            best = np.where(shorter, other, best)
            at = np.where(shorter[:, None, None], factor * fibre, at)
        found[:, far], fibres[far] = best, at
    far = found[0] > INJECTIVITY_RADIUS
    found[3, far] = found[0, far]
    return found, fibres


def squared_distance_gradients(offset, scale, fibre):
    """Derivatives of squared distances with respect to the second Gaussian.

    At the end of a shortest geodesic, the derivative of the squared length with respect
    to the fibre coordinate is zero. The derivatives with respect to the mean d and the
    covariance S at a fixed fibre coordinate are therefore the derivatives of the
    squared distance. In the block B of the docstring of this module, any factor of S
    may replace Q. A change dS of S corresponds to the change dS Q^-1 / 2 of the factor.

    Parameters
    ----------
    offset, scale : ndarray of shape (p, m)
        Means and standard deviations, as for :func:`shortest_on_fibres`.
    fibre : ndarray of shape (p, m, m)
        Fibre coordinates computed by :func:`shortest_on_fibres`.

    Returns
    -------
    of_offset : ndarray of shape (p, m)
        Derivatives with respect to d.
    of_covariance : ndarray of shape (p, m, m)
        Derivatives with respect to S, symmetric matrices: the change of the squared
        distance is their inner product with dS.
    """
    points = _Points.evaluate(offset, scale, fibre)
    slope = 4 * np.arcsinh(points.sinh) / np.hypot(1, points.sinh)
    # Derivatives with respect to the entries of B: the top block and the last row.
    top = (points.left * slope[:, None, :]) @ points.right
    last = (points.last * slope)[:, None, :] @ points.right
    top = top.mT / scale[:, None, :]
    outer = offset[:, :, None] * offset[:, None, :] / 2 + fibre
    diagonal = range(scale.shape[1])
    outer[:, diagonal, diagonal] += 1
    pulled = top @ outer.mT / scale[:, None, :] ** 2
    of_covariance = -(top + pulled) / 4
    of_offset = ((top + top.mT) @ offset[:, :, None])[:, :, 0] / 4
    of_offset += last[:, 0] / np.sqrt(2)
    return of_offset, (of_covariance + of_covariance.mT) / 2


def _least_trace(offset, scale):
    """The fibre coordinates with the smallest trace of G, a second initialization."""
    rows, columns = scale[:, :, None] ** 2, scale[:, None, :] ** 2
    outer = offset[:, :, None] * offset[:, None, :] / 2
    return outer * ((rows - columns) / (rows + columns))


class _Points(NamedTuple):
    """One point G on the fibre of each of p Gaussians, and its distance from I."""

    offset: np.ndarray  # (p, m), mean d of the second Gaussian
    scale: np.ndarray  # (p, m), its standard deviations q
    fibre: np.ndarray  # (p, m, m), fibre coordinate Phi, antisymmetric
    left: np.ndarray  # (p, m, m), left singular vectors of B without their last entries
    last: np.ndarray  # (p, m), the last entries of the left singular vectors
    sinh: np.ndarray  # (p, m), singular values sinh(s_k / 2) of B
    right: np.ndarray  # (p, m, m), right singular vectors of B in the rows
    value: np.ndarray  # (p,), squared distances of I and G

    @classmethod
    def evaluate(cls, offset, scale, fibre):
        """The points with the given fibre coordinates."""
        pairs, m = scale.shape
        block = np.empty((pairs, m + 1, m))
        top = block[:, :m]
        top[...] = offset[:, :, None] * offset[:, None, :] / 2 + fibre
        top /= 2 * scale[:, :, None]
        top[:, range(m), range(m)] += (1 - scale) * (1 + scale) / (2 * scale)
        block[:, m] = offset / np.sqrt(2)
        left, sinh, right = np.linalg.svd(block, full_matrices=False)
        value = 2 * (np.arcsinh(sinh) ** 2).sum(axis=-1)
        return cls(offset, scale, fibre, left[:, :m], left[:, m], sinh, right, value)

    def replace(self, mask, others):
        """Replace the points for which the mask is true by other points."""
        for array, other in zip(self[2:], others[2:], strict=True):
            array[mask] = other[mask]


class _Hessian(NamedTuple):
    """Hessian of the squared distance in the coordinates of :class:`_Model`.

    The squared distance is a function of the singular values of B. The second
    derivatives of such a function are divided differences of its first derivatives
    (Lewis and Sendov, "Twice differentiable spectral functions", SIAM Journal on Matrix
    Analysis 23, 2001). For a step X with the corresponding change C of B in the bases
    of singular vectors, the product of the Hessian and X is

        X + (pullback of direct * C + transposed * C'),

    where * multiplies entries, and X is the product with the Hessian I of the majorant.
    ``direct`` contains the divided differences minus the derivatives of the majorant.
    """

    size: np.ndarray
    left: np.ndarray
    right: np.ndarray
    direct: np.ndarray
    transposed: np.ndarray

    def product(self, step):
        """Products of the Hessians and steps of shape (p, m, m)."""
        change = self.left @ ((self.size * step) @ self.right.mT) / 2
        change = self.direct * change + self.transposed * change.mT
        pulled = self.left.mT @ change @ self.right
        return step + self.size * _antisymmetric(pulled) / 2


class _Model:
    """Quadratic models of the squared distance as a function of the fibre coordinate.

    The squared distance is the sum of 2 arsinh^2(sqrt(x)) over the squared singular
    values x of B, and this function of x is concave. Its tangent is therefore an upper
    bound. Because B is a linear function of Phi, the upper bound is a quadratic
    function of Phi, the majorant.

    The models use coordinates of Phi in which the Hessian of the majorant is I. In
    these coordinates, the Hessian of the squared distance is well-conditioned.
    """

    def __init__(self, points):
        self._points = points
        sinh, cosh = points.sinh, np.hypot(1, points.sinh)
        slope = 4 * np.arcsinh(sinh) / cosh  # first derivatives of 2 arsinh(sinh)^2
        curvature = (4 - slope * sinh) / cosh**2  # second derivatives
        ratio = _quotient(slope, sinh, 4.0)

        scaled = points.scale[:, :, None] * points.right.mT
        vectors, roots, _ = np.linalg.svd(scaled * np.sqrt(ratio)[:, None, :])
        squares = roots**2
        size = np.sqrt(8 / (squares[:, :, None] + squares[:, None, :]))
        left, right = points.left.mT @ vectors, scaled.mT @ vectors

        rows, columns = sinh[:, :, None], sinh[:, None, :]
        gaps, sums = rows - columns, rows + columns
        # The rounding error of a divided difference is about EPS / gap. For small gaps,
        # the mean of the second derivatives replaces it, with an error of about gap^2.
        gaps[np.abs(gaps) < 1e-5 * (1 + sums)] = 0
        mean = (curvature[:, :, None] + curvature[:, None, :]) / 2
        rows, columns = slope[:, :, None], slope[:, None, :]
        symmetric = _quotient(rows - columns, gaps, mean)
        antisymmetric = _quotient(rows + columns, sums, 4.0)
        direct = (symmetric + antisymmetric) / 2 - ratio[:, None, :]
        transposed = (symmetric - antisymmetric) / 2

        self.hessian = _Hessian(size, left, right, direct, transposed)
        pulled = left.mT @ (slope[:, :, None] * right)
        self.gradient = size * _antisymmetric(pulled) / 2
        # With respect to Phi itself, the gradient is the upper right block of log G.
        block = (points.left * slope[:, None, :]) @ points.right
        block /= 2 * points.scale[:, :, None]
        self.residual = np.linalg.norm(_antisymmetric(block), axis=(-2, -1))
        self._frame = points.scale[:, :, None] * vectors

    def moved(self, step):
        """The points after a step in the coordinates of the models."""
        step = self._frame @ (self.hessian.size * step) @ self._frame.mT
        offset, scale, fibre = self._points[:3]
        return _Points.evaluate(offset, scale, fibre + step)


def _descend(offset, scale, fibre, tol):
    """Newton's method with a trust region, starting at given fibre coordinates.

    The results are those of :func:`shortest_on_fibres`. The iteration of a pair stops
    when the difference of its bounds is small enough, or when the expected decrease of
    the squared distance is smaller than the rounding error.
    """
    points = _Points.evaluate(offset, scale, fibre)
    result, fibres = np.empty((4, len(scale))), np.empty_like(fibre)
    left = np.arange(len(scale))  # indices of the pairs that have not converged
    radius, last = np.ones(len(scale)), np.zeros(len(scale), dtype=bool)
    for _ in range(MAX_ITERATIONS):
        model = _Model(points)
        distance, rounding = np.sqrt(points.value), _rounding(points)
        lower = _lower_bound(points, model.residual)
        error = np.where(last, 0, distance - lower) + rounding
        result[:, left] = distance, lower - rounding, distance + rounding, error
        fibres[left] = points.fibre
        going = ~last & (error > tol * np.maximum(1, distance))
        if not going.any():
            break
        step, predicted, on_boundary = _step(model, radius)
        trial = model.moved(step)
        # Differences smaller than the rounding error do not affect the trust region.
        slack = 2 * distance * rounding + rounding**2
        gained = (points.value - trial.value + slack) / (predicted + slack)
        radius[gained < 0.25] = np.linalg.norm(step, axis=(-2, -1))[gained < 0.25] / 4
        radius[(gained > 0.5) & on_boundary] *= 4
        last = (predicted <= 1e-3 * slack) & ~on_boundary
        points.replace(gained > 0, trial)
        left, radius, last = left[going], radius[going], last[going]
        points = _select(points, going)
    return result, fibres


def _step(model, radius):
    """Minimize the models within the trust regions by conjugate gradients.

    Returns the steps, the decreases of the models, and whether a step ends on the
    boundary of the trust region.

    T. Steihaug, "The conjugate gradient method and trust regions in large scale
    optimization", SIAM Journal on Numerical Analysis 20, 1983.
    """
    steps = np.zeros_like(model.gradient)
    lowered, on_boundary = np.zeros(len(steps)), np.zeros(len(steps), dtype=bool)
    at = np.arange(len(steps))  # indices of the pairs in the arrays below
    hessian, step, residue = model.hessian, steps, -model.gradient
    direction, squared = residue, _dot(residue, residue)
    # The tolerance decreases with the gradient, so the last steps are Newton steps.
    goal = np.clip(np.sqrt(squared), 1e-4, 0.1) ** 2 * squared
    for _ in range(MAX_ITERATIONS):
        going = (squared > goal) & ~on_boundary[at]
        if not going.any():
            break
        if 4 * np.count_nonzero(going) < 3 * len(going):
            steps[at], at = step, at[going]
            hessian = _select(hessian, going)
            step, residue, direction, radius, squared, goal = (
                array[going]
                for array in (step, residue, direction, radius, squared, goal)
            )
            going = going[going]
        image = hessian.product(direction)
        curvature, length = _dot(direction, image), _dot(direction, direction)
        along = _dot(step, direction)
        room = np.maximum(radius**2 - _dot(step, step), 0)
        # The solution t of |step + t direction| = radius, without cancellation.
        limit = _quotient(room, along + np.sqrt(along**2 + length * room), 0.0)
        full = np.where(curvature > 0, _quotient(squared, curvature, 0.0), np.inf)
        t = np.where(going, np.minimum(full, limit), 0)
        lowered[at] += t * (squared - t * curvature / 2)
        on_boundary[at] |= going & (full >= limit)
        step = step + t[:, None, None] * direction
        residue = residue - t[:, None, None] * image
        previous, squared = squared, _dot(residue, residue)
        ratio = _quotient(squared, previous, 0.0)[:, None, None]
        direction = residue + ratio * direction
    steps[at] = step
    return steps, lowered, on_boundary


def _lower_bound(points, residual):
    """Lower bounds of distances up to the injectivity radius; 0 for larger distances.

    Let log G = H + V, where the vertical part V consists of the upper right block of
    log G, whose norm is ``residual``, and its transpose. H is horizontal, so exp(t H)
    for t from 0 to 1 projects to a geodesic of length |H| / 2. Up to the injectivity
    radius, this length is the distance of the end of the geodesic from the standard
    Gaussian. The distance of this end from the second Gaussian is at most the distance
    from exp(H) to exp(H + V). The triangle inequality implies

        d >= |H| / 2 - sup |dexp| |V| / 2,    |V| / 2 = residual / sqrt(2).

    The differential dexp of the exponential at X multiplies by factors sinh(a) / a,
    where a are half of the differences of the eigenvalues of X (Helgason, "Differential
    geometry, Lie groups, and symmetric spaces", theorem IV.4.1). Between H and H + V,
    all a are at most the largest eigenvalue of log G plus ``residual``, which is called
    ``spread`` in the code.
    """
    # sinh(700) is finite.
    spread = np.minimum(2 * np.arcsinh(points.sinh[:, 0]) + residual, 700)
    growth = _quotient(np.sinh(spread), spread, 1.0)
    horizontal = np.sqrt(np.maximum(points.value - residual**2 / 2, 0))
    bound = np.maximum(horizontal - growth * residual / np.sqrt(2), 0)
    known = points.value <= INJECTIVITY_RADIUS**2
    return bound * (known | (points.sinh.shape[1] == 1))


def _rounding(points):
    """Estimates of the rounding errors of distances.

    The errors increase with the largest singular value of B.
    """
    return EPS * (points.sinh.shape[1] + 8 * points.sinh[:, 0])


def _select(arrays, mask):
    """The entries of a named tuple of arrays for the pairs in ``mask``."""
    return type(arrays)(*(array[mask] for array in arrays))


def _antisymmetric(matrices):
    """The antisymmetric parts of matrices."""
    return (matrices - matrices.mT) / 2


def _dot(a, b):
    """Inner products of two stacks of matrices."""
    return np.einsum("pij,pij->p", a, b)


def _quotient(a, b, limit):
    """The quotient a / b, or ``limit`` where b is zero."""
    zero = b == 0
    return np.where(zero, limit, a / np.where(zero, 1, b))
