"""Prototypes that maximise the probability of the classes."""

from numbers import Real

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions

from skgeom._lvq.base import PrototypeClassifier
from skgeom._lvq.docs import LVQ_DOCS
from skgeom._lvq.held_out import best_weight
from skgeom._lvq.losses import LikelihoodLoss, class_log_densities, log_softmax
from skgeom._lvq.sgd import STOCHASTIC_CONSTRAINTS, Schedule, decay, falling, fit_sgd
from skgeom.utils.array_api import like, namespace
from skgeom.utils.estimator import estimator_method, substitute_docs
from skgeom.utils.validation import check_priors

# Weight of the term that draws prototypes to samples, by solver.
_REPRESENTABILITY = {"sgd": 0.0, "lbfgs": 0.03}

# The annealing of Seo and Obermayer, as section 6 of the paper has it.
_FIRST_FACTOR, _EXPONENT, _DEPTH, _FLOOR = 0.99, 1.1, 0.4, 0.01


class LikelihoodClassifier(PrototypeClassifier):
    """Prototypes that maximise the likelihood of the classes, equation 18."""

    _remedy = ", or increase representability"
    _parameter_constraints = {
        **PrototypeClassifier._parameter_constraints,
        **STOCHASTIC_CONSTRAINTS,
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

    @estimator_method
    @substitute_docs(**LVQ_DOCS)
    def partial_fit(self, X, y, classes=None, sample_weight=None):
        """Take one epoch of stochastic steps over some samples, in a shuffled order.

        The first call, on an object that is not fitted, finds the start from its
        samples; these must then contain each class, unless ``init`` is given. The
        learning rate falls with the samples, to a hundredth after ``max_iter`` epochs:
        a call counts as an epoch or, if its samples are fewer than the rows of all
        prototypes together, as that fraction of one. The automatic variance is that of
        the samples of all calls, about the start. After ``fit``, the rate has come to
        its end already, and the variance stays. The proportions of the classes are
        those of the samples since the last ``fit``, that one included, and are equal as
        long as a class has none; training draws them towards equal ones, as far as they
        may differ by chance [1]_. Each call adds one to ``n_iter_``, and the sum of the
        losses of its samples to the end of ``loss_curve_``.

        Parameters
        ----------
        {X_to_fit}
        y : array-like of shape (n_samples,)
            Their classes.
        {classes_of_calls}
        {sample_weight}

        Returns
        -------
        self
            This object, fitted.

        Raises
        ------
        ValueError
            If y holds a class that is not in ``classes_``, and as ``fit`` does.

        References
        ----------
        .. [1] J. Hausser and K. Strimmer, "Entropy inference and the James-Stein
           estimator", Journal of Machine Learning Research 10, 2009.
        """
        rng = check_random_state(self.random_state)
        first = not hasattr(self, "prototypes_")
        if first and self.sigma2 == "learn":
            raise ValueError(
                "partial_fit does not learn sigma2, whatever the solver. Give a number "
                "or 'auto'; sigma2='learn' is for fit."
            )
        problem = self._partial_problem(X, y, sample_weight, rng, classes)
        loss = self._loss(problem, "sgd", streams=True)
        n_epochs = self._n_epochs(problem)
        follows = self.sigma2 == "auto" and np.isfinite(n_epochs)
        sigma2 = self._first_sigma2(problem) if first or follows else self.sigma2_
        epoch = min(n_epochs, self.max_iter)
        rate = decay(epoch, self.max_iter) * self._first_rate(problem, sigma2)
        shuffle = rng if self.shuffle else None
        schedule = Schedule([rate], [sigma2], self.batch_size, shuffle)
        outcome = fit_sgd(problem, loss, schedule)
        self._store(problem, outcome, n_epochs=n_epochs)
        self.sigma2_ = sigma2
        return self

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
            reference = None if solver == "sgd" else problem.spread
            return LikelihoodLoss(problem.labels, log_priors, weight, reference)

        self.representability_ = self._representability(problem, solver, make_loss)
        return make_loss(self.representability_)

    def _representability(self, problem, solver, make_loss):
        if self.representability != "auto":
            return self.representability
        # A search of curved prototypes for each fold would take too long.
        if solver == "sgd" or problem.Z.ndim == 3:
            return _REPRESENTABILITY[solver]
        if self._goes_on() and self.representability_ > 0:  # 0 is that of partial_fit
            return self.representability_
        limits = {"max_iter": self.max_iter, "tol": self.tol}
        return best_weight(problem, make_loss, self._first_sigma2(problem), **limits)

    def _first_sigma2(self, problem):
        if not isinstance(self.sigma2, str):
            return float(self.sigma2)
        if self.sigma2 == "learn" and self._goes_on():
            return self.sigma2_
        return float(self.sigma2_scale * problem.spread)

    def _first_rate(self, problem, sigma2):
        if self.learning_rate != "auto":
            return self.learning_rate
        per_class = sum(problem.counts) / len(problem.counts)
        return problem.space.first_rate(problem.size * per_class, sigma2)

    def _schedule(self, problem, sigma2, rng):
        """Annealed variances and learning rates of ``solver="sgd"``."""
        scales = [sigma2] * self.max_iter
        if self.annealing:
            unit = problem.space.unit(problem.spread)
            scales = [unit * s for s in annealed(sigma2 / unit, self.max_iter)]
        first_rates = [self._first_rate(problem, scale) for scale in scales]
        rates = falling(first_rates, problem.weights)
        return Schedule(rates, scales, self.batch_size, rng if self.shuffle else None)

    def _choose_solver(self, space):
        if self.sigma2 == "learn" and not space.keeps_definite:
            raise ValueError(
                f"sigma2='learn' is not possible for SPD matrices with the {space.name}"
                " metric: it needs solver='lbfgs', which does not keep prototypes "
                "positive definite there. Give a number or 'auto', or take PLRSQ with "
                "another metric."
            )
        if self.sigma2 == "learn" and self.solver == "sgd":
            raise ValueError(
                "sigma2='learn' needs solver='lbfgs' or 'auto', but solver='sgd'. For "
                "stochastic steps, give a number or 'auto' as sigma2."
            )
        return super()._choose_solver(space)


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
