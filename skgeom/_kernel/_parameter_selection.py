"""Selection of gamma and of the regularization by leave-one-out predictions.

Kernel ridge regression predicts the class indicators of held-out samples. For each
gamma, the squared error of these predictions selects the regularization. The log
posterior of their softmax then selects gamma. One criterion for both is worse on tables
and images: with the squared error, the accuracy is 0.4 points lower, and with the log
posterior, few samples of many classes are classified 3 points worse, or rare classes
and discrete features have a larger log-loss (``test_leave_one_out.py``).
"""

import numpy as np

from skgeom._kernel._held_out_errors import remaining_shares
from skgeom._kernel._system import KernelSystem
from skgeom._selection import (
    PRECISION,
    choose,
    selection_of,
    tempered_scores,
    warn_if_at_chance,
    warn_of_end,
)
from skgeom.utils.progress import current_progress

# Predicted class indicators are probabilities, not their logarithms. Their softmax has
# temperatures from one over this number.
_SHARPEST = 32.0


def select(kernel, gammas, regularizations, ratio, part, identity):
    """Select gamma and the regularization by leave-one-out predictions.

    Parameters
    ----------
    kernel : Kernel
        The kernel.
    gammas : list
        Candidates of gamma in ascending order; [None] if the kernel has no gamma.
    regularizations : ndarray
        Candidates of the regularization for all samples, in descending order.
    ratio : float
        The regularization for all samples divided by that for the subsample.
    part : TrainingData
        The subsample.
    identity : bool
        As for :class:`~skgeom._kernel._system.KernelSystem`.

    Returns
    -------
    Selection
    """
    # Only groups that can be held out without removing a whole class.
    codes, groups, weights = part.codes, part.groups, part.weights
    remaining = remaining_shares(codes, groups, weights, part.class_weights)
    kept = (remaining > 0).all(axis=1)
    if not kept.any():
        KernelSystem(kernel, part, identity)  # explains if all samples are equal
        raise ValueError(
            "gamma and regularization cannot be selected by leave-one-out errors, "
            "because each group (without groups, each distinct sample) contains all "
            "samples of a class. Set both parameters to numbers, use more distinct "
            "samples, or use groups that share classes."
        )
    codes, groups = codes[kept], groups[kept]
    weights = weights[kept] / weights[kept].sum()
    # Relative to the remaining samples of the classes, predictions do not prefer large
    # classes, nor the classes without held-out samples.
    shares = remaining[kept] * part.class_weights
    n_classes = len(part.class_weights)
    members, chance = np.eye(n_classes), np.full(n_classes, 1 / n_classes)
    scores, compared, classes, progress = [], [], [], current_progress()
    for gamma in gammas:
        system = KernelSystem(kernel.with_gamma(gamma), part, identity)
        values = regularizations / ratio
        predicted = system.held_out_indicators(values, part.groups)[:, kept]
        joint, samples = _SHARPEST * predicted, (codes, weights, len(codes))
        scores.append(tempered_scores(joint, chance, *samples))
        # In these units, the error is minus the log-likelihood of Gaussian residuals.
        errors = np.square(predicted - members[codes]).sum(axis=2)
        errors /= 2 * (errors @ weights).min()
        best = choose({}, -errors, weights, groups).index
        # A kernel with equal class means has no discriminants.
        is_compared = (np.arange(len(values)) == best) & (not system.same_means)
        compared.append(is_compared)
        classes.append((predicted[best] / shares).argmax(axis=1))
        message, n_steps = f"{len(gammas) * len(values)} candidates", len(gammas)
        progress.step("selection", message, n_steps=n_steps, name="kernel")
    scores, compared = np.concatenate(scores), np.concatenate(compared)[:, None]
    tried = np.where(compared, scores, np.nan)
    index = choose({}, tried, weights, groups).index
    i, j = divmod(index, len(regularizations))
    warn_if_at_chance(members[classes[i]], codes, weights, groups)
    # No warning for the smallest gamma: the kernel is nearly linear, and would be
    # similar with a smaller gamma.
    if i and i == len(gammas) - 1:
        warn_of_end("gamma", gammas, i)
    # Nor for the smallest regularization if hardly any prediction is wrong.
    last = len(regularizations) - 1
    smallest = j == last and weights @ (classes[i] != codes) > PRECISION
    if last and (smallest or j == 0):
        warn_of_end("regularization", regularizations[::-1], last - j)
    candidates = {"regularization": np.tile(regularizations, len(gammas))}
    if kernel.uses_gamma:
        candidates = {"gamma": np.repeat(gammas, last + 1), **candidates}
    return selection_of(candidates, scores, weights, groups, index)
