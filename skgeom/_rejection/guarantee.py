"""The threshold that keeps the error among accepted samples below a target."""

import numpy as np
from scipy.stats import binom

from skgeom.utils.validation import warn_user

# More candidates find a threshold nearer to the best one, but share the risk among
# them. A candidate for each 25 samples, and 20 at most, lost little of the best number
# of accepted samples in simulations with 200 to 5,000 samples.
_SAMPLES_PER_CANDIDATE, _MOST_CANDIDATES = 25, 20


def threshold_of_error(confidences, correct, target_error, confidence_level):
    r"""The smallest threshold that is shown to meet the target; infinite if none is.

    The candidates are confidences of fixed ranks. Given the confidence of a rank, the
    samples above it are a random sample of those that are accepted. So the number of
    errors among m of them is binomial, and the probability of no more than e is at most
    :math:`P(B_{m, \epsilon} \le e)`, where the error is above the target
    :math:`\epsilon`. A candidate is accepted if this is at most the allowed risk over
    the number of candidates: if the upper limit of Clopper and Pearson is at most the
    target. Then the chance that the threshold found is wrong is at most the risk
    (Bonferroni), however the errors depend on the confidence.

    Parameters
    ----------
    confidences : ndarray of shape (n_samples,)
        Largest probabilities of samples that were not trained with.
    correct : ndarray of shape (n_samples,)
        Whether the most probable class is the true one.
    target_error : float
        The largest fraction of errors among the accepted samples.
    confidence_level : float
        Probability with which it must be met.

    Returns
    -------
    float
        Samples of at least this confidence are accepted.
    """
    n, risk = len(confidences), 1 - confidence_level
    # Without an error, the upper limit for m samples is at most the target if
    # (1 - target)^m <= risk of a candidate.
    log_kept = np.log1p(-target_error)
    possible = np.exp(min(np.log(risk) - n * log_kept, np.log(_MOST_CANDIDATES)))
    n_candidates = int(max(1, min(n // _SAMPLES_PER_CANDIDATE, possible)))
    fewest = int(np.ceil(np.log(risk / n_candidates) / log_kept))
    if fewest > n:
        _warn(
            target_error,
            confidence_level,
            f"that takes {fewest} validation samples without an error, and there are "
            f"{n} validation samples",
        )
        return np.inf
    order = np.argsort(-confidences, kind="stable")
    descending = confidences[order]
    errors = np.concatenate([[0], np.cumsum(~correct[order])])
    for rank in np.linspace(n, fewest, n_candidates).round().astype(int):
        # Accepted are the samples above the next one, without those equal to it.
        accepted = rank
        if rank < n:
            accepted = np.searchsorted(-descending, -descending[rank], side="left")
        chance = binom.cdf(errors[accepted], accepted, target_error)
        if chance <= risk / n_candidates:
            if rank == n:
                return 0.0
            return float(np.nextafter(descending[rank], descending.dtype.type(np.inf)))
    _warn(
        target_error,
        confidence_level,
        f"of the {n} validation samples, the {rank} or more that the classifier is "
        "most confident of have too many errors",
    )
    return np.inf


def _warn(target_error, confidence_level, reason):
    warn_user(
        f"All samples are rejected: no threshold is shown to meet target_error="
        f"{target_error} with confidence_level={confidence_level}, since {reason}. "
        "Give more samples or a better classifier, or allow a larger error.",
        UserWarning,
    )
