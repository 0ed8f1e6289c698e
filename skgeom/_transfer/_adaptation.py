"""Adaptation of class means to a domain without class labels."""

from typing import NamedTuple

import numpy as np
from scipy.special import logsumexp, softmax
from scipy.stats import multivariate_normal

from skgeom._transfer._tangent_gaussians import log_joint
from skgeom.utils.linalg import fold_order

# Tolerance of expectation maximization, which stops when no mean moves by more than
# this number of standard deviations, and no expected class proportion deviates by a
# larger fraction (page "Constants").
_EM_TOLERANCE = 1e-3
_EM_MAX_ITER = 200
# Smallest number of matrices per class for which the test of an adaptation is reliable.
# Half of it is the weight of the given priors in estimated priors (page "Constants").
_MATRICES_PER_CLASS = 10
# The gain must exceed this number of standard errors: each of two adaptations is tested
# at the level of 1.1 %, half of the level that corresponds to 2 standard errors. With
# 2, the kappa of one of 16 subjects decreases by 0.028.
_STANDARD_ERRORS = 2.28


class Source(NamedTuple):
    """Class means and priors of ``fit``, in whitened coordinates."""

    means: np.ndarray  # (n_classes, p)
    priors: np.ndarray  # (n_classes,), as given
    proportions: np.ndarray  # (n_classes,), of the training samples
    strength: float  # kappa, the weight of each mean as a number of matrices


def tested_adaptation(V, source):
    """The name of the supported adaptation, and the evidence of all tested ones."""
    evidence = {}
    distances = np.linalg.norm(V[:, None] - source.means, axis=2)
    order = fold_order(np.zeros(len(V), dtype=int), distances, distances.max() or 1)
    counts = np.bincount(order)  # equal matrices share a position and count once
    if len(counts) >= _MATRICES_PER_CLASS * len(source.means):
        first = order % 2 == 0
        for name in ("means", "means and priors"):
            gains = np.empty(len(V))
            for half in (first, ~first):
                gains[~half] = _held_out_gains(V[half], V[~half], source, name)
            gains = np.bincount(order, gains) / counts
            error = gains.std(ddof=1) / np.sqrt(len(gains))
            evidence[name] = float(gains.mean() / error) if error > 0 else 0.0
            if evidence[name] > _STANDARD_ERRORS:
                return name, evidence
    return "none", evidence


def _held_out_gains(V, held_out, source, adaptation):
    """Gains of held-out log-likelihood: adapted classes compared with one Gaussian.

    Both are computed in the span of the class means, because other directions do not
    distinguish the classes. The covariances are estimated from V.
    """
    means, priors, responsibilities = adapted_to(V, source, adaptation)
    _, _, axes = np.linalg.svd(means - means.mean(axis=0), full_matrices=False)
    axes = axes[: len(means) - 1].T
    V, held_out, means = V @ axes, held_out @ axes, means @ axes
    residuals = V[:, None] - means
    within = np.einsum("nc,nci,ncj->ij", responsibilities, residuals, residuals)
    total = np.atleast_2d(np.cov(V.T, bias=True))

    # Covariances may be singular.
    single = multivariate_normal.logpdf(held_out, V.mean(axis=0), total, True)
    of_classes = [
        multivariate_normal.logpdf(held_out, mean, within / len(V), True)
        for mean in means
    ]
    return logsumexp(of_classes + np.log(priors)[:, None], axis=0) - single


def adapted_to(V, source, adaptation):
    r"""Class means, priors and responsibilities in a new domain without class labels.

    Expectation maximization of the log posterior of the means,

    .. math::

       \sum_i \log \sum_c \pi_c \, \mathcal{N}(v_i; \mu_c, I)
       - \frac{\kappa}{2} \sum_c \|\mu_c - \bar\mu_c\|^2,

    under the constraint that the mean responsibilities equal the priors
    :math:`\pi_c`. Without the constraint, the samples of a class that are far from its
    training mean :math:`\bar\mu_c` would be assigned to different classes. One
    iteration of iterative proportional fitting (the offsets) follows each step.
    """
    priors = source.priors
    if adaptation == "means and priors":
        priors = _estimated_priors(V, source)
    start = _recentered_means(source, priors)
    means, offsets = start, np.zeros(len(start))
    for _ in range(_EM_MAX_ITER):
        responsibilities = softmax(log_joint(V, means, priors) + offsets, axis=1)
        counts = responsibilities.sum(axis=0)
        gaps = np.log(np.maximum(counts / len(V), np.finfo(V.dtype).tiny) / priors)
        offsets = offsets - gaps
        previous = means
        means = source.strength * start + responsibilities.T @ V
        means /= (source.strength + counts)[:, None]
        move = np.linalg.norm(means - previous, axis=1).max()
        if max(move, np.abs(gaps).max()) <= _EM_TOLERANCE:
            break
    return means, priors, responsibilities


def _estimated_priors(V, source):
    """Class probabilities of a new domain, by expectation maximization."""
    priors = source.priors
    # Half of the smallest number of matrices per class, because an adaptation is tested
    # with half of the matrices.
    counts_before = _MATRICES_PER_CLASS / 2 * len(priors) * source.priors
    for _ in range(_EM_MAX_ITER):
        joint = log_joint(V, _recentered_means(source, priors), priors)
        counts = counts_before + softmax(joint, axis=1).sum(axis=0)
        previous, priors = priors, counts / counts.sum()
        if np.abs(priors / previous - 1).max() <= _EM_TOLERANCE:
            break
    return priors


def _recentered_means(source, priors):
    """Class means of training, for a domain with the class proportions ``priors``.

    Re-centering moves the mean of each domain to the identity, so the class means after
    re-centering depend on the class proportions of the domain.
    """
    return source.means - (priors - source.proportions) @ source.means
