"""The objective of AMA-Gauss of samples in the blocks of Dask arrays and frames."""

from copy import copy

import numpy as np

from skgeom.objectives import MeanInformation


class BlockInformation:
    """:class:`~skgeom.objectives.MeanInformation` of delayed blocks of samples.

    It is what :func:`skgeom.optim.maximize_in_batches` takes: a batch is a block, or
    some blocks, and ``n_samples`` is their number.

    Parameters
    ----------
    blocks : list of tuple
        Delayed samples and labels of each block.
    statistics : ClassStatistics
        Those of all samples.
    regularization, log_priors
        As for ``MeanInformation``.
    factors : ndarray of shape (c,)
        Weights of the samples of each class.
    """

    # Each block is a task of Dask, and takes threads as it likes.
    parallel = False

    def __init__(self, blocks, statistics, regularization, log_priors, factors):
        import dask

        self.blocks = blocks
        self.n_features = statistics.n_features
        self._basis = None
        # One node of the graph for all blocks.
        self._model = dask.delayed(
            (statistics, regularization, log_priors, factors), traverse=False
        )
        weights = statistics.counts * factors
        self.mean_log_prior = float(weights @ log_priors / weights.sum())

    @property
    def n_samples(self):
        """Number of blocks."""
        return len(self.blocks)

    def sample(self, numbers):
        """The same objective of some of the blocks."""
        sampled = copy(self)
        sampled.blocks = [self.blocks[number] for number in numbers]
        return sampled

    def growing_samples(self, random_state):
        """No samples of pairs, as :class:`MeanPairwiseDistance` has."""
        return []

    def projection_dominates(self, n_filters):
        """Whether an evaluation mostly projects samples and classes."""
        return True

    def project(self, basis):
        """The same objective for filters ``basis @ G``, as a function of G."""
        projected = copy(self)
        projected._basis = basis if self._basis is None else self._basis @ basis
        projected.n_features = basis.shape[1]
        return projected

    def __call__(self, filters):
        """Value and gradient; the samples are read."""
        import dask

        lifted = filters if self._basis is None else self._basis @ filters
        evaluate = dask.delayed(_evaluate)
        parts = dask.compute(
            *(evaluate(*block, self._model, lifted) for block in self.blocks)
        )
        total = sum(weight for weight, _, _ in parts)
        if total == 0:
            return 0.0, np.zeros_like(filters)
        value = sum(weight * value for weight, value, _ in parts) / total
        gradient = sum(weight * gradient for weight, _, gradient in parts) / total
        return value, gradient if self._basis is None else self._basis.T @ gradient


def _evaluate(X, y, model, filters):
    """Sum of the weights of a block, with the value and the gradient of its mean."""
    statistics, regularization, log_priors, factors = model
    labels = np.searchsorted(statistics.classes, np.asarray(y))
    weights = factors[labels]
    if not weights.any():
        return 0.0, 0.0, np.zeros_like(filters)
    information = MeanInformation(
        np.asarray(X),
        labels,
        statistics.means,
        statistics.covariances,
        regularization,
        log_priors,
        weights=weights,
    )
    return weights.sum(), *information(filters)
