"""Prototypes that maximise the probability of the classes."""

from numbers import Real

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_array

from skgeom._lvq.stochastic import StochasticLVQ
from skgeom.objectives import EuclideanSPDSpace, LikelihoodLoss
from skgeom.utils._validation import refuse_dict

# Weight of the term that draws prototypes to samples, by solver.
_REPRESENTABILITY = {"sgd": 0.0, "lbfgs": 0.03}

# The annealing of Seo and Obermayer, as section 6 of the paper has it.
_FIRST_FACTOR, _EXPONENT, _DEPTH, _FLOOR = 0.99, 1.1, 0.4, 0.01


class LikelihoodLVQ(StochasticLVQ):
    """Prototypes that maximise the likelihood of the classes, equation 18."""

    _parameter_constraints = {
        **StochasticLVQ._parameter_constraints,
        "sigma2": [
            StrOptions({"auto", "learn"}),
            Interval(Real, 0, None, closed="neither"),
        ],
        "annealing": ["boolean"],
        "representability": [
            StrOptions({"auto"}),
            Interval(Real, 0, None, closed="left"),
        ],
        "priors": [None, StrOptions({"uniform", "empirical"}), "array-like"],
    }

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
        return np.exp(self.predict_log_proba(X))

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
        scores = self._class_scores(X)
        return scores - np.logaddexp.reduce(scores, axis=1, keepdims=True)

    _cure = ", or increase representability"

    def _make_loss(self, training=None, solver="sgd", start=None):
        """The loss; with training data, its priors are found first."""
        if training is not None:
            self.priors_ = self._find_priors(training)
        reference = None if start is None else self._reference(training, start)
        weight = self.representability
        if weight == "auto":
            weight = _REPRESENTABILITY[solver]
        labels = self._prototype_indices()
        return LikelihoodLoss(labels, np.log(self.priors_), weight, reference)

    def _find_priors(self, training):
        """Prior of each prototype, P(l)."""
        labels = self._prototype_indices()
        n_classes = len(self.classes_)
        refuse_dict(self.priors, "priors")
        if self.priors is None or _is(self.priors, "uniform"):
            return np.full(len(labels), 1 / len(labels))
        if _is(self.priors, "empirical"):
            priors = np.bincount(training.y, training.weights, n_classes)
        else:
            priors = check_array(
                self.priors, ensure_2d=False, dtype=np.float64, input_name="priors"
            )
            if priors.shape != (n_classes,) or not (priors > 0).all():
                raise ValueError(
                    f"priors must be {n_classes} positive numbers, one for each class "
                    f"in the order of classes_, got {self.priors!r}."
                )
        return (priors / priors.sum() / np.bincount(labels))[labels]

    def _first_scale(self, training, prototypes, solver):
        if not isinstance(self.sigma2, str):
            return float(self.sigma2)
        if self.sigma2 == "learn" and self._goes_on():
            return self.sigma2_
        return self._reference(training, prototypes)

    def _scales(self, sigma2):
        """The values of sigma2, epoch by epoch."""
        scales, factor = [sigma2], _FIRST_FACTOR
        last = max(sigma2 - _DEPTH, _FLOOR)
        while len(scales) < self.max_iter:
            factor **= _EXPONENT
            falls = self.annealing and scales[-1] >= last
            scales.append(max(scales[-1] * factor, _FLOOR) if falls else scales[-1])
        return scales

    def _partial_scale(self, epoch):
        return self.sigma2_

    def _store_scale(self, scale):
        self.sigma2_ = float(scale)

    def _fit_together(self, training, prototypes, scale):
        if self.sigma2 != "learn":
            return super()._fit_together(training, prototypes, scale)
        loss = self._make_loss(training, "lbfgs", prototypes)
        point = [prototypes, np.log([scale])]
        prototypes, log_scale = self._run_lbfgs(
            training, loss, point, None, with_scale=True
        )
        self._store_scale(np.exp(log_scale[0]))
        return prototypes

    def _find_solver(self, space):
        if self.sigma2 == "learn" and isinstance(space, EuclideanSPDSpace):
            raise ValueError(
                "sigma2='learn' is not possible for SPD matrices with the Euclidean "
                "metric: it needs solver='lbfgs', which does not keep prototypes "
                "positive definite there. Give a number or 'auto', or take PLRSQ with "
                "another metric."
            )
        if self.sigma2 == "learn" and self.solver == "sgd":
            raise ValueError(
                "sigma2='learn' needs solver='lbfgs' or 'auto', but solver='sgd'. For "
                "stochastic steps, give a number or 'auto' as sigma2."
            )
        return super()._find_solver(space)

    def _check_partial(self, first):
        if first and self.sigma2 == "learn":
            raise ValueError(
                "partial_fit does not learn sigma2, whatever the solver. Give a number "
                "or 'auto'; sigma2='learn' is for fit."
            )
        if _is(self.priors, "empirical"):
            raise ValueError(
                "priors='empirical' needs all samples; give the priors themselves to "
                "use partial_fit."
            )


def _is(parameter, name):
    """Whether a parameter, which may be an array, is a string."""
    return isinstance(parameter, str) and parameter == name
