"""Class probabilities from the components, calibrated on held-out samples."""

from dataclasses import dataclass, replace
from numbers import Real

import numpy as np
from scipy.special import log_softmax

from skgeom._kernel._held_out_errors import held_out_components, remaining_shares
from skgeom._selection import calibrated_temperature, choose, label_noise
from skgeom.utils._sklearn import Interval, positive
from skgeom.utils.array_api import astype, like, namespace
from skgeom.utils.errors import naming

# Candidates of the weight of the priors, relative to the variance within the classes.
_PRIOR_FACTORS = 2.0 ** np.arange(8)


@dataclass(frozen=True, eq=False)
class Calibration:
    r"""Parameters of the probabilities of :class:`KernelDiscriminantAnalysis`.

    With the components z of a sample, the class means :math:`\mu_k` of the components
    of the training samples, and the priors :math:`\pi_k`, the logarithms of the class
    posteriors :math:`p_k` are, up to a common term,

    .. math:: (z^\top m_k - \|m_k\|^2 / 2 + v \log \pi_k) / T, \quad m_k = r_k \mu_k .

    The probabilities of c classes are :math:`(1 - \epsilon) p_k + \epsilon / c`. With
    the default values, they are those of linear discriminant analysis (LDA) in the
    feature space.

    Attributes
    ----------
    mean_factors : float or array-like of shape (n_classes,), default=1.0
        The factors :math:`r_k`. They are at most one if they are estimated, because the
        classes are closer together in held-out samples than in training samples,
        especially small classes: 1 / (1 + c / n) for a class of n samples.
    prior_weight : float, default=1.0
        The weight v of the priors.
    temperature : float, default=1.0
        The temperature T. It does not change the predicted classes.
    label_noise : float, default=0.0
        The probability :math:`\epsilon` that a label is random, which bounds the
        probabilities.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from skgeom import Calibration, KernelDiscriminantAnalysis
    >>> X, y = load_iris(return_X_y=True)
    >>> kda = KernelDiscriminantAnalysis(calibration=Calibration(temperature=2.0))
    >>> kda.fit(X, y).calibration_.temperature
    2.0
    """

    mean_factors: object = 1.0
    prior_weight: float = 1.0
    temperature: float = 1.0
    label_noise: float = 0.0

    def __eq__(self, other):
        return isinstance(other, Calibration) and self._key == other._key

    def __hash__(self):
        return hash(self._key)

    @property
    def _key(self):
        factors = tuple(np.ravel(self.mean_factors).tolist())
        return factors, self.prior_weight, self.temperature, self.label_noise

    def __post_init__(self):
        with naming("mean_factors"):
            factors = np.asarray(self.mean_factors, dtype=float)
        if factors.ndim > 1 or not (np.isfinite(factors) & (factors >= 0)).all():
            raise ValueError(
                "mean_factors must be a number or a vector of numbers, finite and not "
                f"negative, got {self.mean_factors}."
            )
        nonnegative = Interval(Real, 0, None, closed="left")
        fraction = Interval(Real, 0, 1, closed="left")
        for name, interval, expected in (
            ("prior_weight", nonnegative, "finite and at least 0"),
            ("temperature", positive, "finite and positive"),
            ("label_noise", fraction, "at least 0 and below 1"),
        ):
            value = getattr(self, name)
            if not interval.is_satisfied_by(value):
                raise ValueError(
                    f"{name} must be a number, {expected}, but is {value!r}."
                )


def check_factors(calibration, n_classes):
    """Raise ValueError if there are factors for a different number of classes."""
    factors = calibration.mean_factors
    if np.ndim(factors) and len(factors) != n_classes:
        raise ValueError(
            f"calibration has {len(factors)} mean_factors, but there are {n_classes} "
            "classes. Pass one factor per class, or one number."
        )


def class_scores(calibration, components, means, priors):
    """Logarithms of the posteriors without random labels, up to a common term."""
    # LDA with a within-class covariance in proportion to the identity matrix. |z|^2 is
    # common to all classes.
    xp = namespace(components)
    means = means * like(np.asarray(calibration.mean_factors)[..., None], means)
    scores = astype(components, means.dtype) @ means.T - xp.sum(means**2, axis=1) / 2
    return (
        scores + calibration.prior_weight * xp.log(priors)
    ) / calibration.temperature


def calibration_of(found, data, criterion, has_groups):
    """The calibration that is estimated on the last samples, each held out.

    Without its only samples, a class cannot be predicted. If groups are given, those
    that contain a whole class are therefore omitted. Otherwise, one of n copies of a
    sample is held out and n - 1 copies remain, because new samples may equal them as
    well; a single sample is omitted. The number of copies is the weight divided by the
    median of all weights, rounded, and at least 1.

    Parameters
    ----------
    found : Discriminants
        The discriminant functions, with the last samples.
    data : TrainingData
        The training samples.
    criterion : {"total", "between"}
        The numerator of the ratio.
    has_groups : bool
        Whether the groups were given by the user.
    """
    components, (own, _) = found.last
    last = slice(-len(components), None)
    samples = data.codes[last], data.groups[last], data.weights[last]
    held_out = held_out_components(found, samples, criterion)
    remaining = remaining_shares(*samples, data.class_weights)
    shares = 1 - remaining[np.arange(len(own)), samples[0]]
    is_whole = (remaining == 0).any(axis=1)
    relative = data.sample_weight[last] / np.median(data.sample_weight)
    copies = np.maximum(np.round(relative[is_whole]), 1)
    shares[is_whole] = 1 if has_groups else 1 / copies
    held_out[is_whole] = components[is_whole]
    # If a sample determines its own prediction, which is possible without
    # regularization, its held-out components are rounding errors.
    shares = np.where(own > 1e-8, shares, 1)
    if (shares == 1).all():
        return Calibration()
    estimated = calibrate(
        components, held_out, samples, shares, found.means, data.class_weights
    )
    return replace(estimated, label_noise=label_noise(len(data.codes)))


def calibrate(components, held_out, samples, shares, means, priors):
    r"""Estimate the parameters of the decisions on held-out samples.

    The discriminant functions overfit the training samples: the classes are further
    apart in the training samples than in new samples, especially small classes. The
    decision means :math:`m_k` are the class means :math:`\mu_k` of the training
    samples, shrunk towards zero:

    .. math:: m_k = \frac{\mu_k}{1 + c h_k}, \quad
       c = \frac{\sum_i w_i (z_i - z_i^\text{out})^\top \mu_{y_i}}
       {\sum_i w_i h_{y_i} \mu_{y_i}^\top z_i^\text{out}} .

    The components of sample i are :math:`z_i`, and :math:`z_i^\text{out}` if the
    sample is held out. The sum of the weights :math:`w_i` of class k is the prior
    :math:`\pi_k`, and :math:`h_k` is the mean part of class k that is held out with a
    sample of this class, which is 1 / n for n distinct samples. If the mean of n
    samples has a squared error of t / n, the mean of new samples in its direction is
    shorter by the factor 1 / (1 + c / n), where c is t over the squared length of the
    expected mean. One c is used for all classes, because separate ones would vary too
    much. It solves :math:`\sum_i w_i (1 + c h_{y_i}) \mu_{y_i}^\top z_i^\text{out}
    = \sum_i w_i \mu_{y_i}^\top z_i`. If c is negative, the means are not shrunk. The
    denominator of c can be negative if the classes hardly differ, because without a
    sample, the mean of its class moves away from this sample.

    The posteriors are :math:`\text{softmax}(s / T)` with the scores of LDA,
    :math:`s_k = z^\top m_k - \|m_k\|^2 / 2 + v \log \pi_k`. The weight v of the priors
    is the variance of the held-out components within the classes, in the directions of
    the decision means, but at most 1, because a larger variance is due to overfitting,
    for which T accounts. T divides the logarithms of the priors as well, so a rare
    class could be predicted too often. Therefore v is doubled, up to seven times, if
    this increases the log posterior by more than two standard errors.

    Parameters
    ----------
    components, held_out : ndarray of shape (n_samples, n_components)
        The components of some samples, as training samples and as held-out samples.
    samples : tuple of ndarray of shape (n_samples,)
        Encoded labels, groups and weights of these samples.
    shares : ndarray of shape (n_samples,)
        The part of the class that is held out with each sample, which is less than 1
        for at least one sample. Samples with 1 determine only :math:`h_k`, because no
        sample of their class remains.
    means : ndarray of shape (n_classes, n_components)
        The class means of the training samples.
    priors : ndarray of shape (n_classes,)
        The prior probabilities of the classes.

    Returns
    -------
    Calibration
        Without random labels.
    """
    codes, groups, weights = samples
    rows = np.arange(len(codes))
    members = np.eye(len(priors))[codes] * weights[:, None]
    mean_shares = shares @ members / members.sum(axis=0)
    members *= (shares < 1)[:, None]
    sums = members.sum(axis=0)
    members *= np.divide(priors, sums, out=np.zeros_like(sums), where=sums > 0)
    weights = members.sum(axis=1)
    own_means = weights[:, None] * means[codes]
    kept = (own_means * held_out).sum(axis=1)
    lost, kept = (own_means * components).sum() - kept.sum(), kept @ mean_shares[codes]
    factors = np.ones(len(priors))
    if lost > 0 and kept > 0:
        factors = kept / (kept + lost * mean_shares)
    means = means * factors[:, None]
    own_means = (members.T @ held_out) / priors[:, None]
    deviations = (held_out - own_means[codes]) @ means.T
    scale = weights.sum() * np.square(means).sum()
    variance = weights @ np.square(deviations).sum(axis=1) / scale if scale else 1.0
    scores = held_out @ means.T - np.square(means).sum(axis=1) / 2
    weights = weights / weights.sum()
    prior_weights = min(float(variance), 1.0) * _PRIOR_FACTORS
    temperatures, fits = [], []
    for prior_weight in prior_weights:
        joint = scores + prior_weight * np.log(priors)
        temperatures.append(
            calibrated_temperature(joint, codes, weights, len(codes), groups)
        )
        fits.append(log_softmax(joint / temperatures[-1], axis=1)[rows, codes])
        if fits[1:] and weights @ fits[-1] <= weights @ fits[-2]:
            break
    prior_weights = prior_weights[: len(fits)]
    best = choose({}, np.array(fits), weights, groups, prior_weights).index
    return Calibration(factors, float(prior_weights[best]), temperatures[best])
