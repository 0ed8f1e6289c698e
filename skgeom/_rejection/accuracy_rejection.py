"""Accuracy as a function of the rejection rate."""

import numpy as np
from sklearn.utils import assert_all_finite
from sklearn.utils.validation import (
    check_consistent_length,
    column_or_1d,
)

from skgeom.utils.validation import (
    check_array,
    check_labels,
    check_sample_weight,
    known_labels,
)


def accuracy_rejection_curve(y_true, y_score, *, labels=None, sample_weight=None):
    r"""Compute accuracies and rejection rates for all thresholds of the confidence.

    The predicted class :math:`\hat y_i` of sample i is the class with the largest
    score, and this score is the confidence :math:`c_i` of the sample. With the
    threshold t, samples with a confidence below t are rejected. If the scores are class
    probabilities, a :class:`RejectionClassifier` with ``threshold=thresholds[k]``
    rejects the fraction ``rejection_rates[k]`` of the samples, and its accuracy on the
    accepted samples is ``accuracies[k]``. With the sample weights :math:`w_i`, the
    accuracy a and the rejection rate r are [1]_

    .. math:: a(t) = \frac{\sum_i w_i [c_i \ge t] [\hat y_i = y_i]}
       {\sum_i w_i [c_i \ge t]}, \qquad
       r(t) = \frac{\sum_i w_i [c_i < t]}{\sum_i w_i}

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        The true labels.
    y_score : array-like of shape (n_samples, n_classes)
        The probabilities of the classes, or scores of the classes, such as the values
        of ``decision_function`` for more than two classes.
    labels : array-like of shape (n_classes,), default=None
        The classes in the order of the columns, such as ``classes_`` of a classifier.
        None means the sorted labels in ``y_true``.
    sample_weight : array-like of shape (n_samples,), default=None
        Nonnegative weights of the samples. None means equal weights.

    Returns
    -------
    accuracies : ndarray of shape (n_thresholds,)
        Accuracy on the accepted samples for each threshold.
    rejection_rates : ndarray of shape (n_thresholds,)
        Fraction of the samples that are rejected, in increasing order from 0.
    thresholds : ndarray of shape (n_thresholds,)
        The distinct confidences, in increasing order.

    Raises
    ------
    ValueError
        If ``labels`` does not contain one distinct label for each column, if a true
        label is missing or not in ``labels``, if a score is infinite or NaN, or if all
        weights are zero.

    See Also
    --------
    skgeom.plotting.AccuracyRejectionDisplay : Plot of the curve.
    RejectionClassifier : Classifier that rejects samples below a threshold.

    Notes
    -----
    Samples of equal confidence are rejected together. The curve therefore has one point
    for each distinct confidence and does not depend on the order of the samples. The
    curve ends at the largest confidence, because the accuracy is undefined if no sample
    is accepted. If several classes have the same largest score, the first of these
    classes is predicted.

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
    y_true = column_or_1d(known_labels(y_true, "y_true"))
    assert_all_finite(y_true, input_name="y_true")
    found = np.unique(y_true)
    labels = found if labels is None else column_or_1d(known_labels(labels, "labels"))
    check_labels(y_score, -1, labels, "y_score", "labels")
    y_score = check_array(y_score, dtype=[np.float64, np.float32], input_name="y_score")
    check_consistent_length(y_true, y_score)
    if len(labels) != y_score.shape[1] or len(np.unique(labels)) < len(labels):
        raise ValueError(
            f"y_score has {y_score.shape[1]} columns, but the labels are "
            f"{labels.tolist()}. Set labels to one distinct label per column, for "
            "example classes_ of the classifier."
        )
    unknown = [label for label in found.tolist() if label not in labels.tolist()]
    if unknown:
        raise ValueError(
            f"y_true contains {unknown}, which are not in labels={labels.tolist()}."
        )
    correct = labels[y_score.argmax(axis=1)] == y_true
    confidences = y_score.max(axis=1)
    weights = check_sample_weight(sample_weight, confidences)
    # Samples of weight zero are omitted: their thresholds could lead to 0 / 0.
    seen = weights > 0
    thresholds, which = np.unique(confidences[seen], return_inverse=True)
    weights = weights[seen]
    totals = np.bincount(which, weights)
    hits = np.bincount(which, weights * correct[seen])
    # Sums from the largest confidence down: the last accuracies are means of few
    # samples, and differences of large sums would not be precise.
    accuracies = np.cumsum(hits[::-1])[::-1] / np.cumsum(totals[::-1])[::-1]
    rejected = np.concatenate([[0.0], np.cumsum(totals)])
    return accuracies, rejected[:-1] / rejected[-1], thresholds
