"""Prototypes that are learnt by stochastic steps, or all together."""

from numbers import Integral, Real

import numpy as np
from sklearn.base import _fit_context
from sklearn.utils import check_random_state, gen_batches
from sklearn.utils._param_validation import Interval, StrOptions

from skgeom._lvq.base import BaseLVQ
from skgeom._lvq.undo import all_or_nothing
from skgeom.objectives import EuclideanSPDSpace

# The largest step away from a sample, as a fraction of the distance.
_REPULSION = 0.25


class StochasticLVQ(BaseLVQ):
    """Learning vector quantisation by ``solver="sgd"`` or ``solver="lbfgs"``.

    A subclass says which scale its loss has to begin with (``_first_scale``), how it
    changes with the epochs (``_scales``), and the learning rate of the first epoch.
    """

    _parameter_constraints = {
        **BaseLVQ._parameter_constraints,
        "solver": [StrOptions({"auto", "lbfgs", "sgd"})],
        "learning_rate": [
            StrOptions({"auto"}),
            Interval(Real, 0, None, closed="neither"),
        ],
        "batch_size": [Interval(Integral, 1, None, closed="left")],
        "shuffle": ["boolean"],
    }

    @_fit_context(prefer_skip_nested_validation=True)
    @all_or_nothing
    def fit(self, X, y, sample_weight=None):
        """Learn the prototypes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n, n) or (n_samples, n_features)
            The samples, of the kind that this estimator takes; not modified.
        y : array-like of shape (n_samples,)
            Their classes, at least two.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the samples, not negative; a sample of weight 2 counts as two.

        Returns
        -------
        self
            This object, fitted.

        Raises
        ------
        ValueError
            If a matrix is not symmetric to 1e-6 of its largest entry, or not positive
            definite (the message names it and its smallest eigenvalue), if an array is
            malformed or not finite, if there is one class only, if a class has fewer
            samples than prototypes, or if parameters do not fit together.

        Warns
        -----
        ConvergenceWarning
            If ``solver="lbfgs"`` does not converge within ``max_iter`` iterations.
        """
        training = self._begin(X, y, sample_weight)
        random_state = check_random_state(self.random_state)
        solver = self._find_solver(training.space)
        prototypes = self._start(training, random_state)
        scale = self._first_scale(training, prototypes, solver)
        if solver == "sgd":
            scales = self._scales(scale)
            loss = self._make_loss(training)
            prototypes = self._run_sgd(training, loss, prototypes, scales, random_state)
            self._store_scale(scales[-1])
        else:
            prototypes = self._fit_together(training, prototypes, scale)
        self._keep(training, prototypes)
        self._n_calls = np.inf  # for partial_fit, the learning rate has fallen
        return self

    def _fit_together(self, training, prototypes, scale):
        loss = self._make_loss(training, "lbfgs", prototypes)
        point = self._run_lbfgs(training, loss, [prototypes], scale)
        self._store_scale(scale)
        return point[0]

    @_fit_context(prefer_skip_nested_validation=True)
    @all_or_nothing
    def partial_fit(self, X, y, classes=None, sample_weight=None):
        """Take one epoch of stochastic steps over some samples, in a shuffled order.

        The first call, on an object that is not fitted, finds the start and the scale
        from its samples; these must then contain each class, unless ``init`` is given.
        With the number of calls, the learning rate falls, to a hundredth at the call
        number ``max_iter``, and the automatic slope of ``GLRSQ`` grows; from there on
        they stay, as the scale does from the beginning. After ``fit``, they have come
        to their end already: it goes on with a hundredth of the learning rate, and the
        slope of ``fit``. Each call adds one to ``n_iter_``, and the sum of the losses
        of its samples to the end of ``loss_curve_``.

        Parameters
        ----------
        X : array-like of shape (n_samples, n, n) or (n_samples, n_features)
            The samples, of the kind that this estimator takes; not modified.
        y : array-like of shape (n_samples,)
            Their classes.
        classes : array-like of shape (n_classes,), default=None
            All classes that will ever occur; needed at the first call if its samples
            do not have them all.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the samples, not negative.

        Returns
        -------
        self
            This object, fitted.

        Raises
        ------
        ValueError
            If y holds a class that is not in ``classes_``, and as ``fit`` does.
        """
        random_state = check_random_state(self.random_state)
        first = not hasattr(self, "prototypes_")
        self._check_partial(first)
        if first:
            training = self._begin(X, y, sample_weight, classes)
            prototypes = self._start(training, random_state)
            scale = self._first_scale(training, prototypes, "sgd")
            self._store_scale(scale)
            self._n_calls, self.n_iter_, self.loss_curve_ = 0, 0, np.empty(0)
        else:
            if classes is not None and not np.array_equal(
                np.unique(classes), self.classes_
            ):
                raise ValueError(
                    f"classes={np.asarray(classes).tolist()} differs from those of "
                    f"the first call: {self.classes_.tolist()}."
                )
            self._check_metric()
            X = self._check_X(X, reset=False)
            y = self._check_y(y, len(X))
            training = self._encode(X, y, sample_weight)
            prototypes = training.space.encode(self.prototypes_)
        loss = self._make_loss(training)
        state = training.space.moving(prototypes)
        self._n_calls += 1
        epoch = min(self._n_calls, self.max_iter)
        scale = self._partial_scale(epoch)
        order = np.arange(len(training.Z))
        if self.shuffle:
            order = random_state.permutation(order)
        rate = _decay(epoch, self.max_iter) * self._first_rate(scale, training.space)
        total = self._epoch(state, training, loss, scale, rate, order)
        self._keep(training, state.prototypes)
        self.n_iter_ += 1
        self.loss_curve_ = np.append(self.loss_curve_, total)
        return self

    def _reference(self, training, prototypes):
        """Half of the mean squared distance from the nearest prototype of the class.

        A warm start keeps that of the first fit: prototypes that have been learnt are
        farther away, and each fit would solve another problem.
        """
        if self._goes_on() and hasattr(self, "_spread"):
            return self._spread
        self._spread = self._find_spread(training, prototypes)
        return self._spread

    def _find_spread(self, training, prototypes):
        squared = training.space.squared_distances(training.Z, prototypes)
        own = self._prototype_indices() == training.y[:, None]
        nearest = np.where(own, squared, np.inf).min(axis=1)
        spread = np.average(nearest, weights=training.weights) / 2
        if spread > 1e-10 * squared.mean():
            return spread
        # Samples that all lie on prototypes: what is left is the distance of those.
        return squared.mean() / 2 or 1.0

    def _check_same(self, classes):
        super()._check_same(classes)
        self._check_metric()

    def _check_metric(self):
        """Raise if prototypes that were learnt would go on with another metric."""
        if self._learnt_metric != self._metric:
            raise ValueError(
                f"{type(self).__name__} goes on learning with the same metric as "
                f"before, {self._learnt_metric!r}, but got metric={self.metric!r}. "
                "Fit a new one."
            )

    @property
    def _metric(self):
        return getattr(self, "metric", "euclid")

    def _keep(self, training, prototypes):
        super()._keep(training, prototypes)
        self._learnt_metric = self._metric

    def _check_partial(self, first):
        """Raise if the parameters do not allow steps on parts of the data."""

    def _find_solver(self, space):
        flat_matrices = isinstance(space, EuclideanSPDSpace)
        if self.solver == "lbfgs" and flat_matrices:
            raise ValueError(
                "solver='lbfgs' does not keep prototypes positive definite with the "
                "Euclidean metric; use solver='sgd'."
            )
        if self.solver != "auto":
            return self.solver
        return "sgd" if flat_matrices else "lbfgs"

    def _epoch(self, state, training, loss, scale, rate, order):
        """One pass of stochastic steps; returns the sum of the losses met on the way.

        A prototype moves by the sum over the batch of its coefficients times the
        logarithms of the samples. Positive coefficients, which attract, are made to sum
        to at most one, so that they do not lead farther than the farthest of their
        samples; negative ones, which repel, to at most a quarter, so that they lead at
        most a quarter as far as the farthest of theirs.
        """
        total = 0.0
        for batch in gen_batches(len(order), self.batch_size):
            rows = order[batch]
            weights = training.weights[rows]
            squared = state.look(training.Z[rows])
            losses, derivatives, _ = loss(squared, training.y[rows], scale)
            total += weights @ losses
            # The gradient of a squared distance is -2 times the logarithm.
            coefficients = (2 * rate) * weights[:, None] * derivatives
            state.move(_bounded(coefficients))
        state.refresh()
        return total

    def _run_sgd(self, training, loss, prototypes, scales, random_state):
        """Epochs of algorithm 1 with the rate that falls to a hundredth."""
        state = training.space.moving(prototypes)
        losses = []
        for epoch, scale in enumerate(scales, start=1):
            order = np.arange(len(training.Z))
            if self.shuffle:
                order = random_state.permutation(order)
            rate = self._first_rate(scale, training.space)
            # A common factor of the weights changes nothing.
            rate *= _decay(epoch, self.max_iter) / training.weights.mean()
            losses.append(self._epoch(state, training, loss, scale, rate, order))
            if self.verbose:
                print(f"[{type(self).__name__}] epoch {epoch}: loss {losses[-1]:.6g}")
        self.loss_curve_ = np.array(losses)
        self.n_iter_ = len(losses)
        return state.prototypes


def matrix_rate(estimator, scale, space):
    """Learning rate at the beginning for SPD matrices, section 6 of the paper.

    With the Euclidean metric, sigma2 has a unit, of which steps must be independent.
    """
    if estimator.learning_rate != "auto":
        return estimator.learning_rate
    if isinstance(space, EuclideanSPDSpace):
        return scale / 10
    per_class = len(estimator.prototype_labels_) / len(estimator.classes_)
    size = getattr(estimator, "n_components", None) or estimator.n_features_in_
    return size * per_class / 100


def _bounded(coefficients):
    """Coefficients (n, M) whose sums over the samples are in bounds."""
    attract = np.maximum(coefficients, 0)
    repel = np.minimum(coefficients, 0)
    attract = attract / np.maximum(attract.sum(axis=0), 1)
    return attract + repel / np.maximum(-repel.sum(axis=0) / _REPULSION, 1)


def _decay(epoch, n_epochs):
    """Factor of the learning rate, a hundredth in the last epoch."""
    return 0.01 ** (epoch / n_epochs)
