"""Base class of the prototype classifiers: validation, training, predictions."""

import warnings
from copy import copy
from dataclasses import replace
from functools import partial
from math import ceil
from numbers import Integral, Real

import numpy as np
from scipy.sparse import issparse
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.sparsefuncs import mean_variance_axis

from skgeom._prototypes._metrics import SPD_METRICS, VectorMetric
from skgeom._prototypes._training import (
    Training,
    TrainingResult,
    compare,
    explain_singular,
    find_variance,
    fit_lbfgs,
    fit_sgd,
    warn_if_amplitudes_vary,
)
from skgeom.utils._dask import check_not_dask, is_dask, naming_block, row_blocks
from skgeom.utils._mixins import PosteriorClassifierMixin
from skgeom.utils._sklearn import CallbackSupportMixin, Interval, StrOptions, positive
from skgeom.utils.array_api import (
    astype,
    in_double,
    is_complex,
    largest_size,
    like,
    move_attributes,
    namespace,
    on_cpu,
    to_numpy,
)
from skgeom.utils.docs import (
    BATCH_WEIGHT,
    CLASSES,
    SAMPLE_WEIGHT,
    substitute_docs,
)
from skgeom.utils.errors import naming
from skgeom.utils.estimator import BaseEstimator
from skgeom.utils.linalg import embedded, from_embedded
from skgeom.utils.methods import fit_method, predict_method, update_method
from skgeom.utils.progress import current_progress
from skgeom.utils.threads import one_blas_thread
from skgeom.utils.validation import (
    check_array,
    check_labels,
    check_not_dict,
    check_order_of_features,
    check_spd_samples,
    check_symmetric,
    check_two_classes,
    checked_labels,
    cholesky,
    class_factors,
    classes_of_stream,
    scaled_weights,
    shape_of,
    validate_data,
    validated_samples,
)
from skgeom.utils.warn import warn_if_outlier, warn_if_unscaled, warn_user


def _variances(X):
    """Variances of the features, from at most about ten million numbers of X."""
    some = X[:: max(ceil(X.shape[0] * X.shape[1] / 1e7), 1), :]
    with np.errstate(over="ignore", invalid="ignore"):  # huge numbers
        return (
            mean_variance_axis(some, 0)[1] if issparse(X) else np.var(to_numpy(some), 0)
        )


def prototype_counts(n_prototypes, classes):
    """Number of prototypes of each class, from the parameter ``n_prototypes``."""
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
    """Initial prototypes from an array ``init``, on the device of ``labels``.

    ``n_copies`` is 2 if the samples are complex. The prototypes are then converted to
    real matrices of twice the size.
    """
    init = on_cpu(init)
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
            f"init must have shape {shape}, with the prototypes in the order of "
            f"classes_, got {found}."
        )
    if len(shape) == 3:
        matrices = from_embedded(init) if n_copies == 2 else init
        check_symmetric(matrices, "init")
        cholesky(matrices, "init")
    return astype(like(init, labels), dtype)


def class_prototypes(metric, Z, y, weights, counts, rng):
    """Initial prototypes class by class, encoded by the metric.

    The prototype of a class is the mean of its samples or, for several prototypes, the
    prototypes are the means of clusters. If the distances do not change when all
    samples A X A' replace X, the prototypes W become A W A'.
    """
    prototypes = []
    for label, count in enumerate(counts):
        if count:
            own = y == label
            prototypes += _clusters(metric, Z[own], weights[own], count, rng)
    xp = namespace(y)
    prototypes = xp.stack(prototypes)
    apart = xp.max(xp.abs(prototypes - prototypes[:1, ...]))
    several = np.count_nonzero(counts) > 1
    if several and apart <= 1e-13 * xp.max(xp.abs(prototypes)):
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
    with warnings.catch_warnings():  # "fewer distinct samples than clusters"
        warnings.simplefilter("ignore", ConvergenceWarning)
        n_clusters = min(count, Z.shape[0])  # a fold may have fewer samples
        found = KMeans(n_clusters, n_init=4, random_state=rng).fit(
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


def _labels(number, y, sample_weight):
    """The labels of the samples of a block whose weight is not zero."""
    if len(y) == 0:
        return np.empty(0)
    with naming_block(number):
        y = checked_labels(y, y, whole=False)
    return np.unique(y if sample_weight is None else y[np.asarray(sample_weight) != 0])


def check_unchanged(name, before, now):
    """Raise ValueError if a parameter changed since the fit that is continued."""
    if now != before:
        raise ValueError(
            f"Training cannot continue with {name}={now!r}, because the model was "
            f"fitted with {name}={before!r}. Fit a new model."
        )


# Constraints of the parameters that all prototype classifiers share.
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
    """Classifier that compares samples with labeled prototypes.

    ``fit`` encodes the samples with a metric, and passes the encoded samples and a loss
    to a solver. A subclass defines four methods:

    - ``_loss(training, streams=False)`` returns the loss;
    - ``_scale(training, epoch=None)`` returns the scale of the loss, in an epoch of
      ``"sgd"`` if it is given: the variance of a likelihood, or the slope of a sigmoid;
    - ``_scores(squared_distances)`` returns the logarithms of the class probabilities,
      (n_samples, n_classes), up to a term that all classes share;
    - ``_calibrate(training, streams=False)``, which is called first, sets the fitted
      attributes that the loss and the scores require.

    ``streams`` is true in ``partial_fit``.

    Parameters
    ----------
    n_prototypes : int or array-like of shape (n_classes,), default=1
        Number of prototypes of each class, in the order of ``classes_``.
    class_weight : None, "balanced" or dict, default=None
        Class weights in training, which multiply the sample weights. With
        ``"balanced"``, all classes have the same total weight and the same prior
        probability in training; ``partial_fit`` balances the weights of all samples so
        far. A dict maps labels to positive numbers, the costs of errors: a class with a
        larger weight is predicted more often. None sets all weights to 1.
    init : "kmeans" or array-like, default="kmeans"
        Initial prototypes. With ``"kmeans"``, the initial prototype of a class is the
        mean of its samples in the metric. A class with several prototypes starts from
        the means of the k-means clusters of its samples in the tangent space at that
        mean. An array contains the prototypes class by class, in the order of
        ``classes_``.
    max_iter : int, default=100
        Largest number of iterations of ``"lbfgs"``, or number of epochs of ``"sgd"``.
        Each block of Dask data counts as one epoch.
    tol : float, default=0.01
        ``"lbfgs"`` stops when ten iterations together decrease the cost by less than
        the fraction ``tol``, when the mean loss of the samples is below ``tol``, or
        when the norm of the gradient is below ``tol`` times its initial norm. With the
        Gauss-Newton matrix (see ``solver``), it also stops when one iteration decreases
        the cost by less than the fraction ``tol / 50``. ``"sgd"`` does not use ``tol``.
    warm_start : bool, default=False
        Whether ``fit`` continues from the prototypes of the last fit. The metric, the
        automatic ``sigma2`` and the selected ``representability`` then remain the same,
        and the learning rate of ``"sgd"`` starts again from its initial value. The
        samples of earlier fits are not kept: with ``"lbfgs"``, the result is the
        optimum for the new samples only. Use ``partial_fit`` to learn from a stream of
        samples.
    random_state : int, RandomState instance or None, default=None
        Seed of k-means, which initializes several prototypes per class, and of the
        order of the samples in ``"sgd"``.
    verbose : int, default=0
        If positive, prints the loss of each epoch or iteration, and the
        ``representability`` selected by cross-validation.

    Attributes
    ----------
    prototypes_ : ndarray of shape (n_total_prototypes, n, n)
        The prototypes of all classes, class by class; complex if the samples are
        complex. If the classes are separable, a prototype can be so far from the
        samples that its eigenvalues exceed the range of floating-point numbers. The
        eigenvalues are then limited to that range. Predictions are not affected: they
        use internal coordinates without this limit.
    prototype_labels_ : ndarray of shape (n_total_prototypes,)
        The class labels of the prototypes.
    is_complex_ : bool
        Whether the matrices of ``fit`` are complex.
    classes_ : ndarray of shape (n_classes,)
        The class labels.
    loss_curve_ : ndarray
        The cost, a weighted sum of the losses of the samples. ``"lbfgs"`` stores the
        initial cost and the cost after each iteration. ``"sgd"`` stores the cost of
        each epoch, where the loss of a sample is computed before its step. Each call of
        ``partial_fit`` appends the cost of its samples.
    n_iter_ : int
        Number of iterations or epochs. Each call of ``partial_fit`` counts as one.
    n_features_in_ : int
        Number of rows of the matrices, or number of features of the vectors.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, if X is a data frame whose column names are all strings.
    """

    _fitted_array = "prototypes_"
    # Of SPD matrices; PLRSQ and GLRSQ have a parameter ``metric`` instead.
    metric = "euclid"
    # All estimators but GMLVQ have a parameter ``solver`` instead.
    solver = "lbfgs"
    _accepts_vectors, _accepts_matrices, _accepts_libraries = False, True, True

    _parameter_constraints = shared_constraints

    @fit_method
    @substitute_docs(sample_weight=SAMPLE_WEIGHT)
    def fit(self, X, y, sample_weight=None, groups=None):
        """Learn the prototypes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n, n) or (n_samples, n_features)
            SPD matrices, which may be complex Hermitian for :class:`PLRSQ` and
            :class:`GLRSQ`. :class:`RSLVQ` and :class:`GMLVQ` also accept vectors, which
            may be sparse. X is not modified.
        y : array-like of shape (n_samples,)
            Class labels of the samples. At least two classes are required.
        {sample_weight}
        groups : array-like of shape (n_samples,), default=None
            Labels of groups of dependent samples, such as the recordings of one
            subject. The samples of a group are held out together when parameters are
            selected and probabilities are calibrated. With None, each set of equal
            samples is one group. Not supported for Dask input.

        Returns
        -------
        self
            The fitted estimator.

        Raises
        ------
        ValueError
            If a matrix is not symmetric to within 1e-6 of its largest entry, or not
            positive definite (the message names the matrix), if an array is malformed
            or not finite, if there is only one class, if parameters are selected and
            each group contains all samples of a class, if a class has fewer samples
            than prototypes and ``init`` is "kmeans", or if parameters are incompatible.
        TypeError
            If ``groups`` is given and X is a Dask array or data frame.

        Warns
        -----
        ConvergenceWarning
            If L-BFGS does not converge within ``max_iter`` iterations, or stops before
            convergence because no step decreases the cost.
        UserWarning
            If the initial prototypes of all classes are equal, if one feature or a
            tenth of the features of vectors have more than 99 % of the variance of all
            features, if one sample of vectors causes more than 99 % of the variance, if
            more than 90 % of the within-class variance is due to the amplitudes of the
            matrices (``metric="riemann"``, one prototype per class), or if a parameter
            is selected on held-out samples, and their predictions are not significantly
            better than chance.
        """
        if groups is not None:
            check_not_dask(self, X, "Use groups=None")
        rng = check_random_state(self.random_state)
        if is_dask(X) and self.solver == "sgd":
            return self._fit_blocks(X, y, sample_weight, rng)
        training = self._prepared(X, y, sample_weight, rng, groups=groups)
        if training.metric_name == "riemann" and not self._continues():
            warn_if_amplitudes_vary(training)
        metric = self._fold_metric(training.metric)
        refit = partial(self._refit, metric) if metric else None
        training = replace(training, refit=refit)
        # BLAS threads would compete with the threads of the cost: with them, a fit of
        # GMLVQ takes up to twice the time (digits).
        with one_blas_thread():
            self._calibrate(training)
            solver = self._solver(training, self._loss(training), rng)
            self._store(training, solver(report=self._reporter(training)))
        return self

    def _solver(self, training, loss, rng):
        """The solver as a function of its argument ``report``."""
        if self._is_stochastic(training.metric):
            epochs = range(1, self.max_iter + 1)
            # Divided by the mean weight: a common factor of all weights has no effect.
            unit = 1 / float(namespace(training.y).mean(training.weights))
            schedule = self._schedule(training, epochs, unit, rng)
            return partial(fit_sgd, training, loss, *schedule)
        options = self._lbfgs_options(training)
        return partial(fit_lbfgs, training, loss, self._scale(training), **options)

    @predict_method
    def transform(self, X):
        """Compute the distances of samples from the prototypes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n, n) or (n_samples, n_features)
            Samples, as in ``fit``.

        Returns
        -------
        distances : ndarray of shape (n_samples, n_total_prototypes)
            The distances (not squared), one column for each row of ``prototypes_``.
        """
        squared, dtype = self._squared_distances(X)
        return astype(namespace(squared).sqrt(squared), dtype)

    @predict_method
    def score_samples(self, X):
        """Compute minus the distance from the nearest prototype; low for outliers.

        Parameters
        ----------
        X : array-like of shape (n_samples, n, n) or (n_samples, n_features)
            Samples, as in ``fit``.

        Returns
        -------
        scores : ndarray of shape (n_samples,)
            Minus the smallest distance in each row of :meth:`transform`.
        """
        squared, dtype = self._squared_distances(X)
        xp = namespace(squared)
        return astype(-xp.sqrt(xp.min(squared, axis=1)), dtype)

    def _joint_log_likelihood(self, X):
        return self._scores(self._squared_distances(X)[0])

    def _squared_distances(self, X):
        """Squared distances from the prototypes, and the dtype of X."""
        X = self._check_X(X, reset=False)
        training = self._training
        Z = self._encode(training.metric, self._reduce(in_double(X)))
        distances = partial(self._compare, training.metric)
        return compare(distances, Z, training.prototypes), X.dtype

    def _compare(self, metric, Z, prototypes):
        """Squared distances of encoded samples from encoded prototypes."""
        return metric.squared_distances(Z, prototypes) / self._n_copies

    @property
    def _n_copies(self):
        """2 for complex matrices, otherwise 1.

        A complex (n, n) matrix is computed with as a real (2n, 2n) matrix, the real
        embedding. This doubles squared distances, and therefore scales.
        """
        return 2 if getattr(self, "is_complex_", False) else 1

    def _reduce(self, X):
        """The samples X, or their reduction F' X F with ``n_components``."""
        return X

    def _encode(self, metric, X):
        Z = metric.encode(X)
        if Z.ndim == 2 and (largest := largest_size(Z)) > _size_limit():
            raise ValueError(
                f"X has values up to {largest:.3g}, too large for squared "
                "distances. Divide X by a number, or scale its features."
            )
        return Z

    def __sklearn_is_fitted__(self):
        # The first batches of a stream may contain a single class.
        has_prototypes = super().__sklearn_is_fitted__()
        return has_prototypes and self._training.n_classes > 1

    def _continues(self):
        """Whether ``fit`` is a warm start."""
        return self.warm_start and hasattr(self, "prototypes_")

    def _prepared(
        self, X, y, sample_weight, rng, classes=None, groups=None, batch=False
    ):
        """The :class:`Training` of ``fit``, or of the first ``batch`` of a stream.

        Also sets ``classes_`` and ``prototype_labels_``.
        """
        if is_dask(X):
            remedy = "Fit it to a sample of the rows"
            if hasattr(self, "partial_fit"):
                remedy = "Set solver='sgd' to learn its blocks one after another"
            check_not_dask(self, X, remedy)
        continues = self._continues()
        options = {"reset": not continues, "batch": batch, "check": type(self)._check_X}
        samples = validated_samples(self, X, y, sample_weight, groups, **options)
        with naming("y"):
            labels = np.unique(samples.y)
        if not batch:
            check_two_classes(labels, type(self).__name__)
        classes, announced = classes_of_stream(classes, labels)
        counts = prototype_counts(self.n_prototypes, classes)
        if continues:
            self._check_same(classes, counts)
        self.classes_ = classes
        X, y, weights, class_sums = self._weighted(samples)
        if isinstance(self.init, str):
            counts = tuple(np.where(class_sums > 0, counts, 0).tolist())
        if continues:
            training = self._continued(X, y, weights, class_sums)
            return replace(training, groups=samples.groups)
        self._check_counts(counts, to_numpy(y))
        if X.ndim == 2:
            consequence = "Features of large variance determine the distances."
            warn_if_unscaled(_variances(X), consequence, self)
            warn_if_outlier(samples.X, samples.weights, samples.rows)
        self.prototype_labels_ = classes.repeat(counts)
        kind = VectorMetric if X.ndim == 2 else SPD_METRICS[self.metric]
        metric = kind(is_complex=self._n_copies == 2)
        training = self._initialized(metric, X, y, weights, counts, class_sums, rng)
        return replace(training, groups=samples.groups, announced=announced)

    def _initialized(self, metric, X, y, weights, counts, class_sums, rng):
        """The :class:`Training` with the encoded samples and initial prototypes."""
        self._find_components(X, y, weights)
        labels = like(np.repeat(np.arange(len(counts)), counts), X)
        reduced, given = self._reduce(X), None
        if not isinstance(self.init, str):
            check_order_of_features(self.init, "init", self)
            rows = self.prototype_labels_
            check_labels(self.init, 0, rows, "init", "prototype_labels_")
            shape = sum(counts), *reduced.shape[1:]
            given = given_prototypes(self.init, shape, labels, X.dtype, self._n_copies)
        self._check_not_tiny(reduced)
        with explain_singular():
            if given is None or class_sums.all():
                metric.fit(reduced, y, weights)
            else:  # the initial prototypes represent classes without samples
                ones = namespace(given).ones_like(astype(labels, given.dtype))
                metric.fit(given, labels, ones)
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

    def _fold_metric(self, metric):
        """The metric to fit in each fold; None if the encoding does not use labels."""
        return metric if metric.uses_labels else None

    def _refit(self, metric, rest, held_out):
        """Trainings of a fold, encoded without the labels of held-out samples."""
        learner = copy(self)  # stores the subspace of the fold
        learner.init = "kmeans"  # an array is not in the subspace of the fold
        samples, rng = (rest.X, rest.y, rest.weights), np.random.RandomState(0)
        state = rest.counts, rest.class_sums, rng
        rest = learner._initialized(copy(metric), *samples, *state)
        Z = learner._encode(rest.metric, learner._reduce(held_out.X))
        return rest, replace(held_out, metric=rest.metric, Z=Z)

    def _continued(self, X, y, weights, class_sums):
        """The :class:`Training` of new samples, starting at the current prototypes."""
        Z = self._encode(self._training.metric, self._reduce(X))
        samples = {"X": X, "Z": Z, "y": y, "weights": weights}
        return replace(self._training, class_sums=class_sums, **samples)

    def _check_X(self, X, reset):
        """Validated samples as a real array; matrices are made exactly symmetric."""
        ndim = len(shape_of(X))
        if not reset and {ndim, self.prototypes_.ndim} == {2, 3}:
            raise ValueError(
                f"{type(self).__name__} was fitted on samples of "
                f"{self.prototypes_.ndim - 1} dimensions, but X has shape "
                f"{np.shape(X)}. One sample is X[None]."
            )
        if self._accepts_vectors and ndim != 3:
            return validate_data(self, X, accept_sparse="csr", reset=reset)
        hermitian = not self._accepts_vectors
        X = check_spd_samples(self, X, reset=reset, hermitian=hermitian)
        if hermitian and reset:
            self.is_complex_ = is_complex(X)
        return embedded(X) if self._n_copies == 2 else X

    def _check_not_tiny(self, X):
        if X.ndim == 2 and 0 < (largest := largest_size(X)) < 1 / _size_limit():
            raise ValueError(
                f"X has values up to {largest:.3g}, too small for squared "
                "distances. Multiply X by a number, or scale its features."
            )

    def _check_counts(self, counts, y):
        """Raise ValueError if a class has fewer samples than prototypes."""
        present = np.bincount(y, minlength=len(counts))
        short = (present > 0) & (present < np.array(counts))
        if isinstance(self.init, str) and short.any():
            label = short.argmax()
            raise ValueError(
                f"Class {self.classes_[label]} has {present[label]} samples, fewer "
                f"than its {counts[label]} prototypes. Decrease n_prototypes, or set "
                "init."
            )

    def _weighted(self, samples, before=0.0):
        """Samples in double precision, class indices, training weights, class sums.

        The class sums are the sums of the weights in each class, plus the sums
        ``before`` of earlier calls.
        """
        X, y = in_double(samples.X), samples.y
        weights = np.ones(len(y)) if samples.weights is None else samples.weights
        y = np.searchsorted(self.classes_, y)
        sums = before + np.bincount(y, weights, minlength=len(self.classes_))
        weights = weights * class_factors(self.class_weight, self.classes_, sums)[y]
        return X, like(y, X), like(weights, X), sums

    def _find_components(self, X, y, weights):
        """Compute ``components_``, if the estimator has ``n_components``."""

    def _check_same(self, classes, counts):
        """Raise ValueError if training cannot continue from the last fit."""
        training = self._training
        check_unchanged("classes", to_numpy(self.classes_).tolist(), classes.tolist())
        check_unchanged("n_prototypes", training.counts, counts)
        check_unchanged("metric", training.metric_name, self.metric)

    def _is_stochastic(self, metric):
        """Whether the solver is ``"sgd"``."""
        return False

    def _store(self, training, result):
        """Set the fitted attributes."""
        prototypes = training.metric.decode(result.prototypes)
        is_complex = self._n_copies == 2
        self.prototypes_ = from_embedded(prototypes) if is_complex else prototypes
        self.loss_curve_, self.n_iter_ = result.losses, result.n_iter
        state = {"prototypes": result.prototypes, "scale": result.scale}
        samples = dict.fromkeys(("X", "Z", "y", "weights", "groups", "refit"))
        self._training = replace(training, **state, **samples)
        move_attributes(self, training.y)  # arrays that NumPy computed

    def _reporter(self, training):
        """Callback after each iteration; None if no progress is reported."""
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
        """Number of rows of the (reduced) matrices, or number of features."""
        return self.n_features_in_

    def _lbfgs_options(self, training):
        """Keyword arguments of ``fit_lbfgs``."""
        name = type(self).__name__
        return {"max_iter": self.max_iter, "tol": self.tol, "name": name}

    @property
    def _n_features_out(self):
        return self.prototypes_.shape[0]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


streaming_constraints = {
    **shared_constraints,
    "solver": [StrOptions({"auto", "lbfgs", "sgd"})],
    "learning_rate": [StrOptions({"auto"}), positive],
    "batch_size": [Interval(Integral, 1, None, closed="left")],
    "shuffle": ["boolean"],
}


class StreamingPrototypeClassifier(PrototypeClassifier):
    r"""Prototype classifier with the solvers ``"lbfgs"`` and ``"sgd"``.

    A subclass also defines ``_first_rate(training, scale)``, the learning rate before
    the first epoch.

    Parameters
    ----------
    solver : {"auto", "lbfgs", "sgd"}, default="auto"
        ``"lbfgs"`` minimizes the cost of all samples by Riemannian L-BFGS. ``"sgd"``
        performs stochastic gradient steps, algorithm 1 of [1]_, whose lengths are
        limited: with ``batch_size=1``, no step moves a prototype past a sample that
        attracts it, or increases the distance from a sample that repels it by more than
        a quarter. ``"auto"`` selects ``"sgd"`` for SPD matrices with the Euclidean
        metric, for which ``"lbfgs"`` does not keep prototypes positive definite, and
        ``"lbfgs"`` otherwise.

        In :class:`PLRSQ` and :class:`RSLVQ`, the preconditioner of ``"lbfgs"`` is the
        Gauss-Newton matrix of the cost, unless ``sigma2="learn"`` or the gradients of
        the distances of all samples from all prototypes require more than 256 MiB. In
        :class:`PLRSQ` and :class:`GLRSQ` with ``metric="riemann"``, the first iteration
        of ``"lbfgs"`` is a complete optimization in the tangent space, unless ``fit``
        is a warm start.
    learning_rate : "auto" or float, default="auto"
        Learning rate of ``"sgd"`` before the first epoch. The rate decreases to a
        hundredth over ``max_iter`` epochs. ``"auto"`` is :math:`\sigma^2 / 10` for
        ``metric="euclid"``, whose distances have a unit, and :math:`n \xi / 100` for
        all other metrics, where n is the size of the (reduced) matrices and :math:`\xi`
        the average number of prototypes per class.
    batch_size : int, default=1
        Number of samples in each step of ``"sgd"``. A step uses the sum of their
        gradients.
    shuffle : bool, default=True
        Whether ``"sgd"`` shuffles the samples in each epoch.
    """

    _parameter_constraints = streaming_constraints

    @update_method
    @substitute_docs(classes=CLASSES, sample_weight=BATCH_WEIGHT)
    def partial_fit(self, X, y, classes=None, sample_weight=None):
        """Update the prototypes by stochastic steps, in one pass over new samples.

        The first call on an unfitted estimator initializes the metric. The prototypes
        of a class are initialized from the samples of the first call that contains the
        class, unless ``init`` is an array, which contains the prototypes of all classes
        of the first call. With ``n_components``, the first call of :class:`PLRSQ` must
        contain samples of all ``classes``, because the class means determine the
        subspace. The order of the samples is shuffled unless ``shuffle=False``.

        The learning rate decreases to a hundredth over ``max_iter`` epochs, and the
        automatic slope of :class:`GLRSQ` increases. In this schedule, a call with m
        samples counts as min(1, m / (p n)) epochs, where p is the number of all
        prototypes, and n the number of rows of the (reduced) matrices or the number of
        features. After ``fit``, the learning rate and the slope keep their final
        values. Once there are samples of two classes, each call increases ``n_iter_``
        by one, and appends the cost of its samples to ``loss_curve_``.

        :class:`PLRSQ` and :class:`RSLVQ` compute the automatic ``sigma2`` from the
        distances of the samples of all calls from the initial prototypes; after
        ``fit``, ``sigma2`` does not change. They estimate the class proportions from
        the samples of the last ``fit`` and of all later calls. Until all classes have
        samples, equal proportions are used. Training shrinks the proportions towards
        equality, according to their sampling error [1]_.

        Parameters
        ----------
        X : array-like of shape (n_samples, n, n) or (n_samples, n_features)
            Samples, as in ``fit``; not modified.
        y : array-like of shape (n_samples,)
            Class labels of the samples.
        {classes}
        {sample_weight}

        Returns
        -------
        self
            The fitted estimator.

        Raises
        ------
        ValueError
            If y contains a label that is not in ``classes``, and in the cases that
            ``fit`` lists, except for a single class.

        References
        ----------
        .. [1] J. Hausser and K. Strimmer, "Entropy inference and the James-Stein
           estimator", Journal of Machine Learning Research 10, 2009.
        """
        rng = check_random_state(self.random_state)
        continues = hasattr(self, "prototypes_")
        return self._learn(X, y, sample_weight, classes, rng, continues)

    def _fit_blocks(self, X, y, sample_weight, rng):
        """Train on the blocks of Dask data one after another.

        Each block counts as one epoch. The passes over all blocks are repeated until at
        least ``max_iter`` blocks have been used. Blocks without weights are omitted.
        """
        import dask

        blocks = row_blocks(X, y, scaled_weights(sample_weight))
        of_block = dask.delayed(_labels)
        labels = [
            of_block(number, y, weights)
            for number, (_, y, weights) in enumerate(blocks)
        ]
        labels = dask.compute(*labels)
        used = [number for number, some in enumerate(labels) if len(some)]
        if not used:
            raise ValueError(
                "There are no samples: all blocks of X are empty, or sample_weight is "
                "zero. Pass samples of positive weight."
            )
        classes = np.unique(np.concatenate([labels[number] for number in used]))
        check_two_classes(classes, type(self).__name__)
        steps = used * ceil(self.max_iter / len(used))
        progress, continues = current_progress(), self._continues()
        progress.start()
        for number in steps:
            samples, own_labels, weights = dask.compute(*blocks[number])
            with naming_block(number):
                self._learn(samples, own_labels, weights, classes, rng, continues)
            continues = True
            message = "".join(f"loss {loss:.6g}" for loss in self.loss_curve_[-1:])
            model = vars(self).copy()
            if progress.step("", message, model, n_steps=len(steps), name="block"):
                break
        # Later calls of ``partial_fit`` may add classes, as after a fit in memory.
        self._training = replace(self._training, announced=False)
        return self

    def _learn(self, X, y, sample_weight, classes, rng, continues):
        """Update the prototypes, or initialize them unless training ``continues``."""
        losses, n_iter = [], 0
        if continues:
            losses, n_iter = to_numpy(self.loss_curve_), self.n_iter_
            training = self._next_training(X, y, sample_weight, classes, rng)
        else:
            training = self._prepared(X, y, sample_weight, rng, classes, batch=True)
            training = replace(training, n_epochs=0.0)
        self._calibrate(training, streams=True)
        if training.n_classes < 2:  # nothing to separate
            scale = self._scale(training, training.n_epochs)
            none = TrainingResult(training.prototypes, scale, np.empty(0), 0)
            self._store(training, none)
            return self
        n_rows = sum(training.counts) * self._size
        n_epochs = training.n_epochs + min(training.Z.shape[0] / n_rows, 1.0)
        training = replace(training, n_epochs=n_epochs)
        loss = self._loss(training, streams=True)
        schedule = self._schedule(training, [n_epochs], 1.0, rng)
        self._store(training, fit_sgd(training, loss, *schedule))
        losses = np.append(losses, to_numpy(self.loss_curve_))
        self.loss_curve_ = like(losses, training.y)
        self.n_iter_ += n_iter
        return self

    def _next_training(self, X, y, sample_weight, classes, rng):
        """The :class:`Training` of a later call of ``partial_fit``."""
        options = {"reset": False, "batch": True, "check": type(self)._check_X}
        samples = validated_samples(self, X, y, sample_weight, **options)
        known = to_numpy(self.classes_), self._training.announced
        labels = np.unique(samples.y)
        classes, announced = classes_of_stream(classes, labels, *known)
        training = self._training.with_classes(np.isin(classes, known[0]))
        self.classes_ = classes
        self._training = replace(training, announced=announced)
        targets = prototype_counts(self.n_prototypes, classes)
        known = np.where(np.array(training.counts) > 0, targets, 0)
        self._check_same(classes, tuple(known.tolist()))
        before = training.class_sums
        X, y, weights, class_sums = self._weighted(samples, before)
        training = self._continued(X, y, weights, class_sums)
        training = self._with_new_prototypes(training, targets, rng)
        if np.isinf(training.n_epochs):
            return training
        # The first call may have few samples, so the variance is averaged over all
        # calls. Distances are measured from the initial prototypes: with the current
        # prototypes, the variance and the steps would grow from call to call.
        squared = training.metric.squared_distances(training.Z, training.start)
        found = find_variance(squared, training.y, training.labels, training.weights)
        share = 1 - before.sum() / class_sums.sum()
        variance = (1 - share) * training.variance + share * found
        return replace(training, variance=variance)

    def _with_new_prototypes(self, training, targets, rng):
        """Initial prototypes of the classes whose first samples are in the batch."""
        y, counts = to_numpy(training.y), np.array(training.counts)
        present = np.bincount(y, minlength=len(counts)) > 0
        added = np.where(present & (counts == 0), targets, 0)
        if not added.any():
            return training
        self._check_counts(added, y)
        samples = training.Z, training.y, training.weights
        with explain_singular():
            start = class_prototypes(training.metric, *samples, added.tolist(), rng)
        training = training.with_prototypes(added, start)
        self.prototype_labels_ = to_numpy(self.classes_).repeat(training.counts)
        return training

    def _schedule(self, training, epochs, unit, rng):
        """Learning rates and scales of the epochs, batch size, and generator.

        The generator shuffles the samples; None keeps their order.
        """
        scales = [self._scale(training, epoch) for epoch in epochs]
        rates = [
            0.01 ** (min(epoch, self.max_iter) / self.max_iter)
            * unit
            * self._first_rate(training, scale)
            for epoch, scale in zip(epochs, scales, strict=True)
        ]
        return rates, scales, self.batch_size, rng if self.shuffle else None

    def _is_stochastic(self, metric):
        if self.solver == "lbfgs" and not metric.keeps_definite:
            raise ValueError(
                "solver='lbfgs' does not keep prototypes positive definite with the "
                f"{metric.name} metric. Use solver='sgd'."
            )
        return self.solver == "sgd" or not metric.keeps_definite


def _size_limit():
    """Largest absolute value of X for which squared distances can be computed.

    Fourth powers of such values, and the inverses of these powers, can be summed
    without overflow.
    """
    return np.finfo(np.float64).max ** 0.25 / 100
