"""Thresholds of the confidence for a rejection rate or an error rate."""

import numpy as np
from scipy.stats import binom

from skgeom.utils.warn import warn_user


def threshold_of_error(
    confidences, correct, target_error, confidence_level, lowest=0.0
):
    r"""The smallest threshold that provably meets the target; infinite if none does.

    Each candidate accepts a fixed number of samples, so the candidates do not depend on
    the scale of the confidences. A candidate accepts m samples with e errors. If the
    error rate exceeds the target :math:`\epsilon`, the probability of at most e errors
    is at most :math:`P(B_{m, \epsilon} \le e)` with a binomial variable B. The
    candidate passes the test if this bound is at most the risk of the test.

    Candidates are tested in descending order of the threshold, from the first candidate
    that could pass without an error,
    :math:`m \ge \log(\text{risk}) / \log(1 - \epsilon)`. If a candidate passes, its
    risk is added to the risk of the next candidate (fixed-sequence testing). The later
    candidates share a part of the risk, so that an error among the most confident
    samples does not end the sequence (fallback procedure). Numbers of accepted samples
    that differ by less than the square root of n have nearly equal confidence limits,
    so about sqrt(n) candidates are tested.

    Parameters
    ----------
    confidences : ndarray of shape (n_samples,)
        Confidences of held-out samples.
    correct : ndarray of shape (n_samples,)
        Whether the most probable class is the true one.
    target_error : float
        The largest fraction of errors among the accepted samples.
    confidence_level : float
        Probability with which the target must be met.
    lowest : float, default=0.0
        The threshold that accepts all samples.

    Returns
    -------
    float
        The threshold: samples of at least this confidence are accepted.
    """
    n, risk = len(confidences), 1 - confidence_level
    order = np.argsort(-confidences, kind="stable")
    descending = confidences[order]
    errors = np.concatenate([[0], np.cumsum(~correct[order])])
    n_candidates = int(np.sqrt(n))
    shared = risk / (n_candidates + 1)  # by all candidates except the first one
    log_kept = np.log1p(-target_error)
    first = int(np.ceil(np.log(risk - shared) / log_kept))
    first = min(max(first, n // n_candidates), n)
    ranks = np.linspace(first, n, n_candidates).round().astype(int)
    # Samples with the same confidence as the first rejected sample are rejected.
    counts = np.searchsorted(-descending, -descending[ranks[ranks < n]], side="left")
    counts = np.unique(np.append(counts, n))
    counts = counts[counts >= first]
    risks = np.full(len(counts), shared / max(1, len(counts) - 1))
    risks[0] = risk - risks[1:].sum()
    threshold, passed_on = np.inf, 0.0
    for count, own in zip(counts, risks, strict=True):
        if binom.cdf(errors[count], count, target_error) > passed_on + own:
            passed_on = 0.0
            continue
        passed_on += own
        threshold = lowest
        if count < n:
            threshold = np.nextafter(descending[count], np.inf, dtype=descending.dtype)
    if threshold == np.inf:
        fewest = int(np.ceil(np.log(risk) / log_kept))
        best = counts[np.argmin(errors[counts] / counts)]
        more = "more samples or " if errors[best] <= target_error * best else ""
        warn_user(
            "All samples are rejected: no threshold meets "
            f"target_error={target_error} with confidence_level={confidence_level}, "
            f"which requires at least {fewest} held-out samples without an error; "
            f"there are {errors[-1]} errors in {n} samples, and {errors[best]} errors "
            f"in the {best} most confident samples, which have the lowest error rate. "
            f"Use {more}a more accurate classifier, or increase target_error.",
            UserWarning,
        )
    return float(threshold)


def threshold_of_rate(confidences, weights, rate, guess):
    """Threshold such that the rejected fraction of the weight is nearest to ``rate``.

    If two fractions are equally near, the smaller one is rejected. Equal confidences
    are not separated, and samples of the largest confidence are accepted. The threshold
    is half-way between two neighboring confidences. The lower neighbor of the smallest
    confidence is ``guess``, the smallest possible confidence, unless it is larger.
    """
    seen = weights > 0
    values, which = np.unique(confidences[seen], return_inverse=True)
    totals = np.cumsum(np.bincount(which, weights[seen]))
    below = np.concatenate([[0.0], totals[:-1]])
    gaps = np.abs(below - rate * totals[-1])
    # 0.29 * 50 is 14.499999999999998; the tolerance makes 14 and 15 equally near.
    first = np.flatnonzero(gaps <= gaps.min() + 1e-9 * totals[-1])[0]
    lower, upper = values[first - 1] if first else min(guess, values[0]), values[first]
    with np.errstate(invalid="ignore"):  # a log-density may be -inf
        middle = lower + (upper - lower) / 2
    # The middle of neighboring floating-point numbers may be rounded to the lower one.
    return float(middle if middle > lower else upper)
