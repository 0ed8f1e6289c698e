"""Training of prototypes by stochastic gradient steps."""

from dataclasses import replace

import numpy as np
from sklearn.utils import gen_batches

from skgeom._prototypes._model import Fit, explain_singular
from skgeom.utils.array_api import like, namespace, take

# The largest step away from a sample, as a fraction of the distance. Chosen in
# `bench_lvq.py solvers`: with 1, or without a limit, the cost for the smallest variance
# is 3 times as high.
_REPULSION = 0.25


def fit_sgd(
    samples, model, loss, rates, scales, batch_size=1, shuffle=None, report=None
):
    """Minimize the loss by stochastic gradient steps.

    Parameters
    ----------
    samples : EncodedSamples
    model : Model
        The metric and the initial prototypes.
    loss : LikelihoodLoss or MarginLoss
        The loss of a sample.
    rates, scales : list of float
        Learning rate and scale of the loss in each epoch.
    batch_size : int, default=1
        Number of samples in each step.
    shuffle : RandomState, default=None
        Generator that shuffles the samples in each epoch; None keeps their order.
    report : callable, default=None
        Called as ``report("epoch", loss, result)`` after each epoch, where ``result``
        is a function that returns the current :class:`Fit`. Training stops if
        ``report`` returns True.

    Returns
    -------
    Fit
        The result, with the weighted sum of the losses in each epoch. The loss of a
        sample is computed before its step.
    """
    prototypes, losses = model.prototypes, []

    def result():
        found = replace(model, prototypes=prototypes, scale=scale)
        return Fit(found, np.array(losses), len(losses))

    for rate, scale in zip(rates, scales, strict=True):
        order = np.arange(samples.Z.shape[0])
        if shuffle is not None:
            order = shuffle.permutation(order)
        total = 0.0
        with explain_singular():
            for batch in gen_batches(len(order), batch_size):
                rows = like(order[batch], samples.y)
                Z = take(samples.Z, rows)
                pairs = model.metric.pairs(Z, prototypes)
                weights = take(samples.weights, rows)
                values, derivatives, _ = loss(
                    pairs.squared_distances, take(samples.y, rows), scale
                )
                total += float(weights @ values)
                # The gradient of a squared distance is -2 times the logarithm.
                coefficients = bounded(2 * rate * weights[:, None] * derivatives)
                prototypes = model.metric.step(prototypes, pairs, coefficients)
        losses.append(total)
        if report is not None and report("epoch", total, result):
            break
    return result()


def bounded(coefficients):
    """Coefficients (n, M), scaled so that steps have a limited length.

    A prototype moves by the sum of the logarithms of the samples of the batch, times
    their coefficients. The positive coefficients of a prototype, which attract it, are
    scaled to a sum of at most 1: the prototype then moves no farther than the distance
    of the farthest attracting sample. The negative coefficients, which repel it, are
    scaled to a sum of at least -1/4. The paper has no such limits. Without limits, a
    small sigma^2 causes steps so long that prototypes do not return.
    """
    xp = namespace(coefficients)
    attract, repel = xp.maximum(coefficients, 0), xp.minimum(coefficients, 0)
    attract = attract / xp.maximum(xp.sum(attract, axis=0), 1)
    return attract + repel / xp.maximum(-xp.sum(repel, axis=0) / _REPULSION, 1)
