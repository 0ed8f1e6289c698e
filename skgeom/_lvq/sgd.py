"""Prototypes learnt by stochastic steps: algorithm 1 of Tang et al. (2021)."""

from dataclasses import dataclass
from functools import partial
from numbers import Integral, Real

import numpy as np
from sklearn.utils import gen_batches
from sklearn.utils._param_validation import Interval, StrOptions

from skgeom._lvq.problem import SINGULAR, Outcome
from skgeom.utils.array_api import astype, like, linear_algebra, namespace, sum_of, take

# Of the estimators that have this solver.
STOCHASTIC_CONSTRAINTS = {
    "solver": [StrOptions({"auto", "lbfgs", "sgd"})],
    "learning_rate": [StrOptions({"auto"}), Interval(Real, 0, None, closed="neither")],
    "batch_size": [Interval(Integral, 1, None, closed="left")],
    "shuffle": ["boolean"],
}

# The largest step away from a sample, as a fraction of the distance.
_REPULSION = 0.25


@dataclass(frozen=True)
class Schedule:
    """What changes with the epochs: a learning rate and a scale of the loss for each.

    ``batch_size`` samples make a step; ``shuffle``, a RandomState or None, orders them.
    """

    rates: list
    scales: list
    batch_size: int = 1
    shuffle: object = None


def decay(epoch, n_epochs):
    """Factor of the learning rate, a hundredth in the last epoch."""
    return 0.01 ** (epoch / n_epochs)


def falling(first_rates, weights):
    """Learning rates that fall from first rates, one for each epoch, to a hundredth.

    Steps are weighted by the samples; a common factor of the weights changes nothing.
    """
    mean_weight = float(namespace(weights).mean(weights))
    n_epochs = len(first_rates)
    return [
        rate * (decay(epoch, n_epochs) / mean_weight)
        for epoch, rate in enumerate(first_rates, start=1)
    ]


def fit_sgd(problem, loss, schedule, report=None):
    """Take the epochs of a schedule from the start of a problem.

    Parameters
    ----------
    problem : Problem
        Samples, and prototypes to start from.
    loss : LikelihoodLoss or MarginLoss
        What is minimised.
    schedule : Schedule
        Learning rates, scales of the loss, batches.
    report : callable, default=None
        Called as ``report("epoch", loss, outcome)`` after each epoch, with a function
        that returns the outcome so far; the epochs end if it returns True.

    Returns
    -------
    Outcome
        With the sum of the losses met during each epoch.
    """
    steps = problem.space.stochastic(problem.prototypes)
    losses = []

    def outcome(scale):
        # The steps go on in the same array.
        moving = steps.prototypes
        prototypes = astype(moving, moving.dtype, copy=True)
        return Outcome(prototypes, float(scale), np.array(losses), len(losses))

    for rate, scale in zip(schedule.rates, schedule.scales, strict=True):
        order = np.arange(problem.Z.shape[0])
        if schedule.shuffle is not None:
            order = schedule.shuffle.permutation(order)
        options = scale, rate, order, schedule.batch_size
        try:
            with linear_algebra():
                losses.append(_epoch(steps, problem, loss, *options))
        except np.linalg.LinAlgError:
            raise ValueError(SINGULAR) from None
        if report is not None and report("epoch", losses[-1], partial(outcome, scale)):
            break
    return outcome(scale)


def _epoch(steps, problem, loss, scale, rate, order, batch_size):
    """One pass of stochastic steps; returns the sum of the losses met on the way."""
    total, Z = 0.0, problem.Z
    n_samples, order = len(order), like(order, Z)
    for batch in gen_batches(n_samples, batch_size):
        rows = order[batch]
        weights = take(problem.weights, rows)
        squared = steps.evaluate(take(Z, rows))
        losses, derivatives, _ = loss(squared, take(problem.y, rows), scale)
        total += weights @ losses
        # The gradient of a squared distance is -2 times the logarithm.
        coefficients = (2 * rate) * weights[:, None] * derivatives
        steps.move(bounded(coefficients))
    steps.refresh()
    return float(total)


def bounded(coefficients):
    """Coefficients (n, M) whose sums over the samples are in bounds.

    A prototype moves by the sum over the batch of its coefficients times the logarithms
    of the samples. Positive coefficients, which attract, are made to sum to at most
    one, so that they do not lead farther than the farthest of their samples; negative
    ones, which repel, to at most a quarter, so that they lead at most a quarter as far
    as the farthest of theirs. The paper has no such bounds; without them, a small
    sigma^2 sends prototypes away for good.
    """
    xp = namespace(coefficients)
    attract, repel = xp.maximum(coefficients, 0), xp.minimum(coefficients, 0)
    attract = attract / xp.maximum(sum_of(attract, axis=0), 1)
    return attract + repel / xp.maximum(-sum_of(repel, axis=0) / _REPULSION, 1)
