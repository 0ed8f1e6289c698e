"""Base of the classifiers by prototypes: data, initialization and predictions."""

import warnings
from copy import copy
from dataclasses import replace
from functools import partial, wraps
from math import ceil
from numbers import Integral, Real

import numpy as np
from scipy.sparse import csr_array, issparse
from sklearn.base import (
    BaseEstimator,
    ClassifierMixin,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    clone,
)
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    assert_all_finite,
    check_array,
    column_or_1d,
    validate_data,
)

from skgeom._moments import known_labels
from skgeom._prototypes._docs import LVQ_DOCS
from skgeom._prototypes._losses import nearest_scores
from skgeom._prototypes._metrics import VectorMetric, find_metric
from skgeom._prototypes._solvers import (
    SINGULAR,
    Problem,
    Progress,
    Schedule,
    compare,
    decay,
    falling,
    find_variance,
    fit_lbfgs,
    fit_sgd,
)
from skgeom.geometry._affine_invariant import (
    affine_invariant_mean,
    from_spectrum,
    inverse_factors,
)
from skgeom.utils._dask import naming_block, refuse_dask, row_blocks
from skgeom.utils.array_api import (
    ARRAY_API,
    astype,
    cholesky_factors,
    float_dtype,
    float_dtypes,
    is_dask,
    like,
    linear_algebra,
    move_attributes,
    namespace,
    on_host,
    take_labels,
    to_numpy,
)
from skgeom.utils.estimator import (
    CallbackSupportMixin,
    current_progress,
    estimator_method,
    substitute_docs,
)
from skgeom.utils.validation import (
    check_sample_weight,
    check_spd_samples,
    check_symmetric,
    check_two_classes,
    cholesky,
    class_factors,
    refuse_dict,
    warn_user,
)

# Prototypes that start at one class mean are moved this far towards a random sample.
_PERTURBATION = 0.1


def prototype_counts(n_prototypes, classes):
    """Number of prototypes of each class, by the parameter of that name."""
    n_classes = len(classes)
    if isinstance(n_prototypes, Integral):
        return np.full(n_classes, n_prototypes)
    refuse_dict(n_prototypes, "n_prototypes")
    counts = check_array(
        n_prototypes, ensure_2d=False, dtype=None, input_name="n_prototypes"
    )
    if counts.shape != (n_classes,) or counts.dtype.kind not in "iu":
        raise ValueError(
            f"n_prototypes must be an integer or {n_classes} integers, one for each "
            f"class, got {n_prototypes!r}."
        )
    if counts.min() < 1:
        raise ValueError(
            f"n_prototypes is {counts.min()} for class {classes[counts.argmin()]}; "
            "each class needs at least 1."
        )
    return counts


def initial_prototypes(metric, Z, y, weights, counts, init, random_state, classes):
    """Where prototypes start, by the parameter ``init``, as the metric encodes them.

    Parameters
    ----------
    metric : Metric
        Where they live.
    Z, y, weights : ndarray
        Encoded samples, the indices of their classes, and their weights.
    counts : ndarray of shape (n_classes,)
        Number of prototypes of each class.
    init : {"auto", "mean", "kmeans"} or array-like
        The parameter.
    random_state : RandomState
        For starts with several prototypes.
    classes : ndarray of shape (n_classes,)
        Class labels, for messages.

    Returns
    -------
    ndarray of shape (n_prototypes_in_all, ...)
        The prototypes, class by class.
    """
    if not isinstance(init, str):
        shape = metric.decode(Z[:1, ...]).shape[1:]
        given = given_prototypes(init, (int(counts.sum()), *shape))
        return metric.encode(astype(like(given, Z), Z.dtype))
    check_counts(counts, to_numpy(y), classes)
    if init == "auto":
        init = "kmeans" if counts.max() > 1 else "mean"
    return class_prototypes(metric, Z, y, weights, counts, init, random_state)


def given_prototypes(init, shape):
    """A copy of the parameter ``init``, an array, as prototypes of a shape."""
    init = check_array(
        init if namespace(init) is np else to_numpy(init),
        dtype=np.float64,
        ensure_2d=False,
        allow_nd=True,
        copy=True,
        input_name="init",
    )
    if init.shape != shape:
        raise ValueError(
            f"init must have shape {shape}, one prototype after the other in the order "
            f"of classes_, got {init.shape}."
        )
    if len(shape) == 3:
        check_symmetric(init, "init")
        cholesky(init, "init")
    return init


def check_counts(counts, y, classes):
    """Raise ValueError if a class has fewer samples than prototypes."""
    present = np.bincount(y, minlength=len(counts))
    short = present < counts
    if short.any():
        raise ValueError(
            f"Class {classes[short][0]} has {present[short][0]} samples, fewer than "
            f"its {counts[short][0]} prototypes. Lower n_prototypes, or give init."
        )


def class_prototypes(metric, Z, y, weights, counts, init, random_state):
    """Prototypes of all classes, class by class, as the metric encodes them.

    Everything follows the samples through an affine map, if the metric does: means, the
    clusters of logarithms at a mean, and moves towards samples.
    """
    prototypes = []
    for label, count in enumerate(counts):
        own = y == label
        find = _clusters if init == "kmeans" and count > 1 else _around_mean
        prototypes += find(metric, Z[own], weights[own], count, random_state)
    xp = namespace(Z)
    prototypes = xp.stack(prototypes)
    apart = xp.max(xp.abs(prototypes - prototypes[:1, ...]))
    if apart <= 1e-13 * xp.max(xp.abs(prototypes)):
        warn_user(
            "The prototypes of all classes start at the same point, so that nothing "
            "tells them apart: the samples of the classes are the same, or have the "
            "same mean. Check X and y, or give init.",
            UserWarning,
        )
    return prototypes


def _around_mean(metric, Z, weights, count, random_state):
    mean = metric.mean(Z, weights)
    if count == 1:
        return [mean]
    chosen = random_state.choice(Z.shape[0], count, replace=False).tolist()
    return [metric.geodesic(mean, _sample(Z, i), _PERTURBATION) for i in chosen]


def _sample(Z, i):
    """A sample, dense."""
    return Z[[i]].toarray()[0] if issparse(Z) else Z[i, ...]


def _clusters(metric, Z, weights, count, random_state):
    """Means of the clusters that k-means finds in the tangent space at the mean.

    scikit-learn's k-means takes arrays of numpy: the vectors are copied to the host.
    """
    vectors = metric.tangent_vectors(Z, metric.mean(Z, weights))
    with warnings.catch_warnings():  # of fewer distinct samples than clusters
        warnings.simplefilter("ignore", ConvergenceWarning)
        found = KMeans(count, n_init=4, random_state=random_state).fit(
            on_host(vectors), sample_weight=to_numpy(weights)
        )
    means = []
    for cluster in range(count):
        own = found.labels_ == cluster
        if own.any():
            own = like(own, Z)
            means.append(metric.mean(Z[own], weights[own]))
        else:
            means.append(_sample(Z, random_state.choice(Z.shape[0])))
    return means


def initial_subspace(X, y, weights, n_components):
    """Orthonormal basis (n, n_components) in which the class means differ most.

    The directions are those in which the logarithms of the class means, at their common
    mean, are largest. The subspace follows the matrices through an affine map.
    """
    xp, labels = namespace(X), range(int(namespace(y).max(y)) + 1)
    means = xp.stack(
        [affine_invariant_mean(X[y == c], weights[y == c]) for c in labels]
    )
    inverse = inverse_factors(affine_invariant_mean(means, None))
    eigenvalues, vectors = xp.linalg.eigh(inverse @ means @ inverse.T)
    squared_logs = from_spectrum(vectors, xp.log(eigenvalues) ** 2)
    _, directions = xp.linalg.eigh(xp.sum(squared_logs, axis=0))
    filters = inverse.T @ xp.flip(directions, axis=1)[:, :n_components]
    return xp.linalg.qr(filters)[0]


def by_blocks_if_stochastic(fit):
    """A ``fit`` that takes Dask arrays and frames with ``solver="sgd"``."""

    @wraps(fit)
    def wrapper(self, X, y, sample_weight=None):
        if is_dask(X) and self.solver == "sgd":
            return _fit_blocks(self, X, y, sample_weight)
        refuse_dask(self, X, "Set solver='sgd' to learn its blocks one after another")
        return fit(self, X, y, sample_weight)

    return wrapper


def _fit_blocks(model, X, y, sample_weight):
    """Learn one block after another by ``partial_fit``.

    A block counts as an epoch of its schedule, and all blocks are taken as often as it
    takes to reach ``max_iter``, at least once.
    """
    import dask

    blocks = row_blocks(X, y, sample_weight)
    labels = dask.compute(*(dask.delayed(_labels)(y) for _, y, _ in blocks))
    seen = [number for number, some in enumerate(labels) if len(some)]
    if not seen:
        raise ValueError("There are no samples: all blocks of X are empty.")
    classes = np.unique(np.concatenate([labels[number] for number in seen]))
    parameters = model.get_params(deep=False)
    if not model._is_warm_start():
        for name in set(vars(model)) - set(parameters):
            delattr(model, name)
    # Blocks are shuffled differently; the source of random numbers is not the user's.
    learner = clone(model)
    learner.random_state = check_random_state(model.random_state)
    vars(learner).update({k: v for k, v in vars(model).items() if k not in parameters})
    steps = seen * ceil(model.max_iter / len(seen))
    progress = current_progress()
    progress.start()

    def learnt():
        return {k: v for k, v in vars(learner).items() if k not in parameters}

    for number in steps:
        samples, own_labels, weights = dask.compute(*blocks[number])
        if weights is not None and not np.any(weights):
            continue
        with naming_block(number):
            learner.partial_fit(samples, own_labels, classes, weights)
        said = f"loss {learner.loss_curve_[-1]:.6g}"
        if progress.step("", said, learnt, n_steps=len(steps), name="block"):
            break
    vars(model).update(learnt())
    return model


def _labels(y):
    return np.unique(column_or_1d(y)) if len(y) else np.empty(0)


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
        metric, prototypes = self._progress.metric, self._progress.prototypes
        Z = self._encode(metric, self._reduce(astype(X, float_dtype(X))))
        squared = compare(partial(self._compare, metric), Z, prototypes)
        return squared, X.dtype

    def _compare(self, metric, Z, prototypes):
        """Squared distances of encoded samples and prototypes."""
        return metric.squared_distances(Z, prototypes)

    def _new_metric(self, ndim, metric):
        """Where samples of ``ndim - 1`` dimensions, and their prototypes, live."""
        return VectorMetric() if ndim == 2 else find_metric(metric)

    def _observed(self, X, y, weights, metric=None):
        """A metric that has taken note of the samples, and what it makes of them.

        It is a new one, unless ``metric`` has learnt a metric before.
        """
        X = self._reduce(X)
        if metric is None or not metric.learns_metric:
            metric = self._new_metric(X.ndim, self.metric)
            if X.ndim == 2 and 0 < (largest := _largest(X)) < 1 / _LARGEST:
                raise ValueError(
                    f"X has values up to {largest:.3g}, too small for squared "
                    "distances. Multiply X by a number, or scale its features."
                )
            try:
                with linear_algebra():
                    metric.observe(X)
                    metric.learn(X, y, weights)
            except np.linalg.LinAlgError:
                raise ValueError(SINGULAR) from None
        return metric, self._encode(metric, X)

    def _reduce(self, X):
        """What of the samples is compared."""
        return X

    def _encode(self, metric, X):
        Z = metric.encode(X)
        if Z.ndim == 2 and (largest := _largest(Z)) > _LARGEST:
            raise ValueError(
                f"X has values up to {largest:.3g}, too large for squared "
                "distances. Divide X by a number, or scale its features."
            )
        return Z

    def _is_warm_start(self):
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
        goes_on, announced = self._is_warm_start(), classes is not None
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
        metric, Z = self._observed(X, y, weights)
        self.prototype_labels_ = np.repeat(classes, counts)
        labels = like(np.repeat(np.arange(len(classes)), counts), X)
        if metric.learns_metric and not class_sums.all():
            # The first samples of a stream, or one: the start tells more of the rest.
            given = given_prototypes(self.init, (len(labels), *X.shape[1:]))
            given = astype(like(given, X), X.dtype)
            metric.learn(given, labels, namespace(X).ones_like(given[:, 0, 0]))
            Z = metric.encode(X)
        start = initial_prototypes(
            metric, Z, y, weights, counts, self.init, rng, classes
        )
        squared = compare(metric.squared_distances, Z, start)
        variance = find_variance(squared, y, labels, weights)
        return Problem(
            metric,
            X,
            Z,
            start,
            y,
            labels,
            tuple(counts.tolist()),
            weights,
            class_sums,
            variance,
            metric.decode(start),
            squared if Z.ndim == 3 else None,
        )

    def _next_problem(self, X, y, weights, class_sums):
        """The problem of prototypes that go on from where they are."""
        weights = weights * self._class_factors(class_sums)[y]
        y, weights = like(y, X), like(weights, X)
        metric, Z = self._observed(X, y, weights, self._progress.metric)
        counts = self._progress.counts
        # Vectors are encoded as before, and decoded ones have lost digits.
        vectors = self._progress.prototypes.ndim == 2
        return Problem(
            metric,
            X,
            Z,
            self._progress.prototypes if vectors else metric.encode(self.prototypes_),
            y,
            like(np.repeat(np.arange(len(counts)), counts), X),
            counts,
            weights,
            class_sums,
            self._progress.variance,
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
        y = known_labels(y if namespace(y) is np else to_numpy(y))
        y = column_or_1d(y, warn=True)
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
        if self._progress.metric_name != self.metric:
            raise ValueError(
                f"{type(self).__name__} goes on learning with the same metric as "
                f"before, {self._progress.metric_name!r}, but got "
                f"metric={self.metric!r}. Fit a new one."
            )

    def _store(self, problem, outcome, n_epochs=None):
        """Set what all fits set; ``n_epochs`` is that of ``partial_fit``."""
        self._check_definite(outcome.prototypes)  # predictions use what is encoded
        self.prototypes_ = problem.metric.decode(outcome.prototypes)
        if n_epochs is not None and hasattr(self, "loss_curve_"):
            before = to_numpy(self.loss_curve_)
            self.loss_curve_ = np.append(before, outcome.losses)
            self.n_iter_ += outcome.n_iter
        else:
            self.loss_curve_, self.n_iter_ = outcome.losses, outcome.n_iter
        self._progress = Progress(
            self.metric,
            problem.counts,
            problem.metric,
            outcome.prototypes,
            problem.variance,
            problem.start,
            problem.class_sums,
            # After fit, the schedule has come to its end, however many calls there are.
            np.inf if n_epochs is None else n_epochs,
            outcome.scale,
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


class TwoSolverClassifier(PrototypeClassifier):
    """Prototypes learnt by L-BFGS, or by the stochastic steps of the papers.

    A subclass has ``_loss``, ``_first_scale``, ``_schedule``, ``_partial_scale`` and
    ``_first_rate``.
    """

    _parameter_constraints = {
        **PrototypeClassifier._parameter_constraints,
        "solver": [StrOptions({"auto", "lbfgs", "sgd"})],
        "learning_rate": [
            StrOptions({"auto"}),
            Interval(Real, 0, None, closed="neither"),
        ],
        "batch_size": [Interval(Integral, 1, None, closed="left")],
        "shuffle": ["boolean"],
    }

    @estimator_method
    @by_blocks_if_stochastic
    @substitute_docs(**LVQ_DOCS)
    def fit(self, X, y, sample_weight=None):
        """Learn the prototypes.

        Parameters
        ----------
        {X_to_fit}
        y : array-like of shape (n_samples,)
            Their classes, at least two.
        {sample_weight}

        Returns
        -------
        self
            This object, fitted.

        Raises
        ------
        {raised_by_fit}

        Warns
        -----
        {warned_by_fit}
        """
        rng = check_random_state(self.random_state)
        problem = self._problem(X, y, sample_weight, rng)
        solver = self._choose_solver(problem.metric)
        loss, scale = self._loss(problem, solver), self._first_scale(problem)

        def finish(model, outcome):
            model._store(problem, outcome)

        report = self._reporter(problem, finish)
        if solver == "sgd":
            schedule = self._schedule(problem, scale, rng)
            outcome = fit_sgd(problem, loss, schedule, report)
        else:
            problem, options = self._optimized(problem)
            outcome = fit_lbfgs(problem, loss, scale, report=report, **options)
        finish(self, outcome)
        return self

    @estimator_method
    @substitute_docs(**LVQ_DOCS)
    def partial_fit(self, X, y, classes=None, sample_weight=None):
        """Take one epoch of stochastic steps over some samples, in a shuffled order.

        The first call, on an object that is not fitted, initializes the prototypes from
        its samples, which must then contain each class, unless ``init`` is given. The
        learning rate decreases with the samples, to a hundredth after ``max_iter``
        epochs, and the automatic slope of :class:`GLRSQ` grows as long. A call counts
        as an epoch or, if its samples are fewer than the rows of all prototypes
        together, as that fraction of one. After ``fit``, the rate and the slope are at
        their end. Each call adds one to ``n_iter_``, and the sum of the losses of its
        samples to the end of ``loss_curve_``.

        The automatic variance of :class:`PLRSQ` and :class:`RSLVQ` is that of the
        samples of all calls about the first prototypes; after ``fit`` it stays. The
        proportions of the classes are those of the samples since the last ``fit``, that
        one included, and are equal as long as a class has none; training shrinks them
        towards equal ones, as far as they may differ by chance [1]_.

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
        problem = self._partial_problem(X, y, sample_weight, rng, classes)
        loss = self._loss(problem, "sgd", streams=True)
        before = self._progress.n_epochs if hasattr(self, "prototypes_") else 0.0
        n_epochs = before + problem.fraction_of_epoch
        scale = self._partial_scale(problem, n_epochs)
        epoch = min(n_epochs, self.max_iter)
        rate = decay(epoch, self.max_iter) * self._first_rate(problem, scale)
        shuffle = rng if self.shuffle else None
        schedule = Schedule([rate], [scale], self.batch_size, shuffle)
        self._store(problem, fit_sgd(problem, loss, schedule), n_epochs=n_epochs)
        return self

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
        # The first samples may have been few: the variance is that of all so far, about
        # the start. About the prototypes on their way it would grow as they are driven
        # apart, and steps with it.
        start = problem.metric.encode(self._progress.start)
        squared = problem.metric.squared_distances(problem.Z, start)
        found = find_variance(squared, problem.y, problem.labels, problem.weights)
        share = new_sums.sum() / class_sums.sum()
        variance = (1 - share) * problem.variance + share * found
        return replace(problem, variance=variance)

    def _optimized(self, problem):
        """The problem of ``fit_lbfgs``, and its options."""
        return problem, self._search_options

    def _falling_schedule(self, problem, scales, rng):
        """Scales of the loss, one for each epoch, and learning rates."""
        first_rates = [self._first_rate(problem, scale) for scale in scales]
        rates = falling(first_rates, problem.weights)
        return Schedule(rates, scales, self.batch_size, rng if self.shuffle else None)

    def _choose_solver(self, metric):
        """The solver, by the parameter of that name."""
        if self.solver == "lbfgs" and not metric.keeps_definite:
            raise ValueError(
                "solver='lbfgs' does not keep prototypes positive definite with the "
                f"{metric.name} metric; use solver='sgd'."
            )
        if self.solver != "auto":
            return self.solver
        return "lbfgs" if metric.keeps_definite else "sgd"


def _largest(X):
    """The largest absolute value."""
    if issparse(X):
        return float(abs(X).max())
    xp = namespace(X)
    return float(xp.max(xp.abs(X)))
