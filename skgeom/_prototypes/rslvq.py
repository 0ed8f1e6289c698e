"""Likelihood of the classes, and robust soft learning vector quantisation, RSLVQ."""

from numbers import Real

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from skgeom._prototypes._base import TwoSolverClassifier
from skgeom._prototypes._docs import LVQ_DOCS
from skgeom._prototypes._losses import LikelihoodLoss, class_log_densities, log_softmax
from skgeom._prototypes._solvers import (
    best_weight,
)
from skgeom.utils.array_api import like, namespace
from skgeom.utils.estimator import current_progress, estimator_method, substitute_docs
from skgeom.utils.validation import check_priors

# Weight of the term that draws prototypes to samples, by solver.
_REPRESENTABILITY = {"sgd": 0.0, "lbfgs": 0.03}

# The annealing of Seo and Obermayer, as section 6 of the paper has it.
_FIRST_FACTOR, _EXPONENT, _DEPTH, _FLOOR = 0.99, 1.1, 0.4, 0.01


class LikelihoodClassifier(TwoSolverClassifier):
    """Prototypes that maximise the likelihood of the classes, equation 18."""

    _remedy = ", or increase representability"
    _parameter_constraints = {
        **TwoSolverClassifier._parameter_constraints,
        "sigma2": [
            StrOptions({"auto", "learn"}),
            Interval(Real, 0, None, closed="neither"),
        ],
        "sigma2_scale": [Interval(Real, 0, None, closed="neither")],
        "annealing": ["boolean"],
        "representability": [
            StrOptions({"auto"}),
            Interval(Real, 0, None, closed="left"),
        ],
        "priors": [None, StrOptions({"uniform", "empirical"}), "array-like"],
    }

    @estimator_method
    def predict_proba(self, X):
        """Probabilities of the classes, equation 16.

        Parameters
        ----------
        X : array-like of shape (n_samples, n, n) or (n_samples, n_features)
            Samples, as in ``fit``.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes)
            They add up to 1 for each sample.
        """
        log_probabilities = self._log_probabilities(X)
        return namespace(log_probabilities).exp(log_probabilities)

    @estimator_method
    def predict_log_proba(self, X):
        """Logarithms of the probabilities of the classes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n, n) or (n_samples, n_features)
            Samples, as in ``fit``.

        Returns
        -------
        log_probabilities : ndarray of shape (n_samples, n_classes)
            The logarithms of :meth:`predict_proba`.
        """
        return self._log_probabilities(X)

    def _log_probabilities(self, X):
        return log_softmax(self._class_scores(self._squared_distances(X)[0]))

    def _class_scores(self, squared_distances):
        counts = self._progress.counts
        log_priors = prototype_log_priors(self.priors_, counts)
        return class_log_densities(squared_distances, counts, log_priors, self.sigma2_)

    def _loss(self, problem, solver, streams=False):
        """The loss of a problem; sets ``priors_`` and ``representability_``."""
        sums = problem.class_sums
        if not sums.all():  # in partial_fit, of classes that have yet to come
            sums = np.ones_like(sums)
        self.priors_ = check_priors(self.priors, sums)
        # Training goes by the proportions that the samples have, or are balanced to.
        # The weights of a dict do not count as proportions, but as costs of errors,
        # which are to move the boundaries; a change of priors would undo that.
        balanced = self.class_weight == "balanced"
        sums = without_chance(sums) if streams else sums
        priors = check_priors("uniform" if balanced else None, sums)
        log_priors = like(prototype_log_priors(priors, problem.counts), problem.Z)

        def make_loss(weight):
            # A variance that anneals is its own reference.
            reference = None if solver == "sgd" else problem.variance
            return LikelihoodLoss(problem.labels, log_priors, weight, reference)

        self.representability_ = self._representability(problem, solver, make_loss)
        return make_loss(self.representability_)

    def _representability(self, problem, solver, make_loss):
        if self.representability != "auto":
            return self.representability
        # A search of curved prototypes for each fold would take too long.
        if solver == "sgd" or problem.Z.ndim == 3:
            return _REPRESENTABILITY[solver]
        if (
            self._is_warm_start() and self.representability_ > 0
        ):  # 0 is that of partial_fit
            return self.representability_
        limits = {"max_iter": self.max_iter, "tol": self.tol}
        weight = best_weight(problem, make_loss, self._first_scale(problem), **limits)
        current_progress().print(f"representability {weight:.3g} selected")
        return weight

    def _first_scale(self, problem):
        if not isinstance(self.sigma2, str):
            return float(self.sigma2)
        if self.sigma2 == "learn" and self._is_warm_start():
            return self.sigma2_
        return float(self.sigma2_scale * problem.variance)

    def _first_rate(self, problem, sigma2):
        if self.learning_rate != "auto":
            return self.learning_rate
        per_class = sum(problem.counts) / len(problem.counts)
        return problem.metric.first_rate(problem.size * per_class, sigma2)

    def _schedule(self, problem, sigma2, rng):
        """Annealed variances and learning rates of ``solver="sgd"``."""
        scales = [sigma2] * self.max_iter
        if self.annealing:
            unit = problem.metric.unit(problem.variance)
            scales = [unit * s for s in annealed(sigma2 / unit, self.max_iter)]
        return self._falling_schedule(problem, scales, rng)

    def _partial_scale(self, problem, n_epochs):
        if not hasattr(self, "prototypes_"):
            return self._first_scale(problem)
        adapts = self.sigma2 == "auto" and np.isfinite(n_epochs)
        return self._first_scale(problem) if adapts else self.sigma2_

    def _optimized(self, problem):
        problem, options = super()._optimized(problem)
        return problem, {"learn_scale": self.sigma2 == "learn", **options}

    def _store(self, problem, outcome, n_epochs=None):
        super()._store(problem, outcome, n_epochs)
        self.sigma2_ = outcome.scale

    def _partial_problem(self, X, y, sample_weight, rng, classes):
        if self.sigma2 == "learn" and not hasattr(self, "prototypes_"):
            raise ValueError(
                "partial_fit does not learn sigma2, whatever the solver. Give a number "
                "or 'auto'; sigma2='learn' is for fit."
            )
        return super()._partial_problem(X, y, sample_weight, rng, classes)

    def _choose_solver(self, metric):
        if self.sigma2 == "learn" and not metric.keeps_definite:
            raise ValueError(
                "sigma2='learn' is not possible for SPD matrices with the "
                f"{metric.name} metric: it needs solver='lbfgs', which does not keep "
                "prototypes positive definite there. Give a number or 'auto', or use "
                "PLRSQ with another metric."
            )
        if self.sigma2 == "learn" and self.solver == "sgd":
            raise ValueError(
                "sigma2='learn' needs solver='lbfgs' or 'auto', but solver='sgd'. For "
                "stochastic steps, give a number or 'auto' as sigma2."
            )
        return super()._choose_solver(metric)


def without_chance(sums):
    """Sums of classes, drawn towards equal ones as far as they may differ by chance.

    The shrinkage of Hausser and Strimmer (2009). Of the first samples of a stream,
    proportions are mostly chance, which prototypes would make up for.
    """
    total, even = sums.sum(), sums.mean()
    differences = ((sums - even) ** 2).sum()
    chance = (total**2 - (sums**2).sum()) / max(total - 1, 1)
    share = 1.0 if chance >= differences else chance / differences
    return share * even + (1 - share) * sums


def annealed(sigma2, n_epochs):
    """Variances that fall from epoch to epoch, faster and faster, down to a floor."""
    scales, factor = [sigma2], _FIRST_FACTOR
    last = max(sigma2 - _DEPTH, _FLOOR)
    while len(scales) < n_epochs:
        factor **= _EXPONENT
        falls = scales[-1] >= last
        scales.append(max(scales[-1] * factor, _FLOOR) if falls else scales[-1])
    return scales


def prototype_log_priors(priors, counts):
    """Logarithms of P(l): the prior of a class, shared equally by its prototypes.

    ``counts`` are the numbers of prototypes of the classes.
    """
    xp = namespace(priors)
    if len(set(counts)) == 1:
        return xp.repeat(xp.log(priors / counts[0]), counts[0])
    shares = [xp.repeat(priors[k : k + 1] / n, n) for k, n in enumerate(counts)]
    return xp.log(xp.concat(shares))


@substitute_docs(**LVQ_DOCS)
class RSLVQ(LikelihoodClassifier):
    r"""Robust soft learning vector quantisation, with Euclidean distances.

    Each class has prototypes, the centres of Gaussian densities of one variance
    :math:`\sigma^2`, that maximise the probability of the classes of the samples [2]_:

    .. math::

       \min_w \; -\sum_i \log p(y_i \mid x_i), \qquad
       p(y \mid x) \propto \sum_{l: c_l = y} P(l)
       \exp\left(-\frac{\|x - w_l\|^2}{2 \sigma^2}\right).

    The samples are vectors, or SPD matrices, whose prototypes are kept positive
    definite by raising eigenvalues below 1e-4 to that value (section 6.1.5 of [1]_), or
    to the smallest one of the samples and of the prototypes before the steps if that is
    lower.

    Parameters
    ----------
    {n_prototypes}
    sigma2 : float, "auto" or "learn", default="auto"
        The variance :math:`\sigma^2`, in squared units of X. ``"auto"`` is half of the
        mean squared distance of the samples from the nearest prototype of their class
        at the start. ``"learn"`` starts there and is learnt together with the
        prototypes by ``solver="lbfgs"``.
    {sigma2_scale}
    annealing : bool, default=True
        Whether ``solver="sgd"`` lets :math:`\sigma^2` fall from epoch to epoch by the
        schedule of [1]_, faster and faster until it is .4 below its first value or, if
        that is not positive, for as long as there are epochs, but not below .01.
        Constant otherwise.
    {representability}
    {priors}
    {class_weight}
    {init}
    {solver}
    {max_iter}
    {tol}
    learning_rate : "auto" or float, default="auto"
        :math:`\alpha` of ``"sgd"`` before the first epoch; it falls to a hundredth
        during ``max_iter`` epochs. ``"auto"`` is :math:`\sigma^2 / 10`.
    {batch_size}
    {shuffle}
    {warm_start}
    {random_state}
    {verbose}

    Attributes
    ----------
    {prototypes_}
    {prototype_labels_}
    sigma2_ : float
        The variance that was used last.
    {representability_}
    {priors_}
    {classes_}
    {loss_curve_}
    {n_iter_}
    {n_features_in_}
    {feature_names_in_}

    See Also
    --------
    PLRSQ : For SPD matrices, with the metrics that suit them.
    GMLVQ : Learns the metric as well.

    References
    ----------
    {likelihood_references}

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from skgeom import RSLVQ
    >>> X, y = load_wine(return_X_y=True)
    >>> model = make_pipeline(StandardScaler(), RSLVQ()).fit(X, y)
    >>> bool(model.score(X, y) > 0.98)
    True
    """

    _accepts_vectors = True

    def __init__(
        self,
        n_prototypes=1,
        *,
        sigma2="auto",
        sigma2_scale=1.0,
        annealing=True,
        representability="auto",
        priors="uniform",
        class_weight=None,
        init="auto",
        solver="auto",
        max_iter=100,
        tol=0.01,
        learning_rate="auto",
        batch_size=1,
        shuffle=True,
        warm_start=False,
        random_state=None,
        verbose=0,
    ):
        self.n_prototypes = n_prototypes
        self.sigma2 = sigma2
        self.sigma2_scale = sigma2_scale
        self.annealing = annealing
        self.representability = representability
        self.priors = priors
        self.class_weight = class_weight
        self.init = init
        self.solver = solver
        self.max_iter = max_iter
        self.tol = tol
        self.learning_rate = learning_rate
        self.batch_size = batch_size
        self.shuffle = shuffle
        self.warm_start = warm_start
        self.random_state = random_state
        self.verbose = verbose
