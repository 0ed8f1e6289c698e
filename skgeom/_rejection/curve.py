"""The accuracy-rejection curve, and the threshold for a rejection rate."""

import numpy as np
from sklearn.utils.validation import check_consistent_length, column_or_1d

from skgeom.utils._sklearn import check_sample_weight


def accuracy_rejection_curve(y_true, y_score, *, labels=None, sample_weight=None):
    r"""Accuracy of the samples kept and share of those rejected, by threshold.

    The prediction for a sample is the class of its largest score, and that score is its
    confidence c. With the threshold t, the samples with c < t are rejected. So
    :class:`RejectionClassifier` with ``threshold=thresholds[k]`` rejects the share
    ``rejection_rates[k]``, and of the others ``accuracies[k]`` are correct [1]_:

    .. math:: a(t) = \frac{\sum_i w_i [c_i \ge t] [\hat y_i = y_i]}
       {\sum_i w_i [c_i \ge t]}, \qquad
       r(t) = \frac{\sum_i w_i [c_i < t]}{\sum_i w_i}

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        The true labels.
    y_score : array-like of shape (n_samples, n_classes) or (n_samples,)
        The probabilities of the classes, or other scores of which the largest wins,
        such as those of ``decision_function`` for more than two classes. One number a
        sample is the probability of the second of two classes.
    labels : array-like of shape (n_classes,), default=None
        The classes in the order of the columns, ``classes_`` of a classifier. None is
        for the sorted labels in ``y_true``.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the samples, not negative; None for equal ones.

    Returns
    -------
    accuracies : ndarray of shape (n_thresholds,)
        Accuracy of the samples that are not rejected.
    rejection_rates : ndarray of shape (n_thresholds,)
        Share of the samples that are rejected, increasing from 0.
    thresholds : ndarray of shape (n_thresholds,)
        The distinct confidences, increasing.

    Raises
    ------
    ValueError
        If ``labels`` are not the labels of the columns, if a true label is not among
        them, if a score is not finite, if one number a sample is not a probability, or
        if all weights are zero.

    See Also
    --------
    skgeom.plotting.AccuracyRejectionDisplay : Plot of the curve.
    RejectionClassifier : Rejects below a threshold.

    Notes
    -----
    Samples of equal confidence are rejected together: the curve has one point for each
    confidence that occurs, and does not depend on the order of the samples. It ends
    where only those of the largest confidence are left, as the accuracy of no sample is
    not defined. If classes have equal scores, the first of them is predicted.

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
    # A sample without weight is as good as absent, and must not give 0 / 0.
    seen = weights > 0
    thresholds, which = np.unique(confidences[seen], return_inverse=True)
    weights = weights[seen]
    totals = np.bincount(which, weights)
    hits = np.bincount(which, weights * correct[seen])
    # Sums from the top, as the last accuracies are those of few samples.
    accuracies = np.cumsum(hits[::-1])[::-1] / np.cumsum(totals[::-1])[::-1]
    rejected = np.concatenate([[0.0], np.cumsum(totals)])
    return accuracies, rejected[:-1] / rejected[-1], thresholds


def _outcomes(y_true, y_score, labels):
    """Whether each prediction is correct, and its confidence."""
    y_true = column_or_1d(y_true)
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
    if y_score.ndim == 1:
        if y_score.min() < 0 or y_score.max() > 1:
            raise ValueError(
                "y_score with one number a sample must hold probabilities, but there "
                f"are numbers from {y_score.min()} to {y_score.max()}. Give one column "
                "a class."
            )
        y_score = np.stack([1 - y_score, y_score], axis=1)
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


def threshold_of_rate(confidences, weights, rate, guess):
    """Threshold below which at most a share ``rate`` of the weight lies.

    It is half-way between neighbouring confidences; ``guess`` is the smallest possible.
    """
    seen = weights > 0
    values, which = np.unique(confidences[seen], return_inverse=True)
    totals = np.cumsum(np.bincount(which, weights[seen]))
    below = np.concatenate([[0.0], totals[:-1]])
    # 29 of 100 samples are a share of 0.29, whatever 0.29 * 100 is in floating point.
    first = np.flatnonzero(below <= rate * totals[-1] * (1 + 1e-9))[-1]
    lower, upper = values[first - 1] if first else min(guess, values[0]), values[first]
    middle = lower + (upper - lower) / 2
    return float(middle if middle > lower else upper)
