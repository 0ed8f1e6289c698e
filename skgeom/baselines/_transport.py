r"""Costs of entropic transport plans between classes, and their gradients.

The plan between samples :math:`z_i` of weights a and :math:`z_j` of weights b, with the
costs :math:`C_{ij} = \|z_i - z_j\|^2`, is

.. math:: T_{ij} = a_i b_j \exp((f_i + g_j - C_{ij}) / \gamma), \quad
   T 1 = a, \; T^\top 1 = b .

Two linear systems are solved, both with the matrix
:math:`S = \operatorname{diag}(T^\top 1) - T^\top \operatorname{diag}(1 / a) T`:

- f follows from g. The equation for g, :math:`T^\top 1 = b`, is that of the minimum of
  a convex function with the Hessian :math:`S / \gamma`, which Newton's method finds.
- The derivative of :math:`W = \langle T, C \rangle` is that of an implicit function.
  With the sums :math:`\alpha_i + \beta_j` that are closest to C, in least squares with
  the weights T,

  .. math:: \frac{\partial W}{\partial C_{ij}} = T_{ij} \left(
     1 - \frac{C_{ij} - \alpha_i - \beta_j}{\gamma} \right) .

  :math:`\alpha` and :math:`\beta` are also the derivatives of W by a and b.

No iteration is differentiated: a pair of classes needs the memory of its plan only.
"""

from itertools import combinations_with_replacement

import numpy as np

# The mass that a plan may have in wrong places. The gradient has an error of about as
# much, and the cost one of about its square.
_TOLERANCE = 1e-6
# Above this, steps of Sinkhorn's algorithm; below it, of Newton's method.
_NEAR = 0.1
# Limits of iterations, which only plans that are hardly regularised come to.
_MAX_STEPS = 100
_MAX_CONJUGATE_GRADIENT = 300
# The largest logarithm of a factor in one step: no row of a plan may underflow.
_LONGEST = 30.0
# How much mass of its own a sample has lost if none of it is left to work with.
_LOST = 1e-200
# Plans are begun with a regularisation of at least this fraction of the largest cost,
# which then falls by this factor until it is what it should be.
_BEGIN = 0.02
_FALL = 8
# An eigenvalue of S is zero up to rounding if it is this small, relatively.
_SINGULAR = 1e-13
# Numbers of the plans that are computed together.
_BATCH = 160_000


class TransportCosts:
    """Costs of the plans between all pairs of classes, as a function of the samples.

    The plans at one point are where those at the next begin, so that a search along
    which they change little needs few iterations.

    Parameters
    ----------
    codes : ndarray of shape (n_samples,)
        The numbers of the classes, from 0.
    weights : ndarray of shape (n_samples,)
        Positive weights of the samples; those of each class are divided by their sum.
    gamma : ndarray of shape (n_classes, n_classes)
        The regularisation of each pair of classes.
    """

    def __init__(self, codes, weights, gamma):
        counts = np.bincount(codes)
        rows = np.split(np.argsort(codes, kind="stable"), np.cumsum(counts)[:-1])
        masses = [weights[r] / weights[r].sum() for r in rows]
        pairs = combinations_with_replacement(range(len(counts)), 2)
        # Pairs of about the same size come together.
        pairs = sorted(pairs, key=lambda pair: (-counts[list(pair)]).tolist())
        self._batches = [
            _Pairs(batch, rows, masses, gamma) for batch in _batches(pairs, counts)
        ]

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
            Their derivatives by the projected samples.
        """
        sums, gradients = np.zeros(2), np.zeros((2, *Z.shape))
        for batch in self._batches:
            costs, by_first, by_second = batch.costs_and_gradients(Z)
            np.add.at(sums, batch.kind, costs)
            np.add.at(gradients, (batch.kind[:, None], batch.first), by_first)
            np.add.at(gradients, (batch.kind[:, None], batch.second), by_second)
        return sums, gradients


def mean_costs(Z, codes, weights):
    """Mean costs of all pairs of classes, (n_classes, n_classes)."""
    total = np.bincount(codes, weights)
    means = np.array([np.bincount(codes, weights * z) for z in Z.T]) / total
    spread = np.bincount(codes, weights * np.square(Z - means.T[codes]).sum(axis=1))
    spread /= total
    gaps = np.square(means[:, :, None] - means[:, None]).sum(axis=0)
    return gaps + spread[:, None] + spread


def _batches(pairs, counts):
    """Parts of the pairs, of at most ``_BATCH`` numbers if all are filled up."""
    batch, sizes = [], 0
    for pair in pairs:
        sizes = np.maximum(sizes, counts[list(pair)])
        if batch and (len(batch) + 1) * sizes.prod() > _BATCH:
            yield batch
            batch, sizes = [], counts[list(pair)]
        batch.append(pair)
    yield batch


class _Pairs:
    """Pairs of classes. All are filled up to the same size by weights of zero."""

    def __init__(self, pairs, rows, masses, gamma):
        first, second = np.transpose(pairs)
        self.kind = (first != second).astype(int)
        self.first, self.a = _filled_up(first, rows, masses)
        self.second, self.b = _filled_up(second, rows, masses)
        self.gamma = gamma[first, second]
        self._no_g = np.where(self.b > 0, 0.0, -np.inf)
        self._g = self._no_g
        self._beta = np.zeros_like(self.b)

    def _costs(self, Z):
        """Squared distances, and the samples, less the mean of the first class."""
        first, second = Z[self.first], Z[self.second]
        mean = self.a[:, None] @ first
        first, second = first - mean, second - mean
        costs = first @ (-2 * second.mT)
        costs += np.square(first).sum(axis=-1)[..., None]
        costs += np.square(second).sum(axis=-1)[:, None]
        return np.maximum(costs, 0, out=costs), first, second

    def costs_and_gradients(self, Z):
        """Cost of each pair, and its derivatives by the samples of both classes.

        The cost is that of the plan, and what it changes by, to first order, as the
        plan gets the right sums.
        """
        costs, first, second = self._costs(Z)
        plan, masses = self._plan(costs)
        plan_costs = plan * costs
        of_rows, of_columns = plan_costs.sum(axis=2), plan_costs.sum(axis=1)
        means = _ratio(of_rows, self.a)
        right = of_columns - _row_times(means, plan)
        # The beta of the point before is close.
        beta = _solve(plan, self.a, masses, right, _TOLERANCE, start=self._beta)
        self._beta = beta
        alpha = means - _ratio(_times_column(plan, beta), self.a)
        values = of_rows.sum(axis=1) + ((self.b - masses) * beta).sum(axis=1)
        if not np.isfinite(values).all():  # nothing to begin the next point with
            self._g, self._beta = self._no_g, np.zeros_like(beta)
        weights = alpha[..., None] + beta[:, None]
        weights -= costs
        weights /= self.gamma[:, None, None]
        weights += 1
        weights *= plan
        by_first = weights.sum(axis=2)[..., None] * first - weights @ second
        by_second = weights.sum(axis=1)[..., None] * second - weights.mT @ first
        return values, 2 * by_first, 2 * by_second

    def _plan(self, costs):
        """The plans, and their sums of columns; those of rows are exact."""
        plan, masses, error = self._improve(costs, self.gamma)
        # The point before was too far away, or there was none, or error is NaN.
        if not error <= _TOLERANCE:
            self._g = self._no_g
            gamma = np.maximum(_BEGIN * costs.max(axis=(1, 2)), self.gamma)
            while (gamma > self.gamma).any():
                self._improve(costs, gamma)
                gamma = np.maximum(gamma / _FALL, self.gamma)
            plan, masses, _ = self._improve(costs, self.gamma)
        return plan, masses

    def _improve(self, costs, gamma):
        """Improve g; the plans, their sums of columns, and the mass in wrong places."""
        plan = self._g[:, None] - costs
        plan /= gamma[:, None, None]
        plan -= plan.max(axis=2, keepdims=True)
        np.exp(plan, out=plan)
        plan *= self.b[:, None]
        plan *= _ratio(self.a, plan.sum(axis=2))[..., None]
        for _ in range(_MAX_STEPS):
            masses = plan.sum(axis=1)
            missing = self.b - masses
            error = np.abs(missing).sum(axis=1).max()
            if error <= _TOLERANCE or (masses < _LOST * self.b).any():
                break
            if error > _NEAR:
                step = np.log(_ratio(self.b, masses, otherwise=1.0))
            else:
                step = _solve(plan, self.a, masses, missing, error)
                step -= (self.b * step).sum(axis=1, keepdims=True)
                # This length lowers the convex function for certain: along the step
                # its third derivative is at most the reach times the second.
                reach = np.ptp(step, axis=1, keepdims=True)
                step *= _ratio(np.log1p(reach), reach)
            step = np.clip(step, -_LONGEST, _LONGEST)
            self._g = self._g + gamma[:, None] * step
            plan *= np.exp(step)[:, None]
            plan *= _ratio(self.a, plan.sum(axis=2))[..., None]
        return plan, masses, error


def _filled_up(classes, rows, masses):
    """Rows and weights of classes, filled up with the first row and zero."""
    size = max(len(rows[c]) for c in classes)
    filled = np.zeros((len(classes), size), dtype=np.intp)
    weights = np.zeros((len(classes), size))
    for i, c in enumerate(classes):
        filled[i, : len(rows[c])] = rows[c]
        weights[i, : len(rows[c])] = masses[c]
    return filled, weights


def _solve(plan, a, masses, right, tolerance, start=None):
    r"""Solve S x = right for all pairs, by conjugate gradients.

    Where parts of two classes exchange no mass, S is singular up to rounding, and as
    good as orthogonal to the right side; so it is for constant x. The preconditioner is
    :math:`\operatorname{diag}(T^\top 1)`.
    """
    per_row, per_column = _ratio(1.0, a), _ratio(1.0, masses)

    def product(x):
        return masses * x - _row_times(per_row * _times_column(plan, x), plan)

    if start is None:
        x, residual = np.zeros_like(right), right
    else:
        x, residual = start, right - product(start)
    direction = scaled = per_column * residual
    size = (residual * scaled).sum(axis=1)
    enough = tolerance**2 * (per_column * right**2).sum(axis=1)
    active = size > enough
    for _ in range(_MAX_CONJUGATE_GRADIENT):
        image = product(direction)
        curvature = (direction * image).sum(axis=1)
        active &= curvature > _SINGULAR * (masses * direction**2).sum(axis=1)
        if not active.any():
            break
        length = np.divide(size, curvature, out=np.zeros_like(size), where=active)
        x = x + length[:, None] * direction
        residual = residual - length[:, None] * image
        scaled = per_column * residual
        before, size = size, (residual * scaled).sum(axis=1)
        direction = scaled + _ratio(size, before)[:, None] * direction
        active &= size > enough
    return x


def _times_column(plan, vectors):
    return (plan @ vectors[..., None])[..., 0]


def _row_times(vectors, plan):
    return (vectors[:, None] @ plan)[:, 0]


def _ratio(numerator, denominator, otherwise=0.0):
    """The ratio, and another value where the denominator is not positive."""
    out = np.full(np.shape(denominator), otherwise)
    return np.divide(numerator, denominator, out=out, where=denominator > 0)
