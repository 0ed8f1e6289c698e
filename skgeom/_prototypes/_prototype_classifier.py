"""Base of the prototype classifiers: data, initialization, training, predictions."""

import warnings
from copy import copy
from dataclasses import replace
from functools import partial
from math import ceil
from numbers import Integral, Real

import numpy as np
from scipy.sparse import csr_array, issparse
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin, clone
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import column_or_1d

from skgeom._prototypes._metrics import SPD_METRICS, VectorMetric
from skgeom._prototypes._training import (
    SINGULAR,
    Training,
    compare,
    decay,
    find_variance,
    fit_lbfgs,
    fit_sgd,
    in_tangent_space,
    select_temperature,
)
from skgeom.utils._dask import check_not_dask, naming_block, row_blocks
from skgeom.utils._mixins import PosteriorClassifierMixin
from skgeom.utils.array_api import (
    ARRAY_API,
    astype,
    float_dtype,
    float_dtypes,
    is_dask,
    like,
    linear_algebra,
    move_attributes,
    namespace,
    on_cpu,
    to_numpy,
)
from skgeom.utils.estimator import (
    BaseEstimator,
    CallbackSupportMixin,
    current_progress,
    estimator_method,
    naming,
    validate_data,
)
from skgeom.utils.linalg import embedded, from_embedded
from skgeom.utils.validation import (
    check_array,
    check_not_dict,
    check_sample_weight,
    check_spd_samples,
    check_symmetric,
    check_two_classes,
    checked_labels,
    cholesky,
    class_factors,
    shape_of,
    warn_user,
)


def prototype_counts(n_prototypes, classes):
    """Number of prototypes of each class, by the parameter of that name."""
    check_not_dict(n_prototypes, "n_prototypes")
    counts, shape = to_numpy(n_prototypes), (len(classes),)
    if counts.shape not in ((), shape) or counts.dtype.kind not in "iu":
        raise ValueError(
            f"n_prototypes must be an integer or {len(classes)} integers, one for each "
            f"class, got {n_prototypes!r}."
        )
    counts = np.broadcast_to(counts, shape)
    if counts.min() < 1:
        raise ValueError(
            f"n_prototypes is {counts.min()} for class {classes[counts.argmin()]}; "
            "each class needs at least 1."
        )
    return tuple(counts.tolist())


def given_prototypes(init, shape, labels, dtype, n_copies):
    """The parameter ``init``, an array, as prototypes and their labels."""
    init = init if namespace(init) is np else to_numpy(init)
    if n_copies == 2 and np.ndim(init) > 1:
        init = embedded(np.asarray(init))
    init = check_array(
        init,
        dtype=np.float64,
        ensure_2d=False,
        allow_nd=True,
        copy=True,
        input_name="init",
    )
    if init.shape != shape:
        shape, found = (
            (s[0], *(n // n_copies for n in s[1:])) for s in (shape, init.shape)
        )
        raise ValueError(
            f"init must have shape {shape}, one prototype after the other in the order "
            f"of classes_, got {found}."
        )
    if len(shape) == 3:
        check_symmetric(init, "init")
        cholesky(init, "init")
    return astype(like(init, labels), dtype)


def class_prototypes(metric, Z, y, weights, counts, rng):
    """Prototypes of all classes, class by class, as the metric encodes them.

    They are equivariant under affine maps if the metric is: class means, or means of
    clusters of logarithms.
    """
    prototypes = []
    for label, count in enumerate(counts):
        own = y == label
        prototypes += _clusters(metric, Z[own], weights[own], count, rng)
    xp = namespace(y)
    prototypes = xp.stack(prototypes)
    apart = xp.max(xp.abs(prototypes - prototypes[:1, ...]))
    if apart <= 1e-13 * xp.max(xp.abs(prototypes)):
        warn_user(
            "The initial prototypes of all classes are equal: the samples of the "
            "classes are equal, or have equal means. Check X and y, or set init.",
            UserWarning,
        )
    return prototypes


def _clusters(metric, Z, weights, count, rng):
    """Means of the clusters that k-means finds in the tangent space at the mean.

    scikit-learn's k-means accepts NumPy arrays, so the vectors are copied to CPU
    memory.
    """
    mean = metric.mean(Z, weights)
    if count == 1:
        return [mean]
    vectors = metric.tangent_vectors(Z, mean)
    with warnings.catch_warnings():  # of fewer distinct samples than clusters
        warnings.simplefilter("ignore", ConvergenceWarning)
        found = KMeans(count, n_init=4, random_state=rng).fit(
            on_cpu(vectors), sample_weight=to_numpy(weights)
        )
    means = []
    for cluster in range(count):
        own = found.labels_ == cluster
        if not own.any():  # a random sample
            own[rng.choice(len(own))] = True
        own = like(own, weights)
        means.append(metric.mean(Z[own], weights[own]))
    return means


def fit_blocks(model, X, y, sample_weight):
    """Learn the blocks of Dask data one after another by ``partial_fit``.

    A block counts as an epoch of the schedule. All blocks are used at least once, and
    as often as required to reach ``max_iter``.
    """
    import dask

    blocks = row_blocks(X, y, sample_weight)
    labels = dask.compute(*(dask.delayed(_labels)(y) for _, y, _ in blocks))
    seen = [number for number, some in enumerate(labels) if len(some)]
    if not seen:
        raise ValueError("There are no samples: all blocks of X are empty.")
    classes = np.unique(np.concatenate([labels[number] for number in seen]))
    parameters = model.get_params(deep=False)
    # One generator of random numbers, so blocks are shuffled differently.
    learner = copy(model) if model.warm_start else clone(model)
    learner.random_state = check_random_state(model.random_state)

    def fitted_attributes(estimator):
        return {k: v for k, v in vars(estimator).items() if k not in parameters}

    steps = seen * ceil(model.max_iter / len(seen))
    progress = current_progress()
    progress.start()
    for number in steps:
        samples, own_labels, weights = dask.compute(*blocks[number])
        if weights is not None and not np.any(weights):
            continue
        with naming_block(number):
            learner.partial_fit(samples, own_labels, classes, weights)
        message, attributes = (
            f"loss {learner.loss_curve_[-1]:.6g}",
            fitted_attributes(learner),
        )
        if progress.step("", message, attributes, n_steps=len(steps), name="block"):
            break
    for name in fitted_attributes(model):
        delattr(model, name)
    vars(model).update(fitted_attributes(learner))
    return model


def _labels(y):
    return np.unique(column_or_1d(y)) if len(y) else np.empty(0)


def check_unchanged(name, before, now):
    """Raise ValueError if a parameter differs from the fit that is continued."""
    if now != before:
        raise ValueError(
            f"Training cannot continue with {name}={now!r}, because the model was "
            f"fitted with {name}={before!r}. Fit a new model."
        )


# Constraints of the parameters of all prototype classifiers.
shared_constraints = {
    "n_prototypes": [Interval(Integral, 1, None, closed="left"), "array-like"],
    "class_weight": [None, StrOptions({"balanced"}), dict],
    "init": [StrOptions({"kmeans"}), "array-like"],
    "max_iter": [Interval(Integral, 1, None, closed="left")],
    "tol": [Interval(Real, 0, None, closed="left")],
    "warm_start": ["boolean"],
    "random_state": ["random_state"],
    "verbose": ["verbose"],
}


class PrototypeClassifier(
    CallbackSupportMixin,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    PosteriorClassifierMixin,
    BaseEstimator,
):
    """Classifies by distances from labeled prototypes.

    ``fit`` encodes the samples by a metric, and passes them with a loss to a solver. A
    subclass defines ``_loss(training, streams=False)`` and ``_scale(training)``, the
    loss and its scale, and ``_scores(squared_distances)``, the logarithms of the class
    probabilities, (n_samples, n_classes), up to a term that the classes share.
    ``_calibrate(training, streams=False)`` sets the attributes that they need.
    ``streams`` is true in ``partial_fit``.

    Parameters
    ----------
    n_prototypes : int or array-like of shape (n_classes,), default=1
        Number of prototypes of each class, in the order of ``classes_``.
    class_weight : None, "balanced" or dict, default=None
        Factors of the sample weights of each class in training. With ``"balanced"``,
        all classes have the same total weight, in ``partial_fit`` over all samples so
        far, and the same probability in training. A dict of labels and positive numbers
        sets the cost of an error in a class: a class with a larger weight is predicted
        more often.
    init : "kmeans" or array-like, default="kmeans"
        Initial prototypes: ``"kmeans"``, the mean of the class in the metric or, for
        several prototypes, the means of the k-means clusters in the tangent space at
        the mean; or an array of prototypes, class by class in the order of
        ``classes_``.
    max_iter : int, default=100
        Number of epochs of ``"sgd"``, where each block of Dask data counts as an epoch;
        largest number of iterations of ``"lbfgs"``.
    tol : float, default=0.01
        ``"lbfgs"`` stops when ten iterations together decrease the cost by less than
        the fraction ``tol``, when the mean loss is below ``tol``, when the norm of the
        gradient is below ``tol`` times its initial norm, or, with the Gauss-Newton
        matrix (see ``solver``), when one iteration decreases the cost by less than the
        fraction ``tol / 50``. ``"sgd"`` does not use ``tol``.
    warm_start : bool, default=False
        Whether ``fit`` continues from the prototypes of the last fit, with the same
        metric, automatic ``sigma2`` and selected ``representability``; the schedules of
        ``"sgd"`` restart. The samples of earlier fits are not kept: with ``"lbfgs"``,
        the result is the optimum for the new samples only. Use ``partial_fit`` to learn
        from a stream of samples.
    random_state : int, RandomState instance or None, default=None
        Seed of the initialization of several prototypes and of the order of the
        samples.
    verbose : int, default=0
        If positive, prints the loss of each epoch or iteration, and the selected
        ``representability``.

    Attributes
    ----------
    prototypes_ : ndarray of shape (n_prototypes_in_all, n, n) or (..., n_features)
        The prototypes, class by class, complex if the samples are complex. If classes
        are separable, prototypes can be so far from the samples that the eigenvalues of
        these matrices are limited by the range of floating-point numbers. Predictions
        use coordinates of the prototypes without this limit.
    prototype_labels_ : ndarray of shape (n_prototypes_in_all,)
        The classes of the prototypes.
    is_complex_ : bool
        Whether the matrices of ``fit`` are complex.
    classes_ : ndarray of shape (n_classes,)
        The class labels.
    loss_curve_ : ndarray
        The cost. For ``"lbfgs"``, the initial cost and the cost after each iteration;
        the first iteration can be an optimization in the tangent space, see ``solver``.
        For ``"sgd"``, the sum of the sample losses of each epoch, before the steps.
        Each call of ``partial_fit`` adds one epoch over its own samples.
    n_iter_ : int
        Number of epochs or iterations, including calls of ``partial_fit``.
    n_features_in_ : int
        Number of rows of the matrices, or of features of the vectors.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, if X was a table with names that are all strings.
    """

    _fitted_array = "prototypes_"
    metric = "euclid"  # of SPD matrices; a parameter of those that have several
    solver = "lbfgs"  # likewise
    _accepts_vectors = False

    _parameter_constraints = shared_constraints

    @estimator_method
    def fit(self, X, y, sample_weight=None):
        """Learn the prototypes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n, n) or (n_samples, n_features)
            SPD matrices, which can be complex Hermitian for :class:`PLRSQ` and
            :class:`GLRSQ`; or vectors, which can be sparse, for :class:`RSLVQ` and
            :class:`GMLVQ`. Not modified.
        y : array-like of shape (n_samples,)
            Classes of the samples, at least two.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the samples, not negative; a weight of 2 counts a sample twice.

        Returns
        -------
        self
            This object, fitted.

        Raises
        ------
        ValueError
            If a matrix is not symmetric to within 1e-6 of its largest entry, or not
            positive definite (the message names the matrix and its smallest
            eigenvalue), if an array is malformed or not finite, if there is one class
            only, if a class has fewer samples than prototypes, or if parameters are
            incompatible.

        Warns
        -----
        ConvergenceWarning
            If ``solver="lbfgs"`` does not converge within ``max_iter`` iterations, or
            does not improve the initial prototypes although they are not optimal.
        UserWarning
            If the initial prototypes of all classes are equal.
        """
        if is_dask(X) and self.solver == "sgd":
            return fit_blocks(self, X, y, sample_weight)
        rng = check_random_state(self.random_state)
        training = self._prepared(X, y, sample_weight, rng)
        self._calibrate(training)
        solver = self._solver(training, self._loss(training), rng)
        self._store(training, solver(report=self._reporter(training)))
        return self

    def _calibrate(self, training, streams=False):
        """Set attributes that the loss and probabilities require."""

    def _solver(self, training, loss, rng):
        """The solver, a function of the reporting callback."""
        if self._is_stochastic(training.metric):
            epochs = range(1, self.max_iter + 1)
            # A common factor of the weights changes nothing.
            unit = 1 / float(namespace(training.y).mean(training.weights))
            schedule = self._schedule(training, epochs, unit, rng)
            return partial(fit_sgd, training, loss, *schedule)
        options = self._lbfgs_options(training)
        return partial(fit_lbfgs, training, loss, self._scale(training), **options)

    def _selected_temperature(self, training):
        """Temperature of held-out distances."""
        learner = copy(self)  # stores the prototypes of each fold
        with warnings.catch_warnings():  # the fit to all samples warns, too
            warnings.simplefilter("ignore", ConvergenceWarning)
            return select_temperature(training, learner._held_out_distances)

    def _held_out_distances(self, rest, held_out):
        """Squared distances of held-out samples from prototypes of the other samples.

        The tangent space at the mean of the prototypes is precise enough to determine
        prototypes in a fraction of the time.
        """
        metric, is_curved = rest.metric, rest.metric.tangent_metric
        rest = in_tangent_space(rest) if is_curved else rest
        solver = self._solver(rest, self._loss(rest), np.random.RandomState(0))
        self._store(rest, solver())
        prototypes = self._training.prototypes
        if is_curved:
            prototypes = rest.metric.decode(prototypes)
        return compare(partial(self._compare, metric), held_out.Z, prototypes)

    @estimator_method
    def transform(self, X):
        """Compute the distances from the prototypes.

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

    def _joint_log_likelihood(self, X):
        return self._scores(self._squared_distances(X)[0])

    def _squared_distances(self, X):
        """Squared distances from the prototypes, and the dtype of X."""
        X = self._check_X(X, reset=False)
        training = self._training
        Z = self._encode(training.metric, self._reduce(astype(X, float_dtype(X))))
        distances = partial(self._compare, training.metric)
        return compare(distances, Z, training.prototypes), X.dtype

    def _compare(self, metric, Z, prototypes):
        """Squared distances of encoded samples and prototypes."""
        return metric.squared_distances(Z, prototypes) / self._n_copies

    @property
    def _n_copies(self):
        """Factor of squared distances, scales and sizes in the real embedding, or 1."""
        return 2 if getattr(self, "is_complex_", False) else 1

    def _reduce(self, X):
        """The part of the samples that is compared with prototypes."""
        return X

    def _encode(self, metric, X):
        Z = metric.encode(X)
        if Z.ndim == 2 and (largest := _largest(Z)) > _size_limit():
            raise ValueError(
                f"X has values up to {largest:.3g}, too large for squared "
                "distances. Divide X by a number, or scale its features."
            )
        return Z

    def _continues(self):
        """Whether ``fit`` is a warm start."""
        return self.warm_start and hasattr(self, "prototypes_")

    def _prepared(self, X, y, sample_weight, rng, classes=None):
        """The training of ``fit``, or of the first call of ``partial_fit``.

        Sets ``classes_`` and ``prototype_labels_``.
        """
        if is_dask(X):
            remedy = "Set solver='sgd' to learn its blocks one after another"
            streams = hasattr(self, "partial_fit")
            check_not_dask(
                self, X, remedy if streams else "Fit it to a sample of the rows"
            )
        continues, announced = self._continues(), classes is not None
        X = self._check_X(X, reset=not continues)
        y = checked_labels(y, X)
        argument = "classes" if announced else "y"
        with naming(argument):
            classes = np.unique(to_numpy(classes) if announced else y)
        check_two_classes(classes, type(self).__name__, argument)
        counts = prototype_counts(self.n_prototypes, classes)
        if continues:
            self._check_same(classes, counts)
        self.classes_ = classes
        X, y, weights, class_sums = self._weighted(X, y, sample_weight)
        # Classes may be added later if they are in ``classes`` and ``init`` contains
        # their prototypes.
        if (not announced or isinstance(self.init, str)) and not class_sums.all():
            raise ValueError(
                f"The class {classes[class_sums.argmin()]} of y has no sample, or none "
                "of positive weight. Remove it; for partial_fit, pass samples of all "
                "classes to the first call, or set init."
            )
        if continues:
            return self._continued(X, y, weights, class_sums)
        self._check_counts(counts, to_numpy(y))
        self._find_components(X, y, weights)
        self.prototype_labels_ = np.repeat(classes, counts)
        labels = like(np.repeat(np.arange(len(classes)), counts), X)
        reduced, given = self._reduce(X), None
        if not isinstance(self.init, str):
            shape = sum(counts), *reduced.shape[1:]
            given = given_prototypes(self.init, shape, labels, X.dtype, self._n_copies)
        metric = VectorMetric() if X.ndim == 2 else SPD_METRICS[self.metric]()
        self._check_not_tiny(reduced)
        try:
            with linear_algebra():
                if class_sums.all():
                    metric.fit(reduced, y, weights)
                else:  # the initial prototypes represent classes without samples
                    ones = namespace(given).ones_like(astype(labels, given.dtype))
                    metric.fit(given, labels, ones)
        except np.linalg.LinAlgError:
            raise ValueError(SINGULAR) from None
        Z = self._encode(metric, reduced)
        if given is None:
            start = class_prototypes(metric, Z, y, weights, counts, rng)
        else:
            start = metric.encode(given)
        squared = compare(metric.squared_distances, Z, start)
        variance = find_variance(squared, y, labels, weights)
        prototypes = {"labels": labels, "prototypes": start, "start": start}
        state = {"variance": variance, "class_sums": class_sums, **prototypes}
        samples = {"X": X, "Z": Z, "y": y, "weights": weights}
        return Training(self.metric, metric, counts, **state, **samples)

    def _continued(self, X, y, weights, class_sums):
        """The training that continues from the current prototypes."""
        Z = self._encode(self._training.metric, self._reduce(X))
        samples = {"X": X, "Z": Z, "y": y, "weights": weights}
        return replace(self._training, class_sums=class_sums, **samples)

    def _check_X(self, X, reset):
        """X as a real array; matrices are checked to be SPD, and made symmetric."""
        ndim = len(shape_of(X))
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
        hermitian = not self._accepts_vectors
        X = check_spd_samples(self, X, reset=reset, hermitian=hermitian)
        return embedded(X) if self._n_copies == 2 else X

    def _check_not_tiny(self, X):
        if X.ndim == 2 and 0 < (largest := _largest(X)) < 1 / _size_limit():
            raise ValueError(
                f"X has values up to {largest:.3g}, too small for squared "
                "distances. Multiply X by a number, or scale its features."
            )

    def _check_counts(self, counts, y):
        """Raise ValueError if a class has fewer samples than prototypes."""
        present = np.bincount(y, minlength=len(counts))
        short = present < np.array(counts)
        if isinstance(self.init, str) and short.any():
            label = short.argmax()
            raise ValueError(
                f"Class {self.classes_[label]} has {present[label]} samples, fewer "
                f"than its {counts[label]} prototypes. Decrease n_prototypes, or set "
                "init."
            )

    def _weighted(self, X, y, sample_weight, before=0.0):
        """Samples of positive weight, class indices, and weights in training.

        The last result is the sums of ``sample_weight`` by class, in addition to those
        ``before``.
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
        if not weights.any():  # an error only in newer versions of scikit-learn
            raise ValueError("sample_weight must be positive for some sample.")
        X = astype(X, float_dtype(X))
        if (weights == 0).any():
            kept = weights > 0
            X, y, weights = X[like(kept, X)], y[kept], weights[kept]
        sums = before + np.bincount(y, weights, minlength=len(self.classes_))
        weights = weights * self._class_factors(sums)[y]
        return X, like(y, X), like(weights, X), sums

    def _class_factors(self, class_sums):
        """By what ``class_weight`` multiplies the weights of samples, (n_classes,).

        ``class_sums`` are the sums of the weights of each class so far. A sum is zero,
        in ``partial_fit``, if the class has no samples so far.
        """
        if self.class_weight == "balanced":
            seen = class_sums > 0
            even = class_sums.sum() / np.count_nonzero(seen)
            return np.divide(even, class_sums, out=np.ones(len(seen)), where=seen)
        return class_factors(self.class_weight, self.classes_)

    def _find_components(self, X, y, weights):
        """Compute the reduction of samples before encoding, if there is one."""

    def _check_same(self, classes, counts):
        """Raise, before anything is set, if a fit cannot continue from the last one."""
        training = self._training
        check_unchanged("classes", to_numpy(self.classes_).tolist(), classes.tolist())
        check_unchanged("n_prototypes", training.counts, counts)
        check_unchanged("metric", training.metric_name, self.metric)

    def _is_stochastic(self, metric):
        """Whether ``"sgd"`` is the solver."""
        return False

    def _store(self, training, result):
        """Set the fitted attributes."""
        prototypes = training.metric.decode(result.prototypes)
        is_complex = self._n_copies == 2
        self.prototypes_ = from_embedded(prototypes) if is_complex else prototypes
        self.loss_curve_, self.n_iter_ = result.losses, result.n_iter
        state = {"prototypes": result.prototypes, "scale": result.scale}
        samples = dict.fromkeys(("X", "Z", "y", "weights"))
        self._training = replace(training, **state, **samples)
        move_attributes(self, training.y)  # what was found with numpy

    def _reporter(self, training):
        """Callback of a solver after each iteration; None without progress."""
        progress = current_progress()
        y = self.classes_[to_numpy(training.y)] if progress.active else None
        X = training.X
        progress.start(from_embedded(X) if self._n_copies == 2 else X, y)

        def report(name, loss, result):
            def attributes():
                model = copy(self)
                model._store(training, result())
                return vars(model)

            message, n_steps = f"loss {loss:.6g}", self.max_iter
            return progress.step("", message, attributes, n_steps=n_steps, name=name)

        return report if progress.active else None

    @property
    def _size(self):
        """Number of rows of the matrices that are compared, or of features."""
        return self.n_features_in_

    def _lbfgs_options(self, training):
        """Options of ``fit_lbfgs``."""
        name = type(self).__name__
        return {"max_iter": self.max_iter, "tol": self.tol, "name": name}

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


streaming_constraints = {
    **shared_constraints,
    "solver": [StrOptions({"auto", "lbfgs", "sgd"})],
    "learning_rate": [
        StrOptions({"auto"}),
        Interval(Real, 0, None, closed="neither"),
    ],
    "batch_size": [Interval(Integral, 1, None, closed="left")],
    "shuffle": ["boolean"],
}


class StreamingPrototypeClassifier(PrototypeClassifier):
    r"""Prototypes learned by L-BFGS, or by the stochastic steps of the papers.

    A subclass also defines ``_first_rate(training, scale)``.

    Parameters
    ----------
    solver : {"auto", "lbfgs", "sgd"}, default="auto"
        ``"lbfgs"`` minimizes the cost of all samples by Riemannian L-BFGS. If the cost
        is a likelihood and only prototypes are learned, the Gauss-Newton matrix of the
        cost is the preconditioner, unless the logarithms for all pairs of samples and
        prototypes require more than 256 MiB. With ``metric="riemann"``, an optimization
        in the tangent space comes first and counts as one iteration; warm starts omit
        it. ``"sgd"`` performs stochastic gradient steps (algorithm 1 of the paper).
        With ``batch_size=1``, no step moves a prototype past a sample that attracts it,
        or increases the distance from a sample that repels it by more than a quarter.
        ``"auto"`` is ``"lbfgs"``, or ``"sgd"`` for SPD matrices with the Euclidean
        metric, for which ``"lbfgs"`` does not keep prototypes positive definite.
    learning_rate : "auto" or float, default="auto"
        :math:`\alpha` of ``"sgd"`` before the first epoch. The rate decreases to a
        hundredth over ``max_iter`` epochs. ``"auto"`` is :math:`n \xi / 100` for
        matrices of size n and an average of :math:`\xi` prototypes per class, and
        :math:`\sigma^2 / 10` for metrics whose distances have a unit, such as the
        Euclidean metric.
    batch_size : int, default=1
        Number of samples of one step of ``"sgd"``; their gradients are summed.
    shuffle : bool, default=True
        Whether ``"sgd"`` shuffles the samples of each epoch.
    """

    _parameter_constraints = streaming_constraints

    @estimator_method
    def partial_fit(self, X, y, classes=None, sample_weight=None):
        """Perform one epoch of stochastic steps over samples, in a shuffled order.

        The first call on an unfitted object initializes the prototypes and the metric
        from its samples, which must contain all classes unless ``init`` is given. The
        learning rate decreases to a hundredth over ``max_iter`` epochs, while the
        automatic slope of :class:`GLRSQ` increases. A call of m samples counts as
        m / (p n) epochs, at most one, for p prototypes in all and matrices of n rows or
        vectors of n features. After ``fit``, rate and slope keep their final values.
        Each call increases ``n_iter_`` by one, and appends the sum of the losses of its
        samples to ``loss_curve_``.

        The automatic variance of :class:`PLRSQ` and :class:`RSLVQ` is the variance of
        the samples of all calls about the initial prototypes; after ``fit`` it does not
        change. The class proportions are estimated from the samples of the last ``fit``
        and all later calls, and are equal until all classes have samples. Training
        shrinks the proportions towards equality, according to their sampling error
        [1]_.

        Parameters
        ----------
        X : array-like of shape (n_samples, n, n) or (n_samples, n_features)
            Samples, as in ``fit``; not modified.
        y : array-like of shape (n_samples,)
            Classes of the samples.
        classes : array-like of shape (n_classes,), default=None
            All classes of this and later calls; required in the first call if its
            samples do not contain all classes.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the samples, not negative; a weight of 2 counts a sample twice.

        Returns
        -------
        self
            This object, fitted.

        Raises
        ------
        ValueError
            If y contains a class that is not in ``classes_``; see also ``fit``.

        References
        ----------
        .. [1] J. Hausser and K. Strimmer, "Entropy inference and the James-Stein
           estimator", Journal of Machine Learning Research 10, 2009.
        """
        rng = check_random_state(self.random_state)
        losses, n_iter = [], 0
        if hasattr(self, "prototypes_"):
            losses, n_iter = to_numpy(self.loss_curve_), self.n_iter_
            training = self._next_training(X, y, sample_weight, classes)
        else:
            training = self._prepared(X, y, sample_weight, rng, classes)
            training = replace(training, n_epochs=0.0)
        n_rows = sum(training.counts) * self._size
        n_epochs = training.n_epochs + min(training.Z.shape[0] / n_rows, 1.0)
        training = replace(training, n_epochs=n_epochs)
        self._calibrate(training, streams=True)
        loss = self._loss(training, streams=True)
        schedule = self._schedule(training, [n_epochs], 1.0, rng)
        self._store(training, fit_sgd(training, loss, *schedule))
        losses = np.append(losses, to_numpy(self.loss_curve_))
        self.loss_curve_ = like(losses, training.y)
        self.n_iter_ += n_iter
        return self

    def _next_training(self, X, y, sample_weight, classes):
        """The training of a further call of ``partial_fit``."""
        classes = np.unique(to_numpy(self.classes_ if classes is None else classes))
        self._check_same(classes, prototype_counts(self.n_prototypes, classes))
        X = self._check_X(X, reset=False)
        y = checked_labels(y, X)
        before = to_numpy(self._training.class_sums)
        X, y, weights, class_sums = self._weighted(X, y, sample_weight, before)
        training = self._continued(X, y, weights, class_sums)
        if np.isinf(training.n_epochs):
            return training
        # The first call may have few samples, so the variance of all samples so far is
        # computed about the initial prototypes. About moving prototypes, the variance
        # and the steps would grow.
        squared = training.metric.squared_distances(training.Z, training.start)
        found = find_variance(squared, training.y, training.labels, training.weights)
        share = 1 - before.sum() / class_sums.sum()
        variance = (1 - share) * training.variance + share * found
        return replace(training, variance=variance)

    def _schedule(self, training, epochs, unit, rng):
        """Learning rates and scales of epochs, batch size, and order of samples."""
        scales = [self._epoch_scale(training, epoch) for epoch in epochs]
        rates = [
            decay(min(epoch, self.max_iter), self.max_iter)
            * unit
            * self._first_rate(training, scale)
            for epoch, scale in zip(epochs, scales, strict=True)
        ]
        return rates, scales, self.batch_size, rng if self.shuffle else None

    def _epoch_scale(self, training, epoch):
        """The scale of the loss in an epoch of stochastic steps."""
        return self._scale(training)

    def _is_stochastic(self, metric):
        if self.solver == "lbfgs" and not metric.keeps_definite:
            raise ValueError(
                "solver='lbfgs' does not keep prototypes positive definite with the "
                f"{metric.name} metric; use solver='sgd'."
            )
        return self.solver == "sgd" or not metric.keeps_definite


def _size_limit():
    """Largest number whose fourth powers, and their inverses, can be summed."""
    return np.finfo(np.float64).max ** 0.25 / 100


def _largest(X):
    """The largest absolute value."""
    if issparse(X):
        return float(abs(X).max())
    xp = namespace(X)
    return float(xp.max(xp.abs(X)))
