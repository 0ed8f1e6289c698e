"""What the estimators of learning vector quantisation have in common."""

from copy import copy
from dataclasses import replace
from functools import partial
from numbers import Integral, Real

import numpy as np
from scipy.sparse import csr_array, issparse
from sklearn.base import (
    BaseEstimator,
    ClassifierMixin,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
)
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    assert_all_finite,
    column_or_1d,
    validate_data,
)

from skgeom._lvq.losses import nearest_scores
from skgeom._lvq.problem import SINGULAR, Problem, Progress, compare, find_spread
from skgeom._lvq.spaces import FlatSpace, find_space
from skgeom._lvq.starts import find_start, given_prototypes, prototype_counts
from skgeom.utils._dask import refuse_dask
from skgeom.utils.array_api import (
    ARRAY_API,
    astype,
    cholesky_factors,
    float_dtype,
    float_dtypes,
    like,
    linear_algebra,
    move_attributes,
    namespace,
    take_labels,
    to_numpy,
)
from skgeom.utils.estimator import (
    CallbackSupportMixin,
    current_progress,
    estimator_method,
)
from skgeom.utils.validation import (
    check_sample_weight,
    check_spd_samples,
    check_two_classes,
    class_factors,
)

_BY_BLOCKS = "Learn its blocks one after another by partial_fit"

# Sums of fourth powers of larger numbers may be infinite, of their inverses zero.
_LARGEST = 1e75


class PrototypeClassifier(
    CallbackSupportMixin,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    ClassifierMixin,
    BaseEstimator,
):
    """Classifies by distances from labelled prototypes.

    ``fit`` of a subclass makes a problem of its samples, hands it with a loss to a
    solver, and stores the prototypes. The nearest prototype decides, unless a subclass
    makes other scores of the classes by ``_class_scores``.
    """

    _fitted_array = "prototypes_"
    metric = "euclid"  # of SPD matrices; a parameter of those that have several
    _accepts_vectors = False
    _remedy = ""  # what else may help a search that does not end

    _parameter_constraints = {
        "n_prototypes": [Interval(Integral, 1, None, closed="left"), "array-like"],
        "class_weight": [None, StrOptions({"balanced"}), dict],
        "init": [StrOptions({"auto", "mean", "kmeans"}), "array-like"],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "warm_start": ["boolean"],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    @estimator_method
    def transform(self, X):
        """Distances from the prototypes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n, n) or (n_samples, n_features)
            Samples, as in ``fit``.

        Returns
        -------
        distances : ndarray of shape (n_samples, n_prototypes)
            The distances, not squared.
        """
        squared, dtype = self._squared_distances(X)
        return astype(namespace(squared).sqrt(squared), dtype)

    @estimator_method
    def decision_function(self, X):
        """Scores of the classes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n, n) or (n_samples, n_features)
            Samples, as in ``fit``.

        Returns
        -------
        scores : ndarray of shape (n_samples, n_classes) or (n_samples,)
            One column a class, the largest of which decides; with two classes, the
            difference of the second and the first, whose sign decides.
        """
        scores = self._class_scores(self._squared_distances(X)[0])
        return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores

    @estimator_method
    def predict(self, X):
        """Predict the classes of samples.

        Parameters
        ----------
        X : array-like of shape (n_samples, n, n) or (n_samples, n_features)
            Samples, as in ``fit``.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            The classes of the largest score.
        """
        scores = self._class_scores(self._squared_distances(X)[0])
        return take_labels(self.classes_, namespace(scores).argmax(scores, axis=1))

    @estimator_method
    def score(self, X, y, sample_weight=None):
        """Accuracy of the predicted classes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n, n) or (n_samples, n_features)
            Samples, as in ``fit``.
        y : array-like of shape (n_samples,)
            Their true classes.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the samples.

        Returns
        -------
        accuracy : float
            The weighted share of samples whose class is predicted.
        """
        return super().score(X, y, sample_weight)

    def _class_scores(self, squared_distances):
        """Scores (n, n_classes) by squared distances from the prototypes."""
        return nearest_scores(squared_distances, self._progress.counts)

    def _squared_distances(self, X):
        """Squared distances from the prototypes, and the dtype of X."""
        X = self._check_X(X, reset=False)
        space, prototypes = self._progress.space, self._progress.prototypes
        Z = self._encode(space, self._reduce(astype(X, float_dtype(X))))
        squared = compare(partial(self._compare, space), Z, prototypes)
        return squared, X.dtype

    def _compare(self, space, Z, prototypes):
        """Squared distances of encoded samples and prototypes."""
        return space.squared_distances(Z, prototypes)

    def _space(self, ndim, metric):
        """Where samples of ``ndim - 1`` dimensions, and their prototypes, live."""
        return FlatSpace() if ndim == 2 else find_space(metric)

    def _observed(self, X, y, weights, space=None):
        """A space that has taken note of the samples, and what it makes of them.

        It is a new one, unless ``space`` has learnt a metric before.
        """
        X = self._reduce(X)
        if space is None or not space.learns_metric:
            space = self._space(X.ndim, self.metric)
            if X.ndim == 2 and 0 < (largest := _largest(X)) < 1 / _LARGEST:
                raise ValueError(
                    f"X has values up to {largest:.3g}, too small for squared "
                    "distances. Multiply X by a number, or scale its features."
                )
            try:
                with linear_algebra():
                    space.observe(X)
                    space.learn(X, y, weights)
            except np.linalg.LinAlgError:
                raise ValueError(SINGULAR) from None
        return space, self._encode(space, X)

    def _reduce(self, X):
        """What of the samples is compared."""
        return X

    def _encode(self, space, X):
        Z = space.encode(X)
        if Z.ndim == 2 and (largest := _largest(Z)) > _LARGEST:
            raise ValueError(
                f"X has values up to {largest:.3g}, too large for squared "
                "distances. Divide X by a number, or scale its features."
            )
        return Z

    def _goes_on(self):
        """Whether ``fit`` is a warm start."""
        return self.warm_start and hasattr(self, "prototypes_")

    def _problem(self, X, y, sample_weight, rng, classes=None):
        """The problem of ``fit``, or of the first call of ``partial_fit``.

        Sets ``classes_`` and ``prototype_labels_``.
        """
        streams = hasattr(self, "partial_fit")
        refuse_dask(
            self, X, _BY_BLOCKS if streams else "Fit it to a sample of the rows"
        )
        goes_on, announced = self._goes_on(), classes is not None
        X = self._check_X(X, reset=not goes_on)
        y = self._check_y(y, X.shape[0])
        classes = np.unique(y if classes is None else to_numpy(classes))
        check_two_classes(classes, type(self).__name__)
        counts = prototype_counts(self.n_prototypes, classes)
        if goes_on:
            self._check_same(classes, counts)
        self.classes_ = classes
        X, y, weights, class_sums = self._weighted(X, y, sample_weight)
        # Classes may come later if they are announced and their start is given.
        if (not announced or isinstance(self.init, str)) and not class_sums.all():
            raise ValueError(
                f"The class {classes[class_sums.argmin()]} has no sample, or none "
                "of positive weight. Remove it; for partial_fit, give the first call "
                "some samples of each class, or init."
            )
        if goes_on:
            return self._next_problem(X, y, weights, class_sums)
        weights = weights * self._class_factors(class_sums)[y]
        y, weights = like(y, X), like(weights, X)
        self._find_components(X, y, weights)
        space, Z = self._observed(X, y, weights)
        self.prototype_labels_ = np.repeat(classes, counts)
        labels = like(np.repeat(np.arange(len(classes)), counts), X)
        if space.learns_metric and not class_sums.all():
            # The first samples of a stream, or one: the start tells more of the rest.
            given = given_prototypes(self.init, (len(labels), *X.shape[1:]))
            given = astype(like(given, X), X.dtype)
            space.learn(given, labels, namespace(X).ones_like(given[:, 0, 0]))
            Z = space.encode(X)
        start = find_start(space, Z, y, weights, counts, self.init, rng, classes)
        squared = compare(space.squared_distances, Z, start)
        spread = find_spread(squared, y, labels, weights)
        return Problem(
            space,
            X,
            Z,
            start,
            y,
            labels,
            tuple(counts.tolist()),
            weights,
            class_sums,
            spread,
            space.decode(start),
            squared if Z.ndim == 3 else None,
        )

    def _partial_problem(self, X, y, sample_weight, rng, classes):
        """The problem of a call of ``partial_fit``, which goes on if it can."""
        if not hasattr(self, "prototypes_"):
            return self._problem(X, y, sample_weight, rng, classes)
        if classes is not None and not np.array_equal(
            np.unique(to_numpy(classes)), self.classes_
        ):
            raise ValueError(
                f"classes={to_numpy(classes).tolist()} differs from those of the "
                f"first call: {self.classes_.tolist()}."
            )
        counts = prototype_counts(self.n_prototypes, self.classes_)
        self._check_same(self.classes_, counts)
        X = self._check_X(X, reset=False)
        y = self._check_y(y, X.shape[0])
        X, y, weights, new_sums = self._weighted(X, y, sample_weight)
        class_sums = self._progress.class_sums + new_sums
        problem = self._next_problem(X, y, weights, class_sums)
        if np.isinf(self._progress.n_epochs):
            return problem
        # The first samples may have been few: the spread is that of all so far, about
        # the start. About the prototypes on their way it would grow as they are driven
        # apart, and steps with it.
        start = problem.space.encode(self._progress.start)
        squared = problem.space.squared_distances(problem.Z, start)
        found = find_spread(squared, problem.y, problem.labels, problem.weights)
        share = new_sums.sum() / class_sums.sum()
        spread = (1 - share) * problem.spread + share * found
        return replace(problem, spread=spread)

    def _next_problem(self, X, y, weights, class_sums):
        """The problem of prototypes that go on from where they are."""
        weights = weights * self._class_factors(class_sums)[y]
        y, weights = like(y, X), like(weights, X)
        space, Z = self._observed(X, y, weights, self._progress.space)
        counts = self._progress.counts
        return Problem(
            space,
            X,
            Z,
            space.encode(self.prototypes_),
            y,
            like(np.repeat(np.arange(len(counts)), counts), X),
            counts,
            weights,
            class_sums,
            self._progress.spread,
            self._progress.start,
        )

    def _check_X(self, X, reset):
        """X as an array; matrices are checked to be SPD, and made symmetric."""
        ndim = X.ndim if hasattr(X, "ndim") else np.asarray(X).ndim
        if not reset and {ndim, self.prototypes_.ndim} == {2, 3}:
            raise ValueError(
                f"{type(self).__name__} was fitted on samples of "
                f"{self.prototypes_.ndim - 1} dimensions, but X has shape "
                f"{np.shape(X)}. One sample is X[None]."
            )
        if self._accepts_vectors and ndim != 3:
            X = validate_data(
                self, X, accept_sparse="csr", dtype=float_dtypes(X), reset=reset
            )
            return csr_array(X) if issparse(X) else X
        return check_spd_samples(self, X, reset=reset)

    def _check_y(self, y, n_samples):
        y = column_or_1d(y if namespace(y) is np else to_numpy(y), warn=True)
        assert_all_finite(y, input_name="y")
        if len(y) != n_samples:
            raise ValueError(f"X has {n_samples} samples, but y has {len(y)} labels.")
        check_classification_targets(y)
        return y

    def _weighted(self, X, y, sample_weight):
        """X in float64, class indices, weights, and their sums by class.

        Samples of weight zero are left out.
        """
        unknown = np.setdiff1d(y, self.classes_)
        if unknown.size:
            raise ValueError(
                f"y has the label {unknown.tolist()[0]!r}, which is not among the "
                f"classes {self.classes_.tolist()}."
            )
        y = np.searchsorted(self.classes_, y)
        if namespace(sample_weight) is not np:
            sample_weight = to_numpy(sample_weight)
        weights = check_sample_weight(
            sample_weight, y, dtype=np.float64, ensure_non_negative=True
        )
        if not weights.any():  # which only newer versions of scikit-learn refuse
            raise ValueError("sample_weight must be positive for some sample.")
        X = astype(X, float_dtype(X))
        if (weights == 0).any():
            kept = weights > 0
            X, y, weights = X[like(kept, X)], y[kept], weights[kept]
        return X, y, weights, np.bincount(y, weights, minlength=len(self.classes_))

    def _class_factors(self, class_sums):
        """By what ``class_weight`` multiplies the weights of samples, (n_classes,).

        ``class_sums`` are the sums of the weights of each class so far. Where they are
        zero, in ``partial_fit``, the class has yet to come.
        """
        if self.class_weight == "balanced":
            seen = class_sums > 0
            even = class_sums.sum() / np.count_nonzero(seen)
            return np.divide(even, class_sums, out=np.ones(len(seen)), where=seen)
        return class_factors(self.class_weight, self.classes_)

    def _find_components(self, X, y, weights):
        """Find what samples are reduced to, if anything, before they are encoded."""

    def _check_same(self, classes, counts):
        """Raise, before anything is set, if a fit cannot go on from the last one."""
        if not np.array_equal(classes, to_numpy(self.classes_)):
            raise ValueError(
                "To go on learning, a model needs the same classes as before: "
                f"{to_numpy(self.classes_).tolist()}, but y has {classes.tolist()}."
            )
        if not np.array_equal(counts, self._progress.counts):
            raise ValueError(
                "To go on learning, a model needs the same number of prototypes as "
                f"before, but n_prototypes={self.n_prototypes!r}."
            )
        if self._progress.metric != self.metric:
            raise ValueError(
                f"{type(self).__name__} goes on learning with the same metric as "
                f"before, {self._progress.metric!r}, but got metric={self.metric!r}. "
                "Fit a new one."
            )

    def _choose_solver(self, space):
        """The solver, by the parameter of that name."""
        if self.solver == "lbfgs" and not space.keeps_definite:
            raise ValueError(
                "solver='lbfgs' does not keep prototypes positive definite with the "
                f"{space.name} metric; use solver='sgd'."
            )
        if self.solver != "auto":
            return self.solver
        return "lbfgs" if space.keeps_definite else "sgd"

    def _n_epochs(self, problem):
        """How far ``partial_fit`` is in its schedule, this call included."""
        goes_on = hasattr(self, "prototypes_")
        before = self._progress.n_epochs if goes_on else 0.0
        return before + problem.share_of_epoch

    def _store(self, problem, outcome, n_epochs=None, slope=None):
        """Set what all fits set; ``n_epochs`` is that of ``partial_fit``."""
        prototypes = problem.space.decode(outcome.prototypes)
        # Of whitened ones, rounding hides less; and predictions use what is encoded.
        encoded_as_matrices = outcome.prototypes.ndim == 3
        self._check_definite(outcome.prototypes if encoded_as_matrices else prototypes)
        self.prototypes_ = prototypes
        if n_epochs is not None and hasattr(self, "loss_curve_"):
            before = to_numpy(self.loss_curve_)
            self.loss_curve_ = np.append(before, outcome.losses)
            self.n_iter_ += outcome.n_iter
        else:
            self.loss_curve_, self.n_iter_ = outcome.losses, outcome.n_iter
        self._progress = Progress(
            self.metric,
            problem.counts,
            problem.space,
            outcome.prototypes,
            problem.spread,
            problem.start,
            problem.class_sums,
            # After fit, the schedule has come to its end, however many calls there are.
            np.inf if n_epochs is None else n_epochs,
            slope,
        )
        move_attributes(self, problem.Z)  # what was found with numpy

    def _check_definite(self, prototypes):
        """Raise if prototypes are singular by now."""
        if prototypes.ndim < 3:
            return
        try:  # what predictions do with them
            cholesky_factors(prototypes)
        except np.linalg.LinAlgError:
            raise ValueError(
                "The prototypes have become so far from the samples that rounding "
                "makes them singular. The classes can be separated: stop earlier, by a "
                f"lower max_iter or a higher tol{self._remedy}."
            ) from None

    def _reporter(self, problem, finish):
        """What a solver calls after each iteration; None if nobody listens.

        ``finish(model, outcome)`` makes a fitted model of this object, or of a copy.
        """
        progress = current_progress()
        y = self.classes_[to_numpy(problem.y)] if progress.active else None
        progress.start(problem.X, y)

        def report(name, loss, outcome):
            def attributes():
                model = copy(self)
                finish(model, outcome())
                return vars(model)

            said, n_steps = f"loss {loss:.6g}", self.max_iter
            return progress.step("", said, attributes, n_steps=n_steps, name=name)

        return report if progress.active else None

    @property
    def _search_options(self):
        """Options of ``fit_lbfgs`` that are parameters."""
        limits = {"max_iter": self.max_iter, "tol": self.tol}
        return {**limits, "remedy": self._remedy, "name": type(self).__name__}

    @property
    def _n_features_out(self):
        return self.prototypes_.shape[0]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = self._accepts_vectors
        tags.input_tags.sparse = self._accepts_vectors
        tags.input_tags.three_d_array = True
        tags.array_api_support = ARRAY_API
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _largest(X):
    """The largest absolute value."""
    if issparse(X):
        return float(abs(X).max())
    xp = namespace(X)
    return float(xp.max(xp.abs(X)))
