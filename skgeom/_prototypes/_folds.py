"""Folds of held-out samples, and the trainings without them."""

from dataclasses import replace
from math import ceil, inf

import numpy as np
from scipy.sparse import issparse

from skgeom._held_out import distinct_rows, folds_of_distinct
from skgeom._prototypes._training import compare
from skgeom._selection import warn_if_at_chance
from skgeom.utils.array_api import like, take, to_numpy
from skgeom.utils.progress import current_progress


class Folds:
    """Samples that are held out in folds, and the trainings of the folds.

    Equal samples of a group are merged, and their weights are summed. The samples of a
    class are sorted by their distances from the initial prototypes, and assigned to
    five folds in this order, so folds do not depend on coordinates.

    Parameters
    ----------
    training : Training
        The samples and the initial prototypes.
    most : float, default=inf
        Largest number of samples; samples are omitted at regular intervals.
    enough : float, default=inf
        Number of held-out samples after which no further fold is held out. With groups,
        all folds are held out, because one fold can contain few groups.

    Attributes
    ----------
    parts : list of [Training, Training]
        The remaining and the held-out samples of each fold. Empty if samples of fewer
        than two classes can be held out.
    labels, weights, groups : ndarray of shape (n_held_out,)
        Class indices, weights and groups of the held-out samples.
    n_samples : int
        Number of samples.
    """

    def __init__(self, training, most=inf, enough=inf):
        training = replace(training, prototypes=training.start, scale=None)
        sample, groups = _distinct_samples(training, most)
        y, weights = to_numpy(sample.y), to_numpy(sample.weights)
        folds = folds_of_distinct(y, groups)
        self.n_samples, self.parts, rows = len(y), [], np.empty(0, dtype=int)
        for fold in np.unique(folds[folds >= 0]):  # some of the five folds may be empty
            out = folds == fold
            parts = _subset(sample, ~out), _subset(sample, out)
            self.parts.append(list(sample.refit(*parts) if sample.refit else parts))
            rows = np.append(rows, np.flatnonzero(out))
            if training.groups is None and len(rows) >= enough:
                break
        self.labels, self.weights, self.groups = y[rows], weights[rows], groups[rows]
        if len(np.unique(self.labels)) < 2:
            self.parts = []

    def scores(self, fit):
        """Scores of the classes for the held-out samples, of shape (n, n_classes).

        ``fit`` maps the training with the remaining samples and the training with the
        held-out samples to the fitted prototypes, at which the next call starts, and to
        the scores of the held-out samples.
        """
        found = []
        for number, parts in enumerate(self.parts):
            current_progress().note(f"training without fold {number}")
            prototypes, scores = fit(*parts)
            parts[0] = replace(parts[0], prototypes=prototypes)
            found.append(to_numpy(scores))
        return np.concatenate(found)

    def warn_if_at_chance(self, scores):
        """Warn if predictions of held-out samples are not better than chance."""
        samples, remedy = (self.labels, self.weights, self.groups), _REMEDY
        warn_if_at_chance(scores, *samples, remedy)


_REMEDY = ", increase n_prototypes, change class_weight"


def _subset(training, rows):
    """The training with some of its samples, given by a mask or indices."""
    rows = like(np.arange(training.Z.shape[0])[rows], training.y)
    names = "Z", "y", "weights", *(["X"] if training.refit else [])
    parts = {n: take(getattr(training, n), rows) for n in names}
    return replace(training, groups=None, **parts)


def _distinct_samples(training, most):
    """The training with at most ``most`` distinct samples, and their groups.

    The samples of a class are sorted by their distances from the nearest prototype of
    the class.
    """
    distances = training.metric.squared_distances
    squared = compare(distances, training.Z, training.prototypes)
    y, weights = to_numpy(training.y), to_numpy(training.weights)
    # Different samples can have equal distances, but not equal random projections.
    points = training.Z
    points = points if issparse(points) else to_numpy(points).reshape(len(y), -1)
    projection = points @ np.random.default_rng(0).standard_normal(points.shape[1])
    projection = projection.real / (projection.real.std() or 1)
    # Rounded to single precision, the values of equal samples are equal.
    values = np.column_stack([to_numpy(squared) / training.variance, projection])
    values = np.float32(1 + values)
    rows, weights, groups = distinct_rows(values, y, weights, training.groups)
    correct = to_numpy(training.labels) == y[rows, None]
    own = np.where(correct, values[rows, :-1], np.inf).min(axis=1)
    order = np.lexsort([own, y[rows]])[:: max(ceil(len(rows) / most), 1)]
    rows, weights, groups = rows[order], weights[order], groups[order]
    sample = _subset(training, rows)
    return replace(sample, weights=like(weights, training.weights)), groups
