"""Folds of a cross-validation: their checks, their statistics, and their scores."""

from numbers import Integral

import numpy as np
from sklearn.base import clone

from skgeom._gaussian_classifier import GaussianClassifier
from skgeom._statistics import ClassStatistics
from skgeom.utils._grid_scores import check_score, find_splits
from skgeom.utils.array_api import take
from skgeom.utils.threads import map_threads, one_blas_thread


def checked_splits(cv, X, y, groups=None):
    """Training and test parts, arrays of indices, by ``cv`` as in scikit-learn."""
    if cv is None or isinstance(cv, Integral):
        _check_counts(5 if cv is None else cv, y)
    splits = find_splits(cv, X, y, groups)
    if not splits:
        raise ValueError("cv holds no split.")
    for number, (train, test) in enumerate(splits):
        for kind, part in (("training", train), ("test", test)):
            if not len(part):
                raise ValueError(f"The {kind} part of split {number} of cv is empty.")
        if (y[train] == y[train[0]]).all():
            raise ValueError(
                f"The training part of split {number} of cv has one class only: "
                f"{y[train[0]]}. Use stratified folds, or fewer."
            )
    return splits


def _check_counts(n_folds, y):
    classes, counts = np.unique(y, return_counts=True)
    rarest = counts.argmin()
    count = counts[rarest]
    # With three samples, a training part has two, which have a variance; scikit-learn
    # warns of such small classes.
    if count < min(n_folds, 3):
        samples = f"{count} samples" if count > 1 else "1 sample"
        remedy = f"Use cv={count}" if count > 1 else "Give cv as a list of splits"
        raise ValueError(
            f"Class {classes[rarest]} has {samples}, fewer than the {n_folds} folds of "
            f"cv. {remedy}, or leave this class out."
        )


class FoldStatistics:
    """Statistics of the classes in the training parts of some splits.

    Where the test parts are a partition of the samples, their statistics are computed
    once, and those of a training part are the sum of the others: a difference of the
    whole and a part would lose digits if that part has far outliers. So it is with the
    two parts of a single split.
    """

    def __init__(self, X, y, splits, covariance_estimator=None):
        self._X, self._y, self._splits = X, y, splits
        self._estimator = covariance_estimator
        self._parts = None
        # With very many folds, sums of matrices take longer than products of samples.
        few = len(splits) * len(np.unique(y)) <= len(y)
        if covariance_estimator is None and few and _are_partition(splits, len(y)):
            # Each core has a fold of its own; threads within products would compete.
            parallel = len(splits) > 1
            with one_blas_thread(parallel):
                self._parts = map_threads(self._of, _parts(splits), parallel)

    def __len__(self):
        return len(self._splits)

    def training(self, index):
        """Statistics of the training part of a split."""
        if self._parts is None:
            return self._of(self._splits[index][0])
        first, *others = self._parts[:index] + self._parts[index + 1 :]
        return first._merged(*others) if others else first

    def all(self):
        """Statistics of all samples."""
        if self._parts is None:
            return self._of(slice(None))
        return self._parts[0]._merged(*self._parts[1:])

    def _of(self, rows):
        return ClassStatistics._from_valid_data(
            take(self._X, rows), self._y[rows], self._estimator
        )


def _parts(splits):
    """The test parts; of a single split, both parts."""
    parts = [test for _, test in splits]
    return parts if len(parts) > 1 else [*parts, splits[0][0]]


def _are_partition(splits, n_samples):
    """Whether each sample is in one part, and in all other training parts."""
    parts = _parts(splits)
    if not np.array_equal(np.sort(np.concatenate(parts)), np.arange(n_samples)):
        return False
    fold = np.empty(n_samples, dtype=int)
    for index, part in enumerate(parts):
        fold[part] = index
    return all(
        np.array_equal(np.sort(train), np.flatnonzero(fold != index))
        for index, (train, _) in enumerate(splits)
    )


def fit_and_score(classifier, scorer, Z, y, split):
    """Score of a classifier of features, or what is wrong with it, an exception."""
    train, test = split
    try:
        fitted = clone(classifier).fit(Z[train], y[train])
    except Exception as error:  # as in scikit-learn's grid search
        return error
    return _score(fitted, scorer, Z[test], y[test])


def _score(fitted, scorer, Z, y):
    try:
        score = scorer(fitted, Z, y)
    except Exception as error:
        return error
    score = check_score(score)
    return score if np.isfinite(score) else ValueError(f"The score is {score}.")


def score_gaussians(statistics, scorer, features, y):
    """Scores of quadratic discriminant analysis on the features by several filters.

    It is fitted to the statistics of those of the training part, a list, and scored on
    those of the test part, side by side; by its accuracy if there is no scorer. Returns
    None if a class has a single sample or a singular covariance.
    """
    scores = []
    parts = np.split(features, len(statistics), axis=1)
    for of_training, Z in zip(statistics, parts, strict=True):
        if (of_training.counts < 2).any():
            return None
        classifier = GaussianClassifier(regularization=0)
        try:
            classifier.fit_statistics(of_training)
        except ValueError:
            return None
        if scorer is None:
            scores.append(np.mean(classifier.predict(Z) == y))
        else:
            scores.append(_score(classifier, scorer, Z, y))
    return scores
