"""Base class of the prototype classifiers: validation, training, predictions."""

from dataclasses import replace
from functools import partial
from math import ceil
from numbers import Integral, Real

import numpy as np
from scipy.sparse import issparse
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.sparsefuncs import mean_variance_axis

from skgeom._prototypes._folds import Folds
from skgeom._prototypes._initial import (
    class_prototypes,
    given_prototypes,
    prototype_counts,
    warn_if_amplitudes_vary,
    warn_if_equal,
)
from skgeom._prototypes._metrics import SPD_METRICS, VectorMetric
from skgeom._prototypes._minimization import Limits, fit_lbfgs
from skgeom._prototypes._model import (
    SIZE_LIMIT,
    EncodedSamples,
    Fit,
    Model,
    Progress,
    encoded,
    explain_singular,
    find_variance,
    in_tangent_space,
    reduced,
    with_variance,
)
from skgeom._prototypes._sgd import fit_sgd
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
    moved,
    namespace,
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
from skgeom.utils.methods import fit_method, predict_method
from skgeom.utils.progress import current_progress
from skgeom.utils.threads import one_blas_thread
from skgeom.utils.validation import (
    check_labels,
    check_order_of_features,
    check_spd_samples,
    check_two_classes,
    checked_labels,
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


def _labels(number, y, sample_weight):
    """The labels of the samples of a block whose weight is not zero."""
    if len(y) == 0:
        return np.empty(0)
    with naming_block(number):
        y = checked_labels(y, y, whole=False)
    return np.unique(y if sample_weight is None else y[np.asarray(sample_weight) != 0])


def _without_init(samples, model):
    """The model with the prototypes of ``init="kmeans"``, to select parameters.

    Prototypes of an earlier fit are far from the samples, so their distances would
    increase ``sigma2``, and have been trained on the samples that are held out.
    """
    parts = samples.Z, samples.y, samples.weights, model.counts
    with explain_singular():
        start = class_prototypes(model.metric, *parts, np.random.RandomState(0))
        return with_variance(replace(model, prototypes=start), samples)


def check_unchanged(name, before, now):
    """Raise ValueError if a parameter changed since the fit that is continued."""
    if now != before:
        raise ValueError(
            f"Training cannot continue with {name}={now!r}, because the model was "
            f"fitted with {name}={before!r}. Fit a new model."
        )


# The optimization stops when the mean loss is below ``tol`` times this factor. Chosen
# for GMLVQ on UCI data in `bench_defaults.py`.
_GOAL = 2

# Constraints of the parameters that all prototype classifiers share.
shared_constraints = {
    "n_prototypes": [Interval(Integral, 1, None, closed="left"), "array-like"],
    "class_weight": [None, StrOptions({"balanced"}), dict],
    "init": [StrOptions({"kmeans"}), "array-like"],
    "max_iter": [Interval(Integral, 1, None, closed="left")],
    "tol": [Interval(Real, 0, None, closed="left")],
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

    ``fit`` encodes the samples with a metric, and passes the samples, the initial model
    and a loss to a solver, which returns the trained model. A subclass defines five
    methods:

    - ``_calibrate(samples, model)`` is called first, and sets the fitted attributes
      that the loss and the probabilities require;
    - ``_loss(model)`` returns the loss;
    - ``_scale(model, epoch=None)`` returns the scale of the loss, in an epoch of
      ``"sgd"`` if it is given: the variance of a likelihood, or the slope of a sigmoid;
    - ``_class_scores(model, Z)`` returns scores of the classes for encoded samples, of
      shape (n_samples, n_classes);
    - ``_joint(scores)`` maps them to the logarithms of the class probabilities, up to a
      term that all classes share.

    Parameters
    ----------
    n_prototypes : int or array-like of shape (n_classes,), default=1
        Number of prototypes of each class, in the order of ``classes_``.
    class_weight : None, "balanced" or dict, default=None
        Class weights, which multiply ``sample_weight``. A dict maps labels to positive
        numbers, and labels that it does not contain have the weight 1. With
        ``"balanced"``, all classes have the same total weight; ``partial_fit`` balances
        the weights of all samples so far.
    init : "kmeans" or array-like, default="kmeans"
        Initial prototypes. With ``"kmeans"``, the initial prototype of a class is the
        mean of its samples in the metric. A class with several prototypes starts from
        the means of the k-means clusters of its samples in the tangent space at that
        mean. An array contains the prototypes class by class, in the order of
        ``classes_``. ``init=model.prototypes_`` continues from the prototypes of a
        fitted model: an array changes only where the training of ``fit`` starts, and
        not the parameters that are ``"auto"``, which ``fit`` selects with the
        prototypes of ``"kmeans"``. With a small ``max_iter``, also pass the
        ``temperature_`` of the fitted model as ``temperature``. ``partial_fit``
        continues training with new samples of a stream, and measures the automatic
        ``sigma2`` from the array.
    max_iter : int, default=100
        Largest number of iterations of ``"lbfgs"``, or number of epochs of ``"sgd"``.
        Each block of Dask data counts as one epoch.
    tol : float, default=0.01
        ``"lbfgs"`` stops when ten iterations together decrease the cost by less than
        the fraction ``tol``, when the mean loss of the samples is below ``2 * tol``,
        which reduces overfitting, or when the norm of the gradient is below ``tol``
        times its initial norm. With the Gauss-Newton matrix (see ``solver``), it also
        stops when one iteration decreases the cost by less than the fraction ``tol /
        50``. ``"sgd"`` does not use ``tol``.
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
        parts = self._prepared(X, y, sample_weight, rng, groups=groups)
        samples, model, progress = parts
        self._check_parameters(model)
        if progress.metric == "riemann":
            warn_if_amplitudes_vary(samples, model)
        # BLAS threads would compete with the threads of the cost: with them, a fit of
        # GMLVQ takes up to twice the time (digits).
        with one_blas_thread():
            self._calibrate(samples, model)
            start = replace(model, prototypes=progress.start)
            limits, report = self._limits(), self._reporter(samples, progress)
            found = self._train(samples, start, self._loss(model), rng, limits, report)
        self._store(found, progress)
        if found.failure:
            name = type(self).__name__
            warn_user(f"{name} did not converge: {found.failure}", ConvergenceWarning)
        return self

    def _limits(self):
        """The :class:`Limits` of ``"lbfgs"``."""
        return Limits(self.max_iter, self.tol, goal=_GOAL * self.tol)

    def _train(self, samples, model, loss, rng, limits, report=None):
        """The :class:`Fit` of the solver."""
        if self._is_stochastic(model.metric):
            epochs = range(1, self.max_iter + 1)
            # Divided by the mean weight: a common factor of all weights has no effect.
            unit = 1 / float(namespace(samples.y).mean(samples.weights))
            schedule = self._schedule(model, epochs, unit)
            return fit_sgd(samples, model, loss, *schedule, rng, report)
        options = self._scale(model), limits, self._learns_scale(), report
        return fit_lbfgs(samples, model, loss, *options)

    def _learns_scale(self):
        """Whether ``"lbfgs"`` learns the scale of the loss."""
        return False

    def _folds(self, samples, model, **limits):
        """The :class:`Folds` of the samples; ``model`` is the initial model.

        If the metric has a ``tangent_metric``, the folds are in the tangent space at
        the mean of the initial prototypes. This takes a fraction of the time, and is
        accurate enough to select parameters.
        """
        encode = self._fold_encoder(model)
        if encode is None and model.metric.tangent_metric:
            samples, model = in_tangent_space(samples, model)
        return Folds(samples, model, encode, **limits)

    def _fold_encoder(self, model):
        """Encodes the samples of a fold, see :class:`Folds`."""
        if model.filters is None and not model.metric.uses_labels:
            return None
        # The mean of a metric depends on the subspace of the fold.
        metric = model.metric if model.filters is None else None

        def encode(rest, held_out):
            parts, rng = (rest.X, rest.y, rest.weights), np.random.RandomState(0)
            # An array ``init`` is not in the subspace of the fold.
            state = model.class_sums, model.counts, rng, "kmeans", metric
            rest, first = self._begin(*parts, *state)
            held_out = replace(held_out, Z=first.encode(held_out.X))
            if first.metric.tangent_metric:
                held_out, _ = in_tangent_space(held_out, first)
                rest, first = in_tangent_space(rest, first)
            return rest, held_out, first

        return encode

    def _held_out_scores(self, folds, loss, limits):
        """Scores of the classes for the held-out samples, of shape (n, n_classes).

        The next call starts at the trained prototypes.
        """
        found = []
        for number, (rest, held_out, start) in enumerate(folds.parts):
            current_progress().note(f"training without fold {number}")
            rng = np.random.RandomState(0)
            model = self._train(rest, start, loss, rng, limits).model
            start = replace(start, prototypes=model.prototypes)
            folds.parts[number] = rest, held_out, start
            found.append(to_numpy(self._class_scores(model, held_out.Z)))
        return np.concatenate(found)

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
        Z, dtype = self._encoded(X)
        squared = self._model.squared_distances(Z)
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
        Z, dtype = self._encoded(X)
        squared = self._model.squared_distances(Z)
        xp = namespace(squared)
        return astype(-xp.sqrt(xp.min(squared, axis=1)), dtype)

    def _joint_log_likelihood(self, X):
        Z, _ = self._encoded(X)
        return self._joint(self._class_scores(self._model, Z))

    def _encoded(self, X):
        """New samples, encoded, and the dtype of X."""
        X = self._check_X(X, reset=False)
        return self._model.encode(in_double(X)), X.dtype

    @property
    def _n_copies(self):
        """2 for complex matrices, otherwise 1.

        A complex (n, n) matrix is computed with as a real (2n, 2n) matrix, the real
        embedding. This doubles squared distances, and therefore scales.
        """
        return 2 if getattr(self, "is_complex_", False) else 1

    def __sklearn_is_fitted__(self):
        # The first batches of a stream may contain a single class.
        has_prototypes = super().__sklearn_is_fitted__()
        return has_prototypes and self._model.n_classes > 1

    def _prepared(
        self, X, y, sample_weight, rng, classes=None, groups=None, batch=False
    ):
        """Samples, model and progress of ``fit``, or of the first batch of a stream.

        Also sets ``classes_`` and ``prototype_labels_``.
        """
        if is_dask(X):
            remedy = "Fit it to a sample of the rows"
            if hasattr(self, "partial_fit"):
                remedy = "Set solver='sgd' to learn its blocks one after another"
            check_not_dask(self, X, remedy)
        options = {"reset": True, "batch": batch, "check": type(self)._check_X}
        samples = validated_samples(self, X, y, sample_weight, groups, **options)
        with naming("y"):
            labels = np.unique(samples.y)
        if not batch:
            check_two_classes(labels, type(self).__name__)
        classes, announced = classes_of_stream(classes, labels)
        counts = prototype_counts(self.n_prototypes, classes)
        self.classes_ = classes
        X, y, weights, class_sums = self._weighted(samples)
        if isinstance(self.init, str):
            counts = tuple(np.where(class_sums > 0, counts, 0).tolist())
        self._check_counts(counts, to_numpy(y))
        if X.ndim == 2:
            consequence = "Features of large variance determine the distances."
            warn_if_unscaled(_variances(X), consequence, self)
            warn_if_outlier(samples.X, samples.weights, samples.rows)
        self.prototype_labels_ = classes.repeat(counts)
        parts = X, y, weights, class_sums, counts
        found, model = self._begin(*parts, rng, self.init)
        progress = Progress(self.metric, model.prototypes, announced=announced)
        if not batch and not isinstance(self.init, str):
            model = _without_init(found, model)
        return replace(found, groups=samples.groups), model, progress

    def _begin(self, X, y, weights, class_sums, counts, rng, init, metric=None):
        """Encoded samples, and the model with the initial prototypes.

        ``metric`` is a metric whose parts that depend on labels are fitted again, or
        None to fit a new metric.
        """
        filters = self._find_filters(X, y, weights)
        labels = like(np.repeat(np.arange(len(counts)), counts), X)
        matrices, given = reduced(X, filters), None
        if not isinstance(init, str):
            check_order_of_features(init, "init", self)
            rows = self.prototype_labels_
            check_labels(init, 0, rows, "init", "prototype_labels_")
            shape = sum(counts), *matrices.shape[1:]
            given = given_prototypes(init, shape, labels, X.dtype, self._n_copies)
        self._check_not_tiny(matrices)
        fitted = matrices, y, weights
        if given is not None and not class_sums.all():
            # The initial prototypes represent classes without samples.
            ones = namespace(given).ones_like(astype(labels, given.dtype))
            fitted = given, labels, ones
        with explain_singular():
            if metric is None:
                kind = VectorMetric if X.ndim == 2 else SPD_METRICS[self.metric]
                metric = kind(is_complex=self._n_copies == 2)
                metric.fit(*fitted)
            else:
                metric = metric.refitted(*fitted)
            Z = encoded(metric, matrices)
            if given is None:
                start = class_prototypes(metric, Z, y, weights, counts, rng)
                warn_if_equal(start, counts)
            else:
                start = metric.encode(given)
            model = Model(metric, filters, counts, labels, class_sums, start)
            samples = EncodedSamples(X, Z, y, weights)
            return samples, with_variance(model, samples)

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
        if X.ndim == 2 and 0 < (largest := largest_size(X)) < 1 / SIZE_LIMIT:
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
        weights = weights * self._class_factors(sums)[y]
        return X, like(y, X), like(weights, X), sums

    def _class_factors(self, sums):
        """The weights of the classes, from the sums of ``sample_weight``."""
        return class_factors(self.class_weight, self.classes_, sums)

    def _find_filters(self, X, y, weights):
        """The matrix F' of the reduction F' X F with ``n_components``, or None."""

    def _check_same(self, model, classes, counts):
        """Raise ValueError if training cannot continue from the last fit."""
        check_unchanged("classes", to_numpy(self.classes_).tolist(), classes.tolist())
        check_unchanged("n_prototypes", model.counts, counts)
        check_unchanged("metric", self._progress.metric, self.metric)

    def _check_parameters(self, model):
        """Raise ValueError if parameters of ``fit`` are incompatible."""

    def _is_stochastic(self, metric):
        """Whether the solver is ``"sgd"``."""
        return False

    def _store(self, found, progress):
        """Set the fitted attributes."""
        vars(self).update(self._attributes(found, progress))
        move_attributes(self, found.model.labels)  # arrays that NumPy computed

    def _attributes(self, found, progress):
        """The fitted attributes of a :class:`Fit`, by name."""
        model = found.model
        prototypes = model.metric.decode(model.prototypes)
        is_complex = model.metric.is_complex
        return {
            "prototypes_": from_embedded(prototypes) if is_complex else prototypes,
            "loss_curve_": found.losses,
            "n_iter_": found.n_iter,
            "_model": model,
            "_progress": progress,
        }

    def _reporter(self, samples, progress):
        """Callback after each iteration; None if no progress is reported."""
        current = current_progress()
        y = self.classes_[to_numpy(samples.y)] if current.active else None
        X = samples.X
        current.start(from_embedded(X) if self._n_copies == 2 else X, y)

        def report(name, loss, result):
            def attributes():
                found = {**vars(self), **self._attributes(result(), progress)}
                return moved(found, partial(like, model=samples.y))

            message, n_steps = f"loss {loss:.6g}", self.max_iter
            return current.step("", message, attributes, n_steps=n_steps, name=name)

        return report if current.active else None

    def _size(self, model):
        """Number of rows of the (reduced) matrices, or number of features."""
        filters = model.filters
        return self.n_features_in_ if filters is None else filters.shape[0]

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
}


class StreamingPrototypeClassifier(PrototypeClassifier):
    r"""Prototype classifier with the solvers ``"lbfgs"`` and ``"sgd"``.

    A subclass also defines ``_first_rate(model, scale)``, the learning rate before the
    first epoch, and ``_calibrate_stream(model, after_fit)``, which replaces
    ``_calibrate`` in ``partial_fit``; its ``_loss`` has the argument ``streams``, which
    is true in ``partial_fit``.

    Parameters
    ----------
    solver : {"auto", "lbfgs", "sgd"}, default="auto"
        ``"lbfgs"`` minimizes the cost of all samples by Riemannian L-BFGS. ``"sgd"``
        performs a stochastic gradient step for each sample, in random order, algorithm
        1 of [1]_. The lengths of the steps are limited: no step moves a prototype past
        a sample that attracts it, or increases the distance from a sample that repels
        it by more than a quarter. ``"auto"`` selects ``"sgd"`` for SPD matrices with
        the Euclidean metric, for which ``"lbfgs"`` does not keep prototypes positive
        definite, and ``"lbfgs"`` otherwise.

        In :class:`PLRSQ` and :class:`RSLVQ`, the preconditioner of ``"lbfgs"`` is the
        Gauss-Newton matrix of the cost, unless ``sigma2="learn"`` or the gradients of
        the distances of all samples from all prototypes require more than 256 MiB. In
        :class:`PLRSQ` and :class:`GLRSQ` with ``metric="riemann"``, the first iteration
        of ``"lbfgs"`` is a complete optimization in the tangent space.
    learning_rate : "auto" or float, default="auto"
        Learning rate of ``"sgd"`` before the first epoch. The rate decreases to a
        hundredth over ``max_iter`` epochs. ``"auto"`` is :math:`\sigma^2 / 10` for
        ``metric="euclid"``, whose distances have a unit, and :math:`n \xi / 100` for
        all other metrics, where n is the size of the (reduced) matrices and :math:`\xi`
        the average number of prototypes per class.
    """

    _parameter_constraints = streaming_constraints

    @fit_method(updates=True)
    @substitute_docs(classes=CLASSES, sample_weight=BATCH_WEIGHT)
    def partial_fit(self, X, y, classes=None, sample_weight=None):
        """Update the prototypes by stochastic steps, in one pass over new samples.

        The first call on an unfitted estimator initializes the metric. The prototypes
        of a class are initialized from the samples of the first call that contains the
        class, unless ``init`` is an array, which contains the prototypes of all classes
        of the first call. With ``n_components``, the first call of :class:`PLRSQ` must
        contain samples of all ``classes``, because the class means determine the
        subspace. The samples are used in the given order.

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
        progress, continues = current_progress(), False
        progress.start()
        for number in steps:
            samples, own_labels, weights = dask.compute(*blocks[number])
            with naming_block(number):
                parts = samples, own_labels, weights, classes, rng, continues
                self._learn(*parts, shuffle=rng)
            continues = True
            message = "".join(f"loss {loss:.6g}" for loss in self.loss_curve_[-1:])
            model = vars(self).copy()
            if progress.step("", message, model, n_steps=len(steps), name="block"):
                break
        # Later calls of ``partial_fit`` may add classes, as after a fit in memory.
        self._progress = replace(self._progress, announced=False)
        return self

    def _learn(self, X, y, sample_weight, classes, rng, continues, shuffle=None):
        """Update the prototypes, or initialize them unless training ``continues``.

        The generator ``shuffle`` shuffles the samples; None keeps their order.
        """
        losses, n_iter = [], 0
        if continues:
            losses, n_iter = to_numpy(self.loss_curve_), self.n_iter_
            parts = self._next(X, y, sample_weight, classes, rng)
            samples, model, progress = parts
        else:
            parts = self._prepared(X, y, sample_weight, rng, classes, batch=True)
            samples, model, progress = parts
            progress = replace(progress, n_epochs=0.0)
        n_epochs = progress.n_epochs
        first = replace(model, prototypes=progress.start)
        self._calibrate_stream(first, after_fit=np.isinf(n_epochs))
        if model.n_classes < 2:  # nothing to separate
            model = replace(model, scale=self._scale(model, n_epochs))
            self._store(Fit(model, np.empty(0), 0), progress)
            return self
        n_rows = sum(model.counts) * self._size(model)
        n_epochs += min(samples.Z.shape[0] / n_rows, 1.0)
        progress = replace(progress, n_epochs=n_epochs)
        loss = self._loss(model, streams=True)
        schedule = self._schedule(model, [n_epochs], 1.0)
        self._store(fit_sgd(samples, model, loss, *schedule, shuffle), progress)
        losses = np.append(losses, to_numpy(self.loss_curve_))
        self.loss_curve_ = like(losses, samples.y)
        self.n_iter_ += n_iter
        return self

    def _next(self, X, y, sample_weight, classes, rng):
        """Samples, model and progress of a later call of ``partial_fit``."""
        options = {"reset": False, "batch": True, "check": type(self)._check_X}
        samples = validated_samples(self, X, y, sample_weight, **options)
        known = to_numpy(self.classes_), self._progress.announced
        labels = np.unique(samples.y)
        classes, announced = classes_of_stream(classes, labels, *known)
        model = self._model.with_classes(np.isin(classes, known[0]))
        progress = replace(self._progress, announced=announced)
        self.classes_ = classes
        targets = prototype_counts(self.n_prototypes, classes)
        known = np.where(np.array(model.counts) > 0, targets, 0)
        self._check_same(model, classes, tuple(known.tolist()))
        before = model.class_sums
        X, y, weights, class_sums = self._weighted(samples, before)
        samples = EncodedSamples(X, model.encode(X), y, weights)
        model = replace(model, class_sums=class_sums)
        model, progress = self._with_new_classes(samples, model, progress, targets, rng)
        if np.isinf(progress.n_epochs):
            return samples, model, progress
        # The first call may have few samples, so the variance is averaged over all
        # calls. Distances are measured from the initial prototypes: with the current
        # prototypes, the variance and the steps would grow from call to call.
        squared = model.metric.squared_distances(samples.Z, progress.start)
        found = find_variance(squared, y, model.labels, weights)
        before, total = (
            sums @ self._class_factors(sums) for sums in (before, class_sums)
        )
        share = 1 - before / total
        variance = (1 - share) * model.variance + share * found
        return samples, replace(model, variance=variance), progress

    def _with_new_classes(self, samples, model, progress, targets, rng):
        """Model and progress with the classes whose first samples are in the batch."""
        y, counts = to_numpy(samples.y), np.array(model.counts)
        present = np.bincount(y, minlength=len(counts)) > 0
        added = np.where(present & (counts == 0), targets, 0)
        if not added.any():
            return model, progress
        self._check_counts(added, y)
        parts = samples.Z, samples.y, samples.weights
        with explain_singular():
            new = class_prototypes(model.metric, *parts, added.tolist(), rng)
        warn_if_equal(new, added)
        progress = replace(progress, start=model.inserted(added, progress.start, new))
        model = model.with_prototypes(added, new)
        self.prototype_labels_ = to_numpy(self.classes_).repeat(model.counts)
        return model, progress

    def _schedule(self, model, epochs, unit):
        """Learning rates and scales of the epochs."""
        scales = [self._scale(model, epoch) for epoch in epochs]
        rates = [
            0.01 ** (min(epoch, self.max_iter) / self.max_iter)
            * unit
            * self._first_rate(model, scale)
            for epoch, scale in zip(epochs, scales, strict=True)
        ]
        return rates, scales

    def _check_parameters(self, model):
        if self.solver == "lbfgs" and not model.metric.keeps_definite:
            raise ValueError(
                "solver='lbfgs' does not keep prototypes positive definite with the "
                f"{model.metric.name} metric. Use solver='sgd'."
            )

    def _is_stochastic(self, metric):
        return self.solver == "sgd" or not metric.keeps_definite
