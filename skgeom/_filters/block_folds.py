"""Folds of a cross-validation that are blocks of Dask arrays and frames."""

import numpy as np

from skgeom._moments import merge_sums, sums_of_block
from skgeom._statistics import ClassStatistics
from skgeom.utils._dask import map_row_blocks, merged


class BlockFolds:
    """Folds of every n-th block, and the statistics of their training parts.

    Parameters
    ----------
    X, y : Dask array or frame, and labels
    n_folds : int

    Attributes
    ----------
    parts : list of ClassStatistics
        Those of the test part of each fold.
    """

    def __init__(self, X, y, n_folds):
        import dask

        self._X, self._y = X, y
        parts = map_row_blocks(sums_of_block, X, y)
        if len(parts) < n_folds:
            raise ValueError(
                f"Folds are made of whole blocks, but X has {len(parts)} blocks, "
                f"fewer than the {n_folds} folds of cv. Make X of smaller chunks, or "
                "lower cv."
            )
        of_folds = [merged(parts[k::n_folds], merge_sums) for k in range(n_folds)]
        sums = dask.compute(*of_folds)  # in one pass
        for number, part in enumerate(sums):
            if part is None:
                raise ValueError(f"All blocks of fold {number} are empty.")
        self.parts = [ClassStatistics._make(*part.arrays()) for part in sums]
        self._check_classes()

    def _check_classes(self):
        for label in self.all().classes:
            where = [k for k, part in enumerate(self.parts) if label in part.classes]
            if len(where) == 1:
                raise ValueError(
                    f"Class {label} is in the blocks of fold {where[0]} only, so that "
                    "the others cannot predict it. Shuffle the samples, so that each "
                    "block has some of each class."
                )

    def __len__(self):
        return len(self.parts)

    def training(self, index):
        """Statistics of the training part of a fold."""
        first, *others = self.parts[:index] + self.parts[index + 1 :]
        return first._merged(*others)

    def all(self):
        """Statistics of all samples."""
        first, *others = self.parts
        return first._merged(*others)

    def accuracies(self, models):
        """Accuracies of the samples of each fold, by lists of models, in one pass.

        ``models`` holds, for each fold, pairs of filters (n, m) and a classifier of
        their features, or an error in the place of the pair. The result has the shape
        (n_folds, n_models), with NaN in the place of errors.
        """
        import dask

        counts = dask.compute(
            *map_row_blocks(_n_correct, self._X, self._y, None, models)
        )
        counts = [sum(counts[fold :: len(self)]) for fold in range(len(self))]
        sizes = [part.counts.sum() for part in self.parts]
        return np.array(counts) / np.array(sizes)[:, None]


def _n_correct(number, X, y, _, models):
    """How many samples of a block each model of its fold classifies correctly."""
    models = models[number % len(models)]
    if len(y) == 0:
        return np.zeros(len(models))
    X, y = np.asarray(X, dtype=np.float64), np.asarray(y)
    return np.array(
        [
            np.nan
            if isinstance(model, Exception)
            else np.sum(model[1].predict(X @ model[0]) == y)
            for model in models
        ]
    )
