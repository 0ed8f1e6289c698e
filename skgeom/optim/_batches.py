"""Stochastic gradient descent on a manifold, for samples that do not fit in memory."""

import numpy as np

from skgeom.optim._minimize import MinimizeResult, StartError

# Length of the first steps, as a fraction of the typical distance between points: for
# digits, a tenth decreases the objective by 0.4 % (page "Constants").
_FIRST_STEP = 0.01
# A round consists of full epochs with at least _STEPS_PER_ROUND steps in total. The
# step length is halved if the mean cost of a round is not lower than the lowest mean
# cost of earlier rounds by the fraction _LEAST_FALL. The optimization ends after
# _MAX_HALVINGS halvings. For digits, other values of these three constants change
# the objective by at most 0.2 % (page "Constants").
_STEPS_PER_ROUND = 20
_LEAST_FALL = 1e-4
_MAX_HALVINGS = 8


def minimize_in_batches(
    value_and_gradient, n_batches, manifold, start, rng, *, max_iter, callback=None
):
    """Minimize the mean of a cost over batches by stochastic gradient descent.

    Each step follows the gradient of a batch, divided by the root mean square norm of
    all gradients so far (a Riemannian form of Adagrad, after Becigneul and Ganea,
    2019). The factor of the step length is halved whenever the mean cost of the batches
    no longer decreases. If a step leads to a point where the cost or its gradient is
    not finite, the optimization returns to the previous point, and halves the factor.

    Parameters
    ----------
    value_and_gradient : callable
        Maps a point to ``(cost, euclidean_gradient)`` of all batches, or of the batch
        whose number is its optional second argument.
    n_batches : int
        The number of batches.
    manifold : Submanifold
        The manifold.
    start : point of the manifold
        The initial point; not modified.
    rng : RandomState
        Random numbers that shuffle the batches.
    max_iter : int
        Maximum number of epochs.
    callback : callable, default=None
        Called as ``callback(point, cost)`` after each epoch with its mean cost; the
        optimization stops if it returns True.

    Returns
    -------
    MinimizeResult
        The last point, with the cost of all batches; ``n_iter`` is the number of
        epochs.

    Raises
    ------
    StartError
        If the cost or its gradient is infinite or NaN at the start.
    """
    step = _FIRST_STEP * manifold.typical_dist
    point, finite, size, n_steps = start, None, 0.0, 0
    best, halvings, n_epochs, values = None, 0, 0, []
    reason, converged = f"max_iter={max_iter} epochs were made.", False
    while n_epochs < max_iter:
        for batch in rng.permutation(n_batches):
            evaluated = _evaluate(value_and_gradient, manifold, point, batch)
            value, gradient, norm = evaluated
            if not np.isfinite(value + norm):
                point, step, halvings = _returned(finite), step / 2, halvings + 1
                continue
            finite = point
            values.append(value)
            n_steps += 1
            size += (norm**2 - size) / n_steps
            if size > 0:
                point = manifold.retraction(point, -step / np.sqrt(size) * gradient)
        n_epochs += 1
        recent = values[-n_batches:]  # empty if all values were not finite
        if callback is not None and recent and callback(point, np.mean(recent)):
            reason, converged = "The callback stopped the optimization.", True
            break
        if halvings > _MAX_HALVINGS:
            reason = "The objective is not finite close to the last point."
            break
        if len(values) < _STEPS_PER_ROUND:
            continue
        value, values = np.mean(values), []
        if best is not None and value >= best - _LEAST_FALL * abs(best):
            step, halvings = step / 2, halvings + 1
            if halvings > _MAX_HALVINGS:
                reason, converged = "The objective no longer rises.", True
                break
        best = value if best is None else min(best, value)
    value, _, norm = _evaluate(value_and_gradient, manifold, point)
    if not np.isfinite(value + norm):
        point = _returned(finite)
        value, _, norm = _evaluate(value_and_gradient, manifold, point)
    if not np.isfinite(value + norm):  # although a batch was finite
        reason, converged = "The objective of all samples is not finite.", False
    return MinimizeResult(point, value, norm, n_epochs, n_steps + 1, converged, reason)


def _evaluate(value_and_gradient, manifold, point, batch=None):
    try:
        value, gradient = value_and_gradient(point, batch)
    except np.linalg.LinAlgError:
        value, gradient = np.nan, np.zeros_like(point)
    gradient = manifold.euclidean_to_riemannian_gradient(point, gradient)
    return value, gradient, manifold.norm(point, gradient)


def _returned(finite):
    """The last point with finite values; StartError if there is none."""
    if finite is None:
        raise StartError("The objective is not finite.")
    return finite
