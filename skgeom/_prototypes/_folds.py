"""Folds of held-out samples, and the models of the folds."""

from dataclasses import replace
from math import ceil, inf

import numpy as np
from scipy.sparse import issparse

from skgeom._held_out import distinct_rows, folds_of_distinct
from skgeom._selection import warn_if_at_chance
from skgeom.utils.array_api import like, to_numpy


class Folds:
    """Samples that are held out in folds, and the remaining samples.

    Equal samples of a group are merged, and their weights are summed. The samples of a
    class are sorted by their distances from the initial prototypes, and assigned to
    five folds in this order, so folds do not depend on coordinates.

    Parameters
    ----------
    samples : EncodedSamples
    model : Model
        The initial prototypes.
    encode : callable or None
        Maps the remaining and the held-out samples of a fold to both, encoded without
        the labels of held-out samples, and to the initial model. None if the encoding
        does not depend on labels.
    most : float, default=inf
        Largest number of samples; samples are omitted at regular intervals.
    enough : float, default=inf
        Number of held-out samples after which no further fold is held out. With groups,
        all folds are held out, because one fold can contain few groups.

    Attributes
    ----------
    parts : list of tuple (EncodedSamples, EncodedSamples, Model)
        The remaining and the held-out samples of each fold, and the model at which the
        next training starts. Empty if samples of fewer than two classes can be held
        out.
    labels, weights, groups : ndarray of shape (n_held_out,)
        Class indices, weights and groups of the held-out samples.
    n_samples : int
        Number of samples.
    """

    def __init__(self, samples, model, encode=None, most=inf, enough=inf):
        self._of_matrices = samples.X.ndim == 3
        if encode is None:
            samples = replace(samples, X=None)
        has_groups = samples.groups is not None
        samples, groups = _distinct_samples(samples, model, most)
        y, weights = to_numpy(samples.y), to_numpy(samples.weights)
        folds = folds_of_distinct(y, groups)
        self.n_samples, self.parts, rows = len(y), [], np.empty(0, dtype=int)
        for fold in np.unique(folds[folds >= 0]):  # some of the five folds may be empty
            out = folds == fold
            own = samples.take(np.flatnonzero(~out)), samples.take(np.flatnonzero(out))
            self.parts.append(encode(*own) if encode else (*own, model))
            rows = np.append(rows, np.flatnonzero(out))
            if not has_groups and len(rows) >= enough:
                break
        self.labels, self.weights, self.groups = y[rows], weights[rows], groups[rows]
        if len(np.unique(self.labels)) < 2:
            self.parts = []

    def warn_if_at_chance(self, scores):
        """Warn if predictions of held-out samples are not better than chance."""
        samples, remedy = (self.labels, self.weights, self.groups), _REMEDY
        warn_if_at_chance(scores, *samples, remedy, self._of_matrices)


_REMEDY = ", increase n_prototypes, change class_weight"


def _distinct_samples(samples, model, most):
    """At most ``most`` distinct samples, and their groups.

    The samples of a class are sorted by their distances from the nearest prototype of
    the class.
    """
    squared = to_numpy(model.squared_distances(samples.Z)) * model.n_copies
    y, weights = to_numpy(samples.y), to_numpy(samples.weights)
    # Different samples can have equal distances, but not equal random projections.
    points = samples.Z
    points = points if issparse(points) else to_numpy(points).reshape(len(y), -1)
    projection = points @ np.random.default_rng(0).standard_normal(points.shape[1])
    projection = projection.real / (projection.real.std() or 1)
    # Rounded to single precision, the values of equal samples are equal.
    values = np.column_stack([squared / model.variance, projection])
    values = np.float32(1 + values)
    rows, weights, groups = distinct_rows(values, y, weights, samples.groups)
    correct = to_numpy(model.labels) == y[rows, None]
    own = np.where(correct, values[rows, :-1], np.inf).min(axis=1)
    order = np.lexsort([own, y[rows]])[:: max(ceil(len(rows) / most), 1)]
    rows, weights, groups = rows[order], weights[order], groups[order]
    weights = like(weights, samples.weights)
    return replace(samples.take(rows), weights=weights), groups
