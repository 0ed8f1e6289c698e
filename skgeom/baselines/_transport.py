r"""Costs of entropic transport plans between classes, and their gradients.

The plan between samples :math:`z_i` of weights a and :math:`z_j` of weights b, with the
costs :math:`C_{ij} = \|z_i - z_j\|^2`, is

.. math:: T_{ij} = a_i b_j \exp((f_i + g_j - C_{ij}) / \gamma), \quad
   T 1 = a, \; T^\top 1 = b .

Two linear systems are solved with one matrix, :math:`S = \operatorname{diag}(T^\top 1)
- T^\top \operatorname{diag}(1 / a) T`:

- f follows from g. The equation for g, :math:`T^\top 1 = b`, is that of the minimum of a
  convex function with the Hessian S, which Newton's method finds.
- The derivative of :math:`W = \langle T, C \rangle` is that of an implicit function.
  With the sum :math:`\alpha_i + \beta_j` that is closest to C in least squares with the
  weights T,

  .. math:: \frac{\partial W}{\partial C_{ij}} = T_{ij} \left(
     1 - \frac{C_{ij} - \alpha_i - \beta_j}{\gamma} \right) .

  :math:`\alpha` and :math:`\beta` are also the derivatives of W by a and b.

No iteration is differentiated, so that nothing but the plan of a pair is in memory.
"""

import numpy as np

# The mass that a plan may have at wrong places. The error of its cost is as large as the
# square of this, and that of the gradient as this.
_TOLERANCE = 1e-6
# Limits of iterations, for regularisations that are nearly zero.
_MAX_NEWTON = 100
_MAX_CONJUGATE_GRADIENT = 300
# Numbers in the plans that are computed together: as many as fit into a cache.
_BATCH = 40_000


class TransportCosts:
    r"""Costs of the plans between all pairs of classes, within and between them.

    Each search has its own: the plans of the last point are where those of the next
    begin.

    Parameters
    ----------
    codes : ndarray of shape (n_samples,)
        The numbers of the classes, from 0.
    weights : ndarray of shape (n_samples,)
        Positive weights of the samples.
    """

    def __init__(self, codes, weights):
        counts = np.bincount(codes)
        largest_first = np.argsort(-counts, kind="stable")
        members = np.split(np.argsort(codes, kind="stable"), np.cumsum(counts)[:-1])
        masses = [weights[rows] / weights[rows].sum() for rows in members]
        pairs = [
            (first, second)
            for position, first in enumerate(largest_first)
            for second in largest_first[position:]
        ]
        self._batches = [
            _Pairs(batch, members, masses) for batch in _batches(pairs, counts)
        ]

    def regularizations(self, Z):
        """Set the regularisation of each pair."""

    def set_regularization(self, regularization, Z=None):
        """Set the regularisation, in units of the mean cost of each pair at Z, if given.

        A pair without costs has none to be regularised.
        """
        for pairs in self._batches:
            scale = 1.0 if Z is None else pairs.mean_costs(Z)
            pairs.gamma = np.broadcast_to(regularization * scale, len(pairs.within))

    def __call__(self, Z):
        """Sums of the costs within the classes and between them, and the gradients.

        Parameters
        ----------
        Z : ndarray of shape (n_samples, n_components)
            The projected samples.

        Returns
        -------
        sums : ndarray of shape (2,)
            The sum within the classes, and that between them.
        gradients : ndarray of shape (2, n_samples, n_components)
            Their derivatives.
        """
        sums, gradients = np.zeros(2), np.zeros((2, *Z.shape))
        for pairs in self._batches:
            costs, at_first, at_second = pairs.costs_and_gradients(Z)
            kind = np.where(pairs.within, 0, 1)
            np.add.at(sums, kind, costs)
            np.add.at(gradients, (kind[:, None], pairs.first), at_first)
            np.add.at(gradients, (kind[:, None], pairs.second), at_second)
        return sums, gradients


def _batches(pairs, counts):
    """Parts of the pairs, which are in falling order of the sizes of their classes."""
    batch, room = [], 0
    for first, second in pairs:
        if batch and len(batch) == room:
            yield batch
            batch = []
        if not batch:
            room = max(1, _BATCH // (counts[first] * counts[second]))
        batch.append((first, second))
    yield batch


class _Pairs:
    """Some pairs of classes. The smaller classes are filled up with weights of zero."""

    def __init__(self, pairs, members, masses):
        self.within = np.array([first == second for first, second in pairs])
        self.first, self.a = _padded([p[0] for p in pairs], members, masses)
        self.second, self.b = _padded([p[1] for p in pairs], members, masses)
        self.gamma = None
        self._g = np.zeros_like(self.b)
        self._beta = np.zeros_like(self.b)

    def mean_costs(self, Z):
        costs, _, _ = self._costs(Z)
        return np.einsum("ki,kij,kj->k", self.a, costs, self.b)

    def _costs(self, Z):
        """Squared distances, and the samples less the mean of the first class."""
        first, second = Z[self.first], Z[self.second]
        mean = self.a[:, None] @ first
        first, second = first - mean, second - mean
        costs = -2 * first @ second.mT
        costs += np.square(first).sum(axis=-1)[..., None]
        costs += np.square(second).sum(axis=-1)[:, None]
        return np.maximum(costs, 0, out=costs), first, second

    def costs_and_gradients(self, Z):
        r"""Cost of each pair, and its derivatives by the samples of both classes.

        The cost is W plus what it changes by, to first order, if the marginals become
        what they should be.
        """
        costs, first, second = self._costs(Z)
        plan, masses = self._plan(costs)
        plan_costs = plan * costs
        of_rows = _ratio(plan_costs.sum(axis=-1), self.a)
        of_columns = plan_costs.sum(axis=1)
        self._beta = beta = _solve(
            plan,
            self.a,
            masses,
            of_columns - _rows_by(of_rows, plan),
            self._beta,
            _TOLERANCE,
        )
        alpha = of_rows - _ratio(_by_columns(plan, beta), self.a)
        values = plan_costs.sum(axis=(1, 2)) + ((self.b - masses) * beta).sum(axis=-1)
        weights = alpha[..., None] + beta[:, None]
        weights -= costs
        weights /= self.gamma[:, None, None]
        weights += 1
        weights *= plan
        at_first = weights.sum(axis=-1)[..., None] * first - weights @ second
        at_second = weights.sum(axis=1)[..., None] * second - weights.mT @ first
        return values, 2 * at_first, 2 * at_second

    def _plan(self, costs):
        """The plans, with the right sums of rows, and their sums of columns."""
        gamma = self.gamma[:, None]
        plan = self._g[:, None] - costs
        plan /= gamma[..., None]
        plan -= plan.max(axis=-1, keepdims=True)
        np.exp(plan, out=plan)
        plan *= self.b[:, None]
        plan *= _ratio(self.a, plan.sum(axis=-1))[..., None]
        for _ in range(_MAX_NEWTON):
            masses = plan.sum(axis=1)
            missing = self.b - masses
            error = np.abs(missing).sum(axis=-1).max()
            if not error > _TOLERANCE:
                break
            if error > 0.1:
                step = np.log(_ratio(self.b, masses, 1.0))
                step = np.clip(step, -30, 30)
            else:
                step = _solve(
                    plan, self.a, masses, missing, 0 * missing, min(0.1, error)
                )
                # The length that lowers the function for certain.
                reach = np.ptp(step, axis=-1, keepdims=True)
                step *= np.log1p(reach) / np.maximum(reach, 1e-300)
            self._g = self._g + gamma * step
            factors = np.exp(step)
            plan *= factors[:, None]
            plan *= _ratio(self.a, plan.sum(axis=-1))[..., None]
        return plan, masses


def _padded(classes, members, masses):
    """Rows and weights of classes, filled up to the largest with the first sample."""
    size = max(len(members[c]) for c in classes)
    rows = np.zeros((len(classes), size), dtype=np.intp)
    weights = np.zeros((len(classes), size))
    for position, c in enumerate(classes):
        rows[position, : len(members[c])] = members[c]
        weights[position, : len(members[c])] = masses[c]
    return rows, weights


def _ratio(numerator, denominator, otherwise=0.0):
    out = np.full(np.broadcast(numerator, denominator).shape, otherwise)
    return np.divide(numerator, denominator, out=out, where=denominator > 0)


def _by_columns(plan, vectors):
    return (plan @ vectors[..., None])[..., 0]


def _rows_by(vectors, plan):
    return (vectors[:, None] @ plan)[:, 0]


def _solve(plan, a, masses, right, start, tolerance):
    r"""Solve S x = right by conjugate gradients, for all pairs.

    S is singular for constant vectors, to which the right side is orthogonal. The
    preconditioner is :math:`\operatorname{diag}(T^\top 1)`.
    """
    inverse_a, inverse = _ratio(1.0, a), _ratio(1.0, masses)

    def product(x):
        return masses * x - _rows_by(inverse_a * _by_columns(plan, x), plan)

    x = start
    residual = right - product(x) if start.any() else right
    scaled = inverse * residual
    direction = scaled
    size = (residual * scaled).sum(axis=-1)
    enough = tolerance**2 * (right * inverse * right).sum(axis=-1)
    for _ in range(_MAX_CONJUGATE_GRADIENT):
        if not (size > enough).any():
            break
        image = product(direction)
        length = _ratio(size, (direction * image).sum(axis=-1))[:, None]
        x = x + length * direction
        residual = residual - length * image
        scaled = inverse * residual
        new_size = (residual * scaled).sum(axis=-1)
        direction = scaled + _ratio(new_size, size)[:, None] * direction
        size = new_size
        STATS[0] += 1
    return x


STATS = [0]
