"""Training of prototypes by stochastic gradient steps."""

from dataclasses import replace

import numpy as np

from skgeom._prototypes._model import Fit, explain_singular
from skgeom.utils.array_api import like, namespace, take

# The largest step away from a sample, as a fraction of the distance. Chosen in
# `bench_lvq.py solvers`: with 1, or without a limit, the cost for the smallest variance
# is 3 times as high.
_REPULSION = 0.25


def fit_sgd(samples, model, loss, rates, scales, shuffle=None, report=None):
    """Minimize the loss by stochastic gradient steps, one for each sample.

    Parameters
    ----------
    samples : EncodedSamples
    model : Model
        The metric and the initial prototypes.
    loss : LikelihoodLoss or MarginLoss
        The loss of a sample.
    rates, scales : list of float
        Learning rate and scale of the loss in each epoch.
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
            for index in order:
                rows = like(np.array([index]), samples.y)
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
    """Coefficients, limited so that steps have a limited length.

    A prototype moves by the logarithm of the sample times its coefficient. A positive
    coefficient, which attracts the prototype, is at most 1: the prototype then moves no
    farther than to the sample. A negative coefficient is at least -1/4. The paper has
    no such limits. Without limits, a small sigma^2 causes steps so long that prototypes
    do not return.
    """
    return namespace(coefficients).clip(coefficients, -_REPULSION, 1)
