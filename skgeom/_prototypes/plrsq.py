"""Probabilistic learning Riemannian space quantization, PLRSQ, and its base class."""

from dataclasses import replace
from numbers import Integral, Real

import numpy as np

from skgeom._prototypes._losses import (
    LikelihoodLoss,
    log_densities_of_classes,
    prototype_log_priors,
)
from skgeom._prototypes._metrics import SPD_METRICS
from skgeom._prototypes._minimization import Limits
from skgeom._prototypes._prototype_classifier import (
    PrototypeClassifier,
    StreamingPrototypeClassifier,
    check_unchanged,
    streaming_constraints,
)
from skgeom._selection import (
    calibrated_temperature,
    choose,
    tempered_scores,
)
from skgeom.geometry._affine_invariant import (
    affine_invariant_mean,
    from_spectrum,
    inverse_factors,
)
from skgeom.utils._sklearn import Interval, StrOptions, positive
from skgeom.utils.array_api import adjoint, like, namespace, to_numpy
from skgeom.utils.docs import documented_parameters, substitute_docs
from skgeom.utils.linalg import from_embedded
from skgeom.utils.progress import current_progress
from skgeom.utils.validation import check_priors

# Candidates of representability, the most regularized first. With 0.1, prototypes are
# close to the class means; with 1e-4, close to the maximum of the likelihood. Larger
# candidates are sometimes selected by chance: with few samples of three classes of
# SSVEP, the accuracy with candidates up to 1 is 5 percentage points lower
# (`bench_constants.py`).
_REPRESENTABILITIES = np.logspace(-1, -4, 10)
# Largest number of samples for the selection of representability, which bounds its time
# for large data, see `bench_growth.py`.
_MOST_SAMPLES = 1_000
# The automatic ``representability`` for "riemann" and "logdet", whose prototypes are
# not encoded as vectors. Chosen on ETH-80 and BCI IV 2a in `bench_lvq.py metrics`.
_REPRESENTABILITY = 0.03


likelihood_constraints = {
    **streaming_constraints,
    "sigma2": [StrOptions({"auto", "learn"}), positive],
    "representability": [StrOptions({"auto"}), Interval(Real, 0, None, closed="left")],
    "temperature": [StrOptions({"auto"}), positive],
    "priors": [None, StrOptions({"uniform"}), "array-like"],
}


class LikelihoodClassifier(StreamingPrototypeClassifier):
    r"""Prototype classifier that maximizes the class probabilities of the samples.

    Parameters
    ----------
    representability : "auto" or float, default="auto"
        Weight of an additional term of the cost, which attracts prototypes to the
        samples of their class. For a sample X of class y, the term is

        .. math:: -\log \sum_{l: c_l = y} P(l) \exp(-\delta^2(X, W_l) / 2 \sigma_0^2),

        where :math:`\sigma_0^2` is the automatic ``sigma2``. Without the term, the
        prototypes of separable classes move to infinity. The value 0 yields the cost of
        [1]_, whose authors stop the optimization early instead.

        ``"auto"`` selects one of 10 values from 1e-4 to 0.1 by held-out samples, see
        :ref:`selection`. It is 0 for ``"sgd"``, and 0.03 for ``"lbfgs"`` with the
        metrics ``"riemann"`` and ``"logdet"``, for which a selection would be slow.
    temperature : float or "auto", default="auto"
        Divisor T of the log densities of the classes in predictions: with the priors
        :math:`\pi_k`, the probability of class k is proportional to
        :math:`\pi_k \, p(X \mid k)^{1 / T}`. ``"auto"`` selects T by held-out samples,
        see :ref:`selection`. If ``representability`` is not selected, this requires up
        to five additional trainings; with ``metric="riemann"``, in the tangent space. A
        number saves this time, and does not change the predicted classes for
        ``priors="uniform"``. ``partial_fit`` keeps the value of the last ``fit``;
        without ``fit``, it uses 1.
    priors : None, "uniform" or array-like, default=None
        Class probabilities in predictions. The probability of a class is divided
        equally among its prototypes. None is the proportions of the classes in the
        training samples, with their weights, which training always uses. With
        ``"uniform"``, all classes have the same probability, as in [1]_. An array of
        shape (n_classes,) contains the probabilities in the order of ``classes_``, and
        sums to one.

    Attributes
    ----------
    sigma2_ : float
        The variance :math:`\sigma^2` of the last call of ``fit`` or ``partial_fit``.
    representability_ : float
        The given or selected value of ``representability``.
    temperature_ : float
        The given or selected value of ``temperature``.
    selection_ : Selection or None
        The candidates of ``representability``, their scores, the selected value and its
        temperature, see :ref:`selection`. None if ``representability`` is not
        selected: if it is a number, for ``"sgd"``, ``"riemann"`` and ``"logdet"``, in
        ``partial_fit``, or if samples of fewer than two classes can be held out.
    priors_ : ndarray of shape (n_classes,)
        The class probabilities in predictions.
    """

    _parameter_constraints = likelihood_constraints

    def _class_scores(self, model, Z):
        squared, scale = model.squared_distances(Z), model.scale / model.n_copies
        return log_densities_of_classes(squared, model.counts, scale)

    def _joint(self, scores):
        log_priors = namespace(self.priors_).log(self.priors_)
        return scores / self.temperature_ + log_priors

    def _calibrate(self, samples, model):
        self.priors_ = check_priors(self.priors, self._known_sums(model))
        if self.representability != "auto":
            candidates = [float(self.representability)]
        elif self._is_stochastic(model.metric):
            candidates = [0.0]
        elif model.prototypes.ndim == 3:
            candidates = [_REPRESENTABILITY]
        else:
            candidates = _REPRESENTABILITIES.tolist()
        selection, temperature = None, self.temperature
        if len(candidates) > 1 or temperature == "auto":
            folds = self._folds(samples, model, most=_MOST_SAMPLES)
            selection = self._select(folds, model, candidates)
        if temperature == "auto":
            temperature = 1.0 if selection is None else selection.temperature
        index = 0 if selection is None else selection.index
        self.representability_ = candidates[index]
        self.selection_ = selection if len(candidates) > 1 else None
        self.temperature_ = float(temperature)

    def _calibrate_stream(self, model, after_fit):
        if self.sigma2 == "learn" and model.scale is None:
            raise ValueError(
                "partial_fit does not support sigma2='learn'. Set sigma2 to a number "
                "or 'auto', or call fit."
            )
        self.priors_ = check_priors(self.priors, self._known_sums(model))
        weight, temperature = self.representability, self.temperature
        self.representability_ = 0.0 if weight == "auto" else float(weight)
        kept = getattr(self, "temperature_", 1.0)
        self.temperature_ = kept if temperature == "auto" else float(temperature)
        self.selection_ = None

    def _select(self, folds, model, candidates):
        """Select ``representability`` and the temperature by held-out samples.

        The result is None if samples of fewer than two classes can be held out.
        """
        if not folds.parts:
            return None
        labels, priors = folds.labels, to_numpy(self.priors_)
        factors = priors / self._training_priors(model)
        weights = folds.weights * factors[labels]
        weights = weights / weights.sum()
        # No goal: small losses are compared as well.
        limits = Limits(self.max_iter, self.tol, goal=-np.inf, precision=1.0)
        found, scores = [], np.full((len(candidates), len(labels)), np.nan)
        for number, candidate in enumerate(candidates):
            loss = self._loss(model, candidate)
            found.append(self._held_out_scores(folds, loss, limits))
            samples = labels, weights, folds.n_samples
            [scores[number]] = tempered_scores(found[-1][None], *samples, priors)
            means = np.round(scores[: number + 1] @ weights, 6)
            # Optimizations with smaller weights need most of the time.
            if means[-1] < means.max():
                break
        names = {"representability": candidates}
        selection = choose(names, scores, weights, folds.groups)
        best = found[selection.index]
        folds.warn_if_at_chance(best)
        if len(candidates) > 1:
            selected = f"representability {candidates[selection.index]:.3g} selected"
            current_progress().print(selected)
        samples = labels, weights, folds.n_samples, folds.groups
        temperature = calibrated_temperature(best, *samples, priors)
        return replace(selection, temperature=temperature)

    def _training_priors(self, model, streams=False):
        """Probabilities of the classes in training."""
        sums = self._known_sums(model)
        return check_priors(None, shrink_towards_equal(sums) if streams else sums)

    def _known_sums(self, model):
        """Sums of the training weights; equal until all classes have samples."""
        sums = to_numpy(model.class_sums)
        sums = sums * self._class_factors(sums)
        return sums if sums.all() else np.ones_like(sums)

    def _loss(self, model, representability=None, streams=False):
        """The loss with the weight ``representability``, or ``representability_``."""
        priors = self._training_priors(model, streams)
        log_priors = like(prototype_log_priors(priors, model.counts), model.labels)
        if representability is None:
            representability = self.representability_
        return LikelihoodLoss(
            model.labels, log_priors, representability, model.variance
        )

    def _scale(self, model, epoch=None):
        if not isinstance(self.sigma2, str):
            return float(self.sigma2) * model.n_copies
        if self.sigma2 == "learn" and model.scale is not None:
            return model.scale
        return float(model.variance)

    def _learns_scale(self):
        return self.sigma2 == "learn"

    def _first_rate(self, model, sigma2):
        if self.learning_rate != "auto":
            return self.learning_rate
        per_class = float(sum(model.counts) / model.n_classes)
        size = model.n_copies * self._size(model) * per_class
        return model.metric.first_rate(size, sigma2)

    def _attributes(self, found, progress):
        sigma2 = found.model.scale / found.model.n_copies
        return {**super()._attributes(found, progress), "sigma2_": sigma2}

    def _check_parameters(self, model):
        super()._check_parameters(model)
        if self.sigma2 == "learn" and self._is_stochastic(model.metric):
            raise ValueError(
                f"sigma2='learn' requires solver='lbfgs', but solver={self.solver!r} "
                f"with the {model.metric.name} metric uses stochastic steps. Set "
                "sigma2 to a number or 'auto'."
            )


def shrink_towards_equal(sums):
    """Class sums, shrunk towards equality according to their sampling error.

    The proportions of the first samples of a stream are noisy, and prototypes would
    adapt to the noise. The shrinkage is the estimate of Hausser and Strimmer (2009).
    """
    total, even = sums.sum(), sums.mean()
    differences = ((sums - even) ** 2).sum()
    chance = (total**2 - (sums**2).sum()) / max(total - 1, 1)
    share = 1.0 if chance >= differences else chance / differences
    return share * even + (1 - share) * sums


@substitute_docs(
    **documented_parameters(
        PrototypeClassifier, StreamingPrototypeClassifier, LikelihoodClassifier
    )
)
class PLRSQ(LikelihoodClassifier):
    r"""Probabilistic learning vector quantization of SPD matrices.

    Each class has one or several prototypes, SPD matrices that are the centers of
    Gaussian-like densities on the manifold. Training maximizes the probabilities of the
    classes of the samples (equations 16 to 18 of [1]_):

    .. math::

       \min_W \; -\sum_i \log p(y_i \mid X_i), \qquad
       p(y \mid X) \propto \sum_{l: c_l = y} P(l)
       \exp\left(-\frac{\delta^2(X, W_l)}{2 \sigma^2}\right),

    where :math:`c_l` is the class of the prototype :math:`W_l`, :math:`P(l)` its prior
    probability, and :math:`\delta` the distance selected by ``metric``.

    Parameters
    ----------
    {n_prototypes}
    metric : str, default="tangent"
        Metric of SPD matrices:

        - ``"tangent"``: Euclidean distances in the tangent space at the
          affine-invariant mean of the training samples. They are affine-invariant and
          fast to compute;
        - ``"riemann"``: the affine-invariant metric of [1]_;
        - ``"logdet"``: Stein's divergence, which is affine-invariant as well. For close
          matrices, the divergence is an eighth of the squared distance of
          ``"riemann"``, so divide a value of ``sigma2`` for ``"riemann"`` by 8;
        - ``"logeuclid"``: Euclidean distances of the logarithms of the matrices;
        - ``"mahalanobis"``: Mahalanobis distances in the tangent space, with the shrunk
          within-class covariance of the training samples;
        - ``"euclid"``: Euclidean distances. To keep prototypes positive definite, their
          eigenvalues are raised to at least 1e-4, or to at least the smallest
          eigenvalue of the training samples if this eigenvalue is below 1e-4. This
          requires ``solver="sgd"``, so a fit takes 100 to 200 times as long as with
          ``"tangent"``. A number as ``temperature`` saves five sixths of the time.

        ``partial_fit`` keeps the mean, covariance or smallest eigenvalue of the last
        ``fit`` or, without ``fit``, of its first call. If ``init`` is an array, and the
        samples of this call do not contain all classes, this quantity is computed from
        ``init`` instead of the samples.
    sigma2 : float, "auto" or "learn", default="auto"
        The variance :math:`\sigma^2`, in squared units of distance. ``"auto"`` is
        half of the mean squared distance of the samples from the nearest initial
        prototype of their class, see ``init``. With ``"learn"``, ``solver="lbfgs"``
        optimizes the variance together with the prototypes, starting from the value of
        ``"auto"``.
    {representability}
    n_components : int or None, default=None
        If given, each sample X is reduced to the matrix :math:`F^\top X F` of this
        size, and prototypes have the same size. The orthonormal columns of F span the
        subspace in which the class means differ most. If X is complex, F is complex,
        and :math:`F^\top` is the conjugate transpose.
    {temperature}
    {priors}
    {class_weight}
    {init}
    {solver}
    {max_iter}
    {tol}
    {learning_rate}
    {random_state}
    {verbose}

    Attributes
    ----------
    {prototypes_}
    {prototype_labels_}
    {is_complex_}
    {sigma2_}
    metric_shrinkage_ : float
        With ``metric="mahalanobis"``, the shrinkage intensity of the within-class
        covariance, from 0 to 1.
    filters_ : ndarray of shape (n_components, n)
        The matrix :math:`F^\top`, if ``n_components`` is given.
    {representability_}
    {temperature_}
    {selection_}
    {priors_}
    {classes_}
    {loss_curve_}
    {n_iter_}
    {n_features_in_}

    See Also
    --------
    RSLVQ : The same model with Euclidean distances, for vectors and SPD matrices.
    GLRSQ : Maximizes margins instead of class probabilities.

    Notes
    -----
    ``predict`` returns the class of the largest probability. With several prototypes
    per class, this may differ from the class of the nearest prototype.

    References
    ----------
    .. [1] F. Tang, H. Feng, P. Tino, B. Si and D. Ji, "Probabilistic learning vector
       quantization on manifold of symmetric positive definite matrices", Neural
       Networks 142, 2021.

    Examples
    --------
    >>> import numpy as np
    >>> from skgeom import PLRSQ
    >>> rng = np.random.default_rng(0)
    >>> signals = rng.normal(size=(40, 3, 50))
    >>> signals[20:, 0] *= 2
    >>> X = signals @ signals.mT / 50
    >>> y = np.repeat(["rest", "left"], 20)
    >>> model = PLRSQ().fit(X, y)
    >>> float(model.score(X, y))
    1.0
    >>> model.prototypes_.shape
    (2, 3, 3)
    """

    _parameter_constraints = {
        **likelihood_constraints,
        "metric": [StrOptions(SPD_METRICS.keys())],
        "n_components": [None, Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self,
        n_prototypes=1,
        *,
        metric="tangent",
        sigma2="auto",
        representability="auto",
        n_components=None,
        temperature="auto",
        priors=None,
        class_weight=None,
        init="kmeans",
        solver="auto",
        max_iter=100,
        tol=0.01,
        learning_rate="auto",
        random_state=None,
        verbose=0,
    ):
        self.n_prototypes = n_prototypes
        self.metric = metric
        self.sigma2 = sigma2
        self.representability = representability
        self.n_components = n_components
        self.temperature = temperature
        self.priors = priors
        self.class_weight = class_weight
        self.init = init
        self.solver = solver
        self.max_iter = max_iter
        self.tol = tol
        self.learning_rate = learning_rate
        self.random_state = random_state
        self.verbose = verbose

    @property
    def metric_shrinkage_(self):
        """Shrinkage of the within-class covariance of ``metric="mahalanobis"``."""
        return self._model.metric.shrinkage

    @property
    def filters_(self):
        """The matrix F' of the reduction F' X F."""
        if self._model.filters is None:
            raise AttributeError("filters_ requires n_components.")
        return self._model.filters

    def _find_filters(self, X, y, weights):
        if self.n_components is None:
            return None
        if self.n_components > self.n_features_in_:
            raise ValueError(
                f"n_components={self.n_components} must not exceed the size of the "
                f"matrices, {self.n_features_in_}."
            )
        labels = np.unique(to_numpy(y))
        if len(labels) < max(len(self.classes_), 2):
            raise ValueError(
                "n_components requires samples of all classes in the first call of "
                "partial_fit, because the class means determine the subspace, but y "
                f"contains only {self.classes_[labels].tolist()}."
            )
        is_complex = self._n_copies == 2
        filters = discriminative_subspace(X, y, weights, self.n_components, is_complex)
        return adjoint(filters)

    def _check_same(self, model, classes, counts):
        super()._check_same(model, classes, counts)
        before = None if model.filters is None else model.filters.shape[0]
        check_unchanged("n_components", before, self.n_components)


def discriminative_subspace(X, y, weights, n_components, is_complex):
    """Orthonormal basis (n, n_components) in which the class means differ most.

    With the class means M_c and their mean M = L L', the directions are the leading
    eigenvectors of the sum of the squares of log(L^-1 M_c L^-'), transformed by L^-'.
    If A X A' replaces X, the inverse of A' transforms the subspace. If ``is_complex``,
    X are the real embeddings of complex matrices, and the basis is complex.
    """
    xp, labels = namespace(X), range(int(namespace(y).max(y)) + 1)
    means = xp.stack(
        [affine_invariant_mean(X[y == c], weights[y == c]) for c in labels]
    )
    center = affine_invariant_mean(means, None)
    if is_complex:
        means, center = from_embedded(means), from_embedded(center)
    inverse = inverse_factors(center)
    eigenvalues, vectors = xp.linalg.eigh(inverse @ means @ adjoint(inverse))
    squared_logs = from_spectrum(vectors, xp.log(eigenvalues) ** 2)
    _, directions = xp.linalg.eigh(xp.sum(squared_logs, axis=0))
    filters = adjoint(inverse) @ xp.flip(directions, axis=1)[:, :n_components]
    return xp.linalg.qr(filters)[0]
