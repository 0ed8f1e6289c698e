r"""The shortest geodesics between Gaussians, found by a search on fibres.

The Gaussians of m dimensions are the quotient of a symmetric space, that of the SPD
matrices G of order 2m + 1 with J G J = G^-1, where J swaps the first m coordinates with
the last m (Kobayashi 2023). Every Gaussian is a fibre of such matrices, one for each
antisymmetric matrix of order m, the fibre coordinate. The projection onto Gaussians is
a Riemannian submersion (O'Neill 1966), so the distance of two Gaussians is the least
distance of their fibres. An affine map takes the first Gaussian to the standard one.
Its fibre is represented by G = I, and the search moves along the fibre of the second.

With the mean d and the covariance diag(q)^2 of the second, the eigenvalues of log G are
0 and pairs of plus and minus s_k, where sinh(s_k / 2) are the singular values of

    [ diag(q)^-1 (I + d d' / 2 + fibre) / 2 - diag(q) / 2 ]
    [                    d' / sqrt(2)                     ]    of shape (m + 1, m).

That is the block of a factor F of G = F' F which maps between the eigenspaces of J. The
squared length is sum(s_k^2) / 2 = |log G|^2 / 4. Its gradient in the fibre coordinate
is the vertical part of log G, a block that vanishes where the geodesic is horizontal.
Newton's method finds the minimum, with conjugate gradients in a trust region, for many
pairs at once.

Every point of the search gives a bracket of the distance. The geodesic from I to G
projects onto a path between the Gaussians that is not longer: the upper bound. The
lower bound, in `_lower_bound`, is below it by a multiple of the norm of the gradient.
So the bracket closes as the search converges, and its width is the stopping criterion.

S. Kobayashi, "Geodesics of multivariate normal distributions and a Toda lattice type
Lax pair", Physica Scripta 98(11), 2023. B. O'Neill, "The fundamental equations of a
submersion", Michigan Mathematical Journal 13, 1966.
"""

from typing import NamedTuple

import numpy as np

# Up to this length every geodesic is the only shortest one. The manifold is homogeneous
# and has no closed geodesic, so its injectivity radius is the distance to the first
# conjugate point. The sectional curvature is at most 2/7, which puts that point beyond
# pi sqrt(7/2) = 5.87; minimized numerically, it is at 11.7496 for each m from 2 to 6.
# One dimension is a hyperbolic plane, without conjugate points.
INJECTIVITY_RADIUS = 11.7

# Of Newton's method, and of conjugate gradients in each of its steps; not tuned: both
# end by their own criteria.
MAX_ITERATIONS = 300
EPS = np.finfo(np.float64).eps


def shortest_on_fibres(offset, scale, tol):
    """Distances of Gaussians from the standard one, and where the geodesics end.

    Parameters
    ----------
    offset : ndarray of shape (p, m)
        Means of the Gaussians.
    scale : ndarray of shape (p, m)
        Their standard deviations; the covariances are diagonal.
    tol : float
        Largest error accepted, relative to the distance where that exceeds 1.

    Returns
    -------
    found : ndarray of shape (4, p)
        The distances, their lower and upper bounds, and estimates of their errors.
        Where the shortest geodesic is not known to be unique, the lower bound is zero
        and the error is the distance.
    fibres : ndarray of shape (p, m, m)
        The fibre coordinates.
    """
    found, fibres = _descend(offset, scale, 0 * _least_trace(offset, scale), tol)
    if scale.shape[1] == 1:
        return found, fibres
    far = found[0] > INJECTIVITY_RADIUS
    if far.any():
        # There can be several geodesics, each a local minimum. Of the two starts at
        # each of the two Gaussians, any can be the one that finds the shortest.
        offset, scale = offset[far], scale[far]
        other_end = -offset / scale, 1 / scale
        # Converts fibre coordinates of one end to fibre coordinates of the other.
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

    At the fibre coordinate of a shortest geodesic, the derivative along the fibre is
    zero, so that the others are derivatives of the distance of Gaussians: the end
    velocity of the geodesic, twice, as a covector. A covariance S has the block of the
    docstring of this module with any factor of it in the place of diag(q); a change dS
    is the change dS diag(q)^-1 / 2 of the factor.

    Parameters
    ----------
    offset, scale : ndarray of shape (p, m)
        Means and standard deviations, as for :func:`shortest_on_fibres`.
    fibre : ndarray of shape (p, m, m)
        Fibre coordinates by :func:`shortest_on_fibres`.

    Returns
    -------
    of_offset : ndarray of shape (p, m)
    of_covariance : ndarray of shape (p, m, m)
        Symmetric; the change of the value is the inner product with dS.
    """
    points = _Points.evaluate(offset, scale, fibre)
    slope = 4 * np.arcsinh(points.sinh) / np.hypot(1, points.sinh)
    # Derivatives with respect to the entries of the block, top and last row.
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
    """The fibre coordinates with the least trace of G: a second start."""
    rows, columns = scale[:, :, None] ** 2, scale[:, None, :] ** 2
    outer = offset[:, :, None] * offset[:, None, :] / 2
    return outer * ((rows - columns) / (rows + columns))


class _Points(NamedTuple):
    """Points on the fibres of a stack of pairs, with their squared distances from I."""

    offset: np.ndarray  # (p, m), mean of the second Gaussian
    scale: np.ndarray  # (p, m), its standard deviations
    fibre: np.ndarray  # (p, m, m), antisymmetric
    left: np.ndarray  # (p, m, m), singular vectors without their last entries
    last: np.ndarray  # (p, m), these entries
    sinh: np.ndarray  # (p, m), singular values
    right: np.ndarray  # (p, m, m), singular vectors in the rows
    value: np.ndarray  # (p,), squared distances

    @classmethod
    def evaluate(cls, offset, scale, fibre):
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
        """Replace the entries where the mask is set."""
        for array, other in zip(self[2:], others[2:], strict=True):
            array[mask] = other[mask]


class _Hessian(NamedTuple):
    """Second derivatives of the squared distance in the coordinates of a model.

    A step changes the block by ``change``, in the basis of the singular vectors. The
    second derivatives of a function of singular values are divided differences of its
    slopes (Lewis and Sendov, "Twice differentiable spectral functions", SIAM Journal on
    Matrix Analysis 23, 2001). The derivatives of the majorant have been subtracted.
    """

    size: np.ndarray
    left: np.ndarray
    right: np.ndarray
    direct: np.ndarray
    transposed: np.ndarray

    def product(self, step):
        change = self.left @ ((self.size * step) @ self.right.mT) / 2
        change = self.direct * change + self.transposed * change.mT
        pulled = self.left.mT @ change @ self.right
        return step + self.size * _antisymmetric(pulled) / 2


class _Model:
    """Quadratic models of the squared distance at points on the fibres.

    The squared distance is a concave function of the squares of the singular values:
    its tangent in these is a quadratic majorant. The models are expressed in
    coordinates in which the majorant has the Hessian I, which makes the true Hessian
    well-conditioned: I less a correction.
    """

    def __init__(self, points):
        self._points = points
        sinh, cosh = points.sinh, np.hypot(1, points.sinh)
        slope = 4 * np.arcsinh(sinh) / cosh  # first derivatives of 2 arsinh^2
        curvature = (4 - slope * sinh) / cosh**2  # second derivatives
        ratio = _quotient(slope, sinh, 4.0)

        scaled = points.scale[:, :, None] * points.right.mT
        vectors, roots, _ = np.linalg.svd(scaled * np.sqrt(ratio)[:, None, :])
        squares = roots**2
        size = np.sqrt(8 / (squares[:, :, None] + squares[:, None, :]))
        left, right = points.left.mT @ vectors, scaled.mT @ vectors

        rows, columns = sinh[:, :, None], sinh[:, None, :]
        gaps, sums = rows - columns, rows + columns
        # A divided difference has an error of about EPS / gap, the mean of the second
        # derivatives, which replaces it, one of about gap^2.
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
        # In the fibre coordinate itself, the gradient is a block of log G.
        block = (points.left * slope[:, None, :]) @ points.right
        block /= 2 * points.scale[:, :, None]
        self.residual = np.linalg.norm(_antisymmetric(block), axis=(-2, -1))
        self._frame = points.scale[:, :, None] * vectors

    def moved(self, step):
        """The points after a step."""
        step = self._frame @ (self.hessian.size * step) @ self._frame.mT
        offset, scale, fibre = self._points[:3]
        return _Points.evaluate(offset, scale, fibre + step)


def _descend(offset, scale, fibre, tol):
    """Newton's method with a trust region, from given points on the fibres.

    The result is as for :func:`shortest_on_fibres`. Each search ends when its
    bracket is narrow enough, or when rounding hides any further progress.
    """
    points = _Points.evaluate(offset, scale, fibre)
    result, fibres = np.empty((4, len(scale))), np.empty_like(fibre)
    left = np.arange(len(scale))  # the pairs that have not converged
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
        # Differences as small as rounding count neither for nor against a step.
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
    """Conjugate gradients to the minimum of a model, or to the radius.

    Returns the steps, by how much they lower the model, and which end at the radius.
    T. Steihaug, "The conjugate gradient method and trust regions in large scale
    optimization", SIAM Journal on Numerical Analysis 20, 1983.
    """
    steps = np.zeros_like(model.gradient)
    lowered, on_boundary = np.zeros(len(steps)), np.zeros(len(steps), dtype=bool)
    at = np.arange(len(steps))  # the pairs of the arrays below, which shrink
    hessian, step, residue = model.hessian, steps, -model.gradient
    direction, squared = residue, _dot(residue, residue)
    # More accurate where the gradient is small, so that the last steps are Newton's.
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
        # The t with |step + t direction| = radius, in the form without cancellation.
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
    """Lower bound of distances of at most the injectivity radius, 0 of others.

    Write log G = H + V, where the vertical part V holds the block of norm ``residual``,
    twice. H is horizontal, so exp(t H) projects onto a geodesic of the length |H| / 2
    of H. Up to the injectivity radius, this is the distance of its end from the
    standard Gaussian. The end misses the second Gaussian by at most the distance from
    exp(H) to exp(H + V), and the triangle inequality gives

        d >= |H| / 2 - sup |dexp| |V| / 2,    |V| / 2 = residual / sqrt(2).

    The differential of the exponential at X scales by sinh(a) / a, where the a are half
    the differences of the eigenvalues of X (Helgason, "Differential geometry, Lie
    groups, and symmetric spaces", theorem IV.4.1). On the way from H to H + V they are
    at most the largest eigenvalue of log G plus ``residual``: the ``spread``.
    """
    # sinh(700) is still finite.
    spread = np.minimum(2 * np.arcsinh(points.sinh[:, 0]) + residual, 700)
    growth = _quotient(np.sinh(spread), spread, 1.0)
    horizontal = np.sqrt(np.maximum(points.value - residual**2 / 2, 0))
    bound = np.maximum(horizontal - growth * residual / np.sqrt(2), 0)
    known = points.value <= INJECTIVITY_RADIUS**2
    return bound * (known | (points.sinh.shape[1] == 1))


def _rounding(points):
    """Rounding error of distances, which grows with the largest singular value."""
    return EPS * (points.sinh.shape[1] + 8 * points.sinh[:, 0])


def _select(arrays, mask):
    """The same named tuple of arrays for some of the pairs."""
    return type(arrays)(*(array[mask] for array in arrays))


def _antisymmetric(matrices):
    return (matrices - matrices.mT) / 2


def _dot(a, b):
    """Inner products of two stacks of matrices."""
    return np.einsum("pij,pij->p", a, b)


def _quotient(a, b, limit):
    """The quotient a / b, and a limit where b is zero."""
    zero = b == 0
    return np.where(zero, limit, a / np.where(zero, 1, b))
