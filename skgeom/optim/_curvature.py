"""What L-BFGS remembers of the curvature: steps s, and changes of the gradient y.

From its last few pairs follows a quasi-Newton direction. On a manifold each pair lives
in the tangent space in which it was made, and has to come to that of the present point.
How it does is what the two classes here differ in. Both store a pair only if it has
positive curvature ("cautious" update), so that, up to rounding, a direction is always
one of descent.
"""

from collections import deque

import numpy as np

from skgeom.optim._manifolds import Submanifold

# Beside the norm of the gradient, and the square of that of the step.
_LEAST_CURVATURE = 1e-6

# Pairs that there is room for at first.
_FIRST_ROOM = 10


def remembered_pairs(manifold, memory, preconditioned=False):
    """An empty memory for so many pairs of a manifold."""
    # A preconditioner needs the vectors between the two loops.
    if isinstance(manifold, Submanifold) and not preconditioned:
        return ProjectedPairs(manifold, memory)
    return CarriedPairs(manifold, memory)


class CarriedPairs:
    """Pairs that the manifold's vector transport carries to each new point.

    Parameters
    ----------
    manifold : pymanopt.manifolds.manifold.Manifold
        Where the search goes on.
    memory : int
        Number of pairs that are kept, the latest ones.
    """

    def __init__(self, manifold, memory):
        self._manifold = manifold
        self._pairs = deque(maxlen=memory)

    def __len__(self):
        return len(self._pairs)

    def clear(self):
        self._pairs.clear()

    def add(self, point, new_point, step, gradient, new_gradient):
        """Go on to a new point, with the pair of the step that led there."""
        manifold = self._manifold

        def carry(vector):
            return manifold.transport(point, new_point, vector)

        def inner(a, b):
            return manifold.inner_product(new_point, a, b)

        pairs = [(carry(s), carry(y)) for s, y, _ in self._pairs]
        pairs.append((carry(step), new_gradient - carry(gradient)))
        # A carried pair is tested again: a transport that is no isometry may have cost
        # it its curvature.
        least = _LEAST_CURVATURE * manifold.norm(point, gradient)
        self._pairs.clear()
        for s, y in pairs:
            curvature = inner(s, y)
            if least * inner(s, s) < curvature < np.inf:
                self._pairs.append((s, y, curvature))

    def direction(self, point, gradient, first=None):
        """The quasi-Newton direction, by the two-loop recursion; None without pairs.

        ``first`` multiplies a tangent vector by the first approximation of the inverse
        Hessian, which by default is a multiple of the identity.
        """
        if not self._pairs:
            return None

        def inner(a, b):
            return self._manifold.inner_product(point, a, b)

        direction, coefficients = -gradient, []
        for step, change, curvature in reversed(self._pairs):
            coefficients.append(inner(step, direction) / curvature)
            direction = direction - coefficients[-1] * change
        if first is None:
            _, change, curvature = self._pairs[-1]
            direction = (curvature / inner(change, change)) * direction
        else:
            direction = first(direction)
        for (step, change, curvature), coefficient in zip(
            self._pairs, reversed(coefficients), strict=True
        ):
            correction = coefficient - inner(change, direction) / curvature
            direction = direction + correction * step
        return direction


class ProjectedPairs:
    r"""Pairs of a submanifold of a Euclidean space, which are left as they were made.

    Projected to the tangent space of the present point, they have the products

    .. math:: \langle P a, P b \rangle = \langle a, b \rangle - N(a)^\top N(b)

    with the coordinates N of their parts that are normal there. These and the products
    with the gradient are all that a direction takes besides its sum ([1]_, theorem
    2.2): a few products of a matrix and a vector, instead of some hundred operations
    with vectors.

    Parameters
    ----------
    manifold : Submanifold
        Where the search goes on.
    memory : int
        Number of pairs that are kept, the latest ones.

    References
    ----------
    .. [1] R. H. Byrd, J. Nocedal and R. B. Schnabel, "Representations of quasi-Newton
       matrices and their use in limited memory methods", Mathematical Programming 63,
       1994.
    """

    def __init__(self, manifold, memory):
        self._manifold = manifold
        self._slots = deque(maxlen=memory)  # places of the pairs, from the oldest one
        # A pair has two rows: the step, and the change.
        self._vectors = np.empty((0, 0))
        self._products = np.empty((0, 0))
        self._least = np.empty(0)

    def __len__(self):
        return len(self._slots)

    def clear(self):
        self._slots.clear()

    def add(self, point, new_point, step, gradient, new_gradient):
        """Go on to a new point, with the pair of the step that led there."""
        memory, manifold = self._slots.maxlen, self._manifold
        change = new_gradient - gradient
        # The step needs no projection beside one that has been projected.
        curvature = np.vdot(step, manifold.projection(new_point, change))
        least = _LEAST_CURVATURE * manifold.norm(point, gradient) * np.vdot(step, step)
        if memory == 0 or not least < curvature < np.inf:
            return
        n_pairs = len(self._slots)
        slot = n_pairs if n_pairs < memory else self._slots[0]
        if slot == len(self._least):
            self._make_room(step.size)
        used = slice(2 * max(n_pairs, slot + 1))
        for row, vector in ((2 * slot, step.ravel()), (2 * slot + 1, change.ravel())):
            self._vectors[row] = vector
            products = self._vectors[used] @ vector
            self._products[row, used] = self._products[used, row] = products
        self._least[slot] = least
        self._slots.append(slot)

    def _make_room(self, size):
        """Room for twice as many pairs, or for all of them."""
        old = len(self._least)
        new = min(self._slots.maxlen, max(2 * old, _FIRST_ROOM))
        vectors, products = np.zeros((2 * new, size)), np.zeros((2 * new, 2 * new))
        if old:
            vectors[: 2 * old], products[: 2 * old, : 2 * old] = (
                self._vectors,
                self._products,
            )
        self._vectors, self._products = vectors, products
        self._least = np.append(self._least, np.zeros(new - old))

    def direction(self, point, gradient):
        """The quasi-Newton direction; None without pairs that have curvature here."""
        if not self._slots:
            return None
        used = slice(2 * len(self._slots))
        vectors = self._vectors[used]
        normal = self._manifold.normal(point, vectors.reshape(-1, *point.shape))
        products = self._products[used, used] - normal @ normal.T
        slots = np.array(self._slots)
        slots = slots[products[2 * slots, 2 * slots + 1] > self._least[slots]]
        if len(slots) == 0:
            return None
        steps, changes = 2 * slots, 2 * slots + 1
        with_changes = products[:, changes]
        triangle, squares = np.triu(with_changes[steps]), with_changes[changes]
        diagonal, inverse = np.diagonal(triangle), np.linalg.inv(triangle)
        scale = diagonal[-1] / squares[-1, -1]
        slopes = vectors @ gradient.ravel()
        # The two loops of the recursion, each as the solution of triangular equations.
        first = -inverse @ slopes[steps]
        rest = slopes[changes] + squares @ first
        second = inverse.T @ (diagonal * first + scale * rest)
        coefficients = np.zeros(len(vectors))
        coefficients[steps], coefficients[changes] = second, -scale * first
        total = (coefficients @ vectors).reshape(gradient.shape)
        return self._manifold.projection(point, total) - scale * gradient
