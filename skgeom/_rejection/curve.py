"""The accuracy-rejection curve, and the threshold for a rejection rate."""

import numpy as np
from sklearn.utils.validation import check_consistent_length, column_or_1d

from skgeom.utils.validation import check_sample_weight


def accuracy_rejection_curve(y_true, y_score, *, labels=None, sample_weight=None):
    r"""Compute the accuracy of the kept samples and the rejection rate, by threshold.

    The prediction for a sample is the class of its largest score, and that score is its
    confidence c. With the threshold t, samples with c < t are rejected. So a
    :class:`RejectionClassifier` with ``threshold=thresholds[k]`` rejects the fraction
    ``rejection_rates[k]`` of the samples, and has the accuracy ``accuracies[k]`` in the
    others [1]_:

    .. math:: a(t) = \frac{\sum_i w_i [c_i \ge t] [\hat y_i = y_i]}
       {\sum_i w_i [c_i \ge t]}, \qquad
       r(t) = \frac{\sum_i w_i [c_i < t]}{\sum_i w_i}

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        The true labels.
    y_score : array-like of shape (n_samples, n_classes) or (n_samples,)
        The probabilities of the classes, or other scores of which the largest wins,
        such as those of ``decision_function`` for more than two classes. One number per
        sample is the probability of the second of two classes.
    labels : array-like of shape (n_classes,), default=None
        The classes in the order of the columns, such as ``classes_`` of a classifier.
        None means the sorted labels in ``y_true``.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the samples, not negative. None means equal weights.

    Returns
    -------
    accuracies : ndarray of shape (n_thresholds,)
        Accuracy of the samples that are not rejected.
    rejection_rates : ndarray of shape (n_thresholds,)
        Fraction of the samples that are rejected, increasing from 0.
    thresholds : ndarray of shape (n_thresholds,)
        The distinct confidences, increasing.

    Raises
    ------
    ValueError
        If ``labels`` does not name each column once, if a true label is not among the
        labels, if a score is not finite, if one number per sample is given and it is no
        probability, or if all weights are zero.

    See Also
    --------
    skgeom.plotting.AccuracyRejectionDisplay : Plot of the curve.
    RejectionClassifier : Rejects below a threshold.

    Notes
    -----
    Samples of equal confidence are rejected together. So the curve has one point for
    each distinct confidence and does not depend on the order of the samples. It ends
    where only the samples of the largest confidence are kept, since the accuracy of no
    samples is not defined. If classes have equal scores, the first of them is
    predicted.

    References
    ----------
    .. [1] M. S. A. Nadeem, J.-D. Zucker and B. Hanczar, "Accuracy-rejection curves
       (ARCs) for comparing classification methods with a reject option", Proceedings of
       Machine Learning Research 8, 65-81, 2010.

    Examples
    --------
    >>> from skgeom import accuracy_rejection_curve
    >>> y_true = [0, 0, 1, 1]
    >>> y_score = [[0.9, 0.1], [0.4, 0.6], [0.4, 0.6], [0.2, 0.8]]
    >>> accuracies, rejection_rates, thresholds = accuracy_rejection_curve(
    ...     y_true, y_score
    ... )
    >>> accuracies
    array([0.75, 1.  , 1.  ])
    >>> rejection_rates
    array([0.  , 0.5 , 0.75])
    >>> thresholds
    array([0.6, 0.8, 0.9])
    """
    correct, confidences = _outcomes(y_true, y_score, labels)
    weights = check_sample_weight(sample_weight, confidences, ensure_non_negative=True)
    if not weights.any():
        raise ValueError("sample_weight is zero for all samples.")
    # Samples of weight zero are left out: a threshold of theirs could give 0 / 0.
    seen = weights > 0
    thresholds, which = np.unique(confidences[seen], return_inverse=True)
    weights = weights[seen]
    totals = np.bincount(which, weights)
    hits = np.bincount(which, weights * correct[seen])
    # Summed from the largest confidence down: the last accuracies are of few samples,
    # and differences of large sums would lose their digits.
    accuracies = np.cumsum(hits[::-1])[::-1] / np.cumsum(totals[::-1])[::-1]
    rejected = np.concatenate([[0.0], np.cumsum(totals)])
    return accuracies, rejected[:-1] / rejected[-1], thresholds


def _outcomes(y_true, y_score, labels):
    """Whether each prediction is correct, and its confidence."""
    y_true = column_or_1d(y_true)
    y_score = _checked_scores(y_true, y_score)
    found, codes = np.unique(y_true, return_inverse=True)
    labels = found if labels is None else column_or_1d(labels)
    if len(labels) != y_score.shape[1] or len(np.unique(labels)) < len(labels):
        raise ValueError(
            f"y_score has {y_score.shape[1]} classes, and the labels are "
            f"{labels.tolist()}. Give labels, one for each column, such as classes_ of "
            "the classifier."
        )
    same = found[:, None] == labels
    unknown = found[~same.any(axis=1)]
    if len(unknown):
        raise ValueError(
            f"y_true holds {unknown.tolist()}, not among the labels {labels.tolist()}."
        )
    predicted = y_score.argmax(axis=1)
    return same.argmax(axis=1)[codes] == predicted, y_score.max(axis=1)


def _checked_scores(y_true, y_score):
    """Scores with one column per class."""
    y_score = np.asarray(y_score)
    if y_score.dtype.kind not in "fiub" or y_score.ndim not in (1, 2):
        raise ValueError(
            "y_score must hold numbers, of shape (n_samples, n_classes) or "
            f"(n_samples,); it has the shape {y_score.shape} and dtype {y_score.dtype}."
        )
    check_consistent_length(y_true, y_score)
    if not np.isfinite(y_score).all():
        bad = np.flatnonzero(~np.isfinite(y_score).reshape(len(y_score), -1).all(1))
        raise ValueError(f"y_score of sample {bad[0]} is NaN or infinite.")
    if y_score.ndim == 2:
        return y_score
    if y_score.min() < 0 or y_score.max() > 1:
        raise ValueError(
            "y_score with one number a sample must hold probabilities, but there are "
            f"numbers from {y_score.min()} to {y_score.max()}. Give one column a class."
        )
    return np.stack([1 - y_score, y_score], axis=1)


def threshold_of_rate(confidences, weights, rate, guess):
    """Threshold below which a fraction of the weight lies that is nearest to ``rate``.

    Of two that are as near, it is the smaller one. Equal confidences are not separated,
    and the largest one is kept. The threshold is half-way between two neighbours.
    ``guess`` is the smallest possible confidence, and stands for the neighbour below
    the smallest one that occurs.
    """
    seen = weights > 0
    values, which = np.unique(confidences[seen], return_inverse=True)
    totals = np.cumsum(np.bincount(which, weights[seen]))
    below = np.concatenate([[0.0], totals[:-1]])
    gaps = np.abs(below - rate * totals[-1])
    # 0.29 * 50 is 14.499999999999998: 14 and 15 are as near, but for rounding.
    first = np.flatnonzero(gaps <= gaps.min() + 1e-9 * totals[-1])[0]
    lower, upper = values[first - 1] if first else min(guess, values[0]), values[first]
    middle = lower + (upper - lower) / 2
    # Between neighbouring floating-point numbers, the middle may round to the lower.
    return float(middle if middle > lower else upper)
