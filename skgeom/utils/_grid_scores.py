"""The choice of a regularisation by its scores in cross-validation.

For estimators that compute the solutions of all values together, where
:class:`~sklearn.model_selection.GridSearchCV` would compute each on its own.
"""

from contextlib import suppress
from numbers import Real

import numpy as np
from sklearn.model_selection import check_cv

from skgeom.utils.validation import warn_user


def find_splits(cv, X, y, groups=None):
    """Training and test parts by the parameter ``cv``, as in scikit-learn.

    Returns
    -------
    list of (ndarray, ndarray)
        Indices of samples, of masks as well. A part may be empty.

    Raises
    ------
    ValueError
        If a part is neither a mask nor a list of indices of samples.
    """
    splits = check_cv(cv, y, classifier=True).split(X, y, groups)
    return [
        (
            _indices(train, f"The training part of split {number} of cv", len(y)),
            _indices(test, f"The test part of split {number} of cv", len(y)),
        )
        for number, (train, test) in enumerate(splits)
    ]


def _indices(part, name, n_samples):
    part = np.arange(n_samples)[part] if isinstance(part, slice) else np.asarray(part)
    if part.dtype == bool and part.shape == (n_samples,):
        return np.flatnonzero(part)
    if part.size == 0:
        return np.empty(0, dtype=int)
    whole = part.ndim == 1 and part.dtype.kind in "iu"
    if not (whole and part.min() >= 0 and part.max() < n_samples):
        raise ValueError(
            f"{name} must be a list of indices from 0 to {n_samples - 1}, got {part}."
        )
    return part


def check_score(score):
    """The number that a scorer has returned, or a ValueError if it is none."""
    if hasattr(score, "item"):
        with suppress(ValueError):
            score = score.item()
    if not isinstance(score, Real):
        raise ValueError(
            f"scoring must return a number, got {score!r} of type "
            f"{type(score).__name__}; for several scores, use GridSearchCV."
        )
    return float(score)


def score_table(values, scores):
    """The attribute ``cv_results_``, given scores of shape (n_values, n_splits)."""
    return {
        "regularization": values,
        "mean_test_score": scores.mean(axis=1),
        "std_test_score": scores.std(axis=1),
        **{f"split{k}_test_score": column for k, column in enumerate(scores.T)},
    }


def best_values(values, scores, name="regularization", warn=True):
    """Indices of the values whose mean score is best; those with a NaN are left out.

    Warns if the best value is the smallest or the largest one, so that there may be
    better ones beyond. Among fewer than three values it always is; a plateau of equal
    scores that reaches an end needs no search beyond; nor is there anything below 0.

    Parameters
    ----------
    values : ndarray of shape (n_values,)
        The values tried.
    scores : ndarray of shape (n_values, n_splits)
        Their scores.
    name : str
        What the warning calls a value.
    warn : bool, default=True
        Whether to warn; not if better ones were looked for beyond the ends.

    Raises
    ------
    ValueError
        If no value has a score in all splits.
    """
    means = scores.mean(axis=1)
    if np.isnan(means).all():
        raise ValueError(
            "No value of regularizations has a score that is a number in all splits, "
            f"of scores (values, splits):\n{scores}\nSee that each test part has what "
            "scoring needs, such as samples of each class."
        )
    best = np.flatnonzero(means == np.nanmax(means))
    chosen = values[best[0]]
    if warn and len(best) == 1 and len(values) > 2 and chosen > 0:
        for end, extreme in (("smallest", values.min()), ("largest", values.max())):
            if chosen == extreme:
                warn_user(
                    f"The best {name}, {chosen:.3g}, is the {end} one of those that "
                    "were tried: one beyond it may be better. Give regularizations "
                    "that reach further.",
                    UserWarning,
                )
    return best
