"""Classification with rejection of samples of low confidence."""

from numbers import Integral, Real

import numpy as np
from sklearn.base import ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import StratifiedGroupKFold, check_cv
from sklearn.utils import get_tags, indexable
from sklearn.utils.metadata_routing import (
    MetadataRouter,
    MethodMapping,
)
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import (
    check_is_fitted,
    column_or_1d,
)

from skgeom._rejection._confidences import confidences_of
from skgeom._rejection._costs import checked_costs
from skgeom._rejection._fit_routing import check_no_domain, route, weights_in
from skgeom._rejection._reject_labels import with_reject_label
from skgeom._rejection._rejection_thresholds import (
    threshold_of_error,
    threshold_of_rate,
)
from skgeom.utils._dask import check_not_dask, in_memory, is_dask
from skgeom.utils._sklearn import (
    ARRAY_API,
    CallbackSupportMixin,
    HasMethods,
    Interval,
    StrOptions,
    check_method_params,
    safe_split,
)
from skgeom.utils.array_api import (
    check_holds_numbers,
    check_same_namespace,
    is_dispatched,
    like,
    move_attributes,
    namespace,
    numbers_like,
    on_cpu,
    to_numpy,
)
from skgeom.utils.estimator import BaseEstimator
from skgeom.utils.methods import fit_method
from skgeom.utils.progress import current_progress
from skgeom.utils.validation import (
    check_kind,
    check_sample_weight,
    check_two_classes,
    checked_groups,
    checked_labels,
    checked_targets,
    known_labels,
    weighted_classes,
)


class RejectionClassifier(
    CallbackSupportMixin, ClassifierMixin, MetaEstimatorMixin, BaseEstimator
):
    r"""Classifier that rejects samples of low confidence.

    ``predict`` returns the most probable class if the confidence of the sample is at
    least ``threshold_``, and ``reject_label_`` otherwise. By default, the confidence is
    the probability of this class. With calibrated probabilities and a threshold t, this
    is the optimal rule of Chow [1]_ if the cost of a rejection is 1 - t times the cost
    of an error. ``cost_matrix`` generalizes the rule to errors of different costs.

    Parameters
    ----------
    estimator : classifier
        The classifier; ``fit`` fits a clone of it. The classifier must have the method
        ``predict_proba``. Wrap a classifier without this method in a
        :class:`~sklearn.calibration.CalibratedClassifierCV`. Wrap a classifier that is
        already fitted in a :class:`~sklearn.frozen.FrozenEstimator`.
    threshold : float or None, default=None
        The smallest confidence with which a class is predicted; a probability is
        between 0 and 1. None means the probability 0.5, unless one of the next three
        parameters is given.
    rejection_rate : float or None, default=None
        Fraction of the samples to reject, between 0 and 1. ``fit`` selects the
        threshold as described in the notes.
    target_error : float or None, default=None
        Largest allowed fraction of errors among the accepted samples, between 0 and 1.
        ``fit`` selects the threshold as described in the notes.
    cost_matrix : array-like of shape (n_classes, n_classes + 1) or None, default=None
        Costs of the predictions, instead of a threshold. Entry (k, j) is the cost of
        predicting class j for a sample of class k, in the order of ``classes_``. The
        last column contains the costs of rejecting a sample of each class. The
        prediction j minimizes the expected cost :math:`\sum_k p(k \mid x) C_{kj}` [3]_,
        which requires calibrated probabilities. Set at most one of ``threshold``,
        ``rejection_rate``, ``target_error`` and ``cost_matrix``.
    confidence : {"probability", "density"} or callable, default="probability"
        The confidence of a sample. ``"probability"`` is its largest class probability.
        ``"density"`` rejects samples that are unlike all training samples: it is the
        result of the classifier's method ``score_samples``, such as the log-density of
        :class:`GaussianClassifier`, or minus the distance from the nearest prototype. A
        function ``confidence(estimator, X)`` of the fitted classifier returns one
        number for each sample. ``cost_matrix`` requires "probability".
    confidence_level : float, default=0.95
        Smallest probability with which ``target_error`` is met, between 0 and 1; see
        the notes.
    reject_label : str, number or None, default=None
        Prediction for rejected samples; it must differ from the classes. With None, the
        label is "rejected" if the classes are strings, and
        ``min(-1, floor(classes.min()) - 1)`` if the classes are numbers.
    cv : int, cross-validation generator or iterable, default=None
        Folds for ``rejection_rate`` and ``target_error``, as in scikit-learn. None
        means 10 stratified folds. If the smallest class has fewer than 10 samples, the
        number of folds is the number of samples of this class, but at least 5, and at
        most the number of samples of the largest class. If ``groups`` are passed to
        :meth:`fit`, a number of folds means :class:`StratifiedGroupKFold
        <sklearn.model_selection.StratifiedGroupKFold>`, with at most one fold per
        group.
    n_jobs : int or None, default=None
        Number of folds that are fitted in parallel, as in scikit-learn.

    Attributes
    ----------
    estimator_ : classifier
        The fitted classifier.
    threshold_ : float or None
        The smallest confidence with which a class is predicted. If no threshold meets
        ``target_error``, ``threshold_`` is infinite, and all samples are rejected. None
        if ``cost_matrix`` is given.
    reject_label_ : str, number or object
        The label that :meth:`predict` returns for rejected samples.
    classes_ : ndarray of shape (n_classes,)
        The class labels, without the reject label.
    n_features_in_ : int
        Number of features of the training data, if the classifier has this attribute.
    feature_names_in_ : ndarray of shape (``n_features_in_``,)
        Names of the features of the training data, if the classifier has this
        attribute.

    See Also
    --------
    accuracy_rejection_curve : Accuracy of the accepted samples for all thresholds.
    skgeom.plotting.AccuracyRejectionDisplay : Plot of the accuracy-rejection curve.
    sklearn.calibration.CalibratedClassifierCV : Calibrates class probabilities.

    Notes
    -----
    With ``rejection_rate`` or ``target_error``, the threshold is selected on held-out
    samples, because the confidences of training samples are usually too large: a clone
    of the classifier that is fitted without a fold computes the confidences of the
    samples in this fold. Finally, the classifier is fitted to all samples. A
    :class:`~sklearn.frozen.FrozenEstimator` uses no folds, because it is already
    fitted: it computes the confidences of the samples that are passed to :meth:`fit`.
    Do not pass the training samples of the frozen classifier.

    With ``rejection_rate``, the threshold is half-way between two neighboring
    confidences. Samples of equal confidence are not separated, so only some fractions
    of the samples (or of the total sample weight) can be rejected. The classifier
    rejects the possible fraction that is nearest to ``rejection_rate``, or the smaller
    one of two equally near fractions. Samples of the largest confidence are never
    rejected. If the nearest fraction is zero, the threshold is half-way between the
    smallest confidence and ``1 / n_classes``, the probability of a random guess; for
    other confidences, it is the smallest confidence. If the threshold would reject a
    larger fraction of the training samples, because the classifiers of the folds are
    more confident than the final classifier, it is selected on the training samples.

    With ``target_error``, up to :math:`m = \sqrt{n}` thresholds are tested, which
    accept fixed numbers of the n samples. A threshold passes the test if the upper
    Clopper-Pearson confidence limit of the error rate among the accepted samples is at
    most the target. The thresholds are tested in descending order (fixed-sequence
    testing [2]_). The risk ``1 - confidence_level`` is divided into m + 1 equal parts.
    The first test has the risk r of m parts, and the later tests share one part. The
    first threshold accepts at least ``log(r) / log(1 - target_error)`` samples, because
    its test cannot pass with fewer samples, and at least n / m samples; if n is
    smaller, all n samples are the only candidate. If a threshold passes, its risk is
    added to the risk of the next test. The smallest threshold that passes is selected.
    If no threshold passes, ``fit`` warns and all samples are rejected. A target of 0.05
    at the confidence level 0.95 requires at least 59 samples. The selection depends
    only on the order of the confidences, so a strictly increasing transformation of the
    confidences does not change which samples are rejected.

    The error rate is guaranteed for a frozen classifier if the samples passed to
    :meth:`fit` and later samples are drawn independently from the same distribution:
    with a probability of at least ``confidence_level`` over the draw of the samples
    that are passed to :meth:`fit`, the error rate of the classifier on accepted later
    samples (its expected value) is at most ``target_error``. With folds, the guarantee
    is not strict, because the tested classifiers were trained with a part of the
    samples, and the final classifier with all samples. The final classifier is usually
    more accurate.

    If the classes are numbers, the reject label must be a number. If the classes are
    strings, it must be a string. For classes of dtype object, any label is allowed. The
    dtype of the predictions can represent the classes and the reject label. Integer
    classes remain integers unless the reject label is a fraction or NaN. The classes
    False and True become 0 and 1.

    References
    ----------
    .. [1] C. K. Chow, "On optimum recognition error and reject tradeoff", IEEE
       Transactions on Information Theory 16(1), 41-46, 1970.
    .. [2] A. N. Angelopoulos, S. Bates, E. J. Candès, M. I. Jordan and L. Lei, "Learn
       then test: calibrating predictive algorithms to achieve risk control", Annals of
       Applied Statistics 19(2), 2025.
    .. [3] C. Elkan, "The foundations of cost-sensitive learning", Proceedings of the
       17th International Joint Conference on Artificial Intelligence, 973-978, 2001.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.linear_model import LogisticRegression
    >>> from skgeom import RejectionClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = RejectionClassifier(LogisticRegression(max_iter=1000), threshold=0.9)
    >>> model.fit(X, y).predict(X[[0, 70, 100]])
    array([ 0, -1,  2])
    >>> model.set_params(threshold=None, rejection_rate=0.1).fit(X, y).threshold_ < 0.9
    True
    >>> model.set_params(rejection_rate=None, target_error=0.05).fit(X, y).threshold_
    0.602...

    An error costs 1, but class 2 must not be missed, and a rejection costs 0.4:

    >>> costs = [[0, 1, 1, 0.4], [1, 0, 1, 0.4], [10, 10, 0, 0.4]]
    >>> model.set_params(target_error=None, cost_matrix=costs).fit(X, y)
    RejectionClassifier(cost_matrix=..., estimator=...)
    >>> model.predict(X[[0, 70, 100]])
    array([ 0, -1,  2])
    """

    _parameter_constraints = {
        "estimator": [HasMethods(["fit", "predict_proba"])],
        "threshold": [Interval(Real, None, None, closed="neither"), None],
        "rejection_rate": [Interval(Real, 0, 1, closed="neither"), None],
        "target_error": [Interval(Real, 0, 1, closed="neither"), None],
        "cost_matrix": ["array-like", None],
        "confidence": [StrOptions({"probability", "density"}), callable],
        "confidence_level": [Interval(Real, 0, 1, closed="neither")],
        "reject_label": [Real, str, None],
        "cv": ["cv_object"],
        "n_jobs": [Integral, None],
    }

    def __init__(
        self,
        estimator,
        *,
        threshold=None,
        rejection_rate=None,
        target_error=None,
        cost_matrix=None,
        confidence="probability",
        confidence_level=0.95,
        reject_label=None,
        cv=None,
        n_jobs=None,
    ):
        self.estimator = estimator
        self.threshold = threshold
        self.rejection_rate = rejection_rate
        self.target_error = target_error
        self.cost_matrix = cost_matrix
        self.confidence = confidence
        self.confidence_level = confidence_level
        self.reject_label = reject_label
        self.cv = cv
        self.n_jobs = n_jobs

    # The classifier validates its own parameters.
    @fit_method(nested_validation=True)
    def fit(self, X, y, sample_weight=None, **fit_params):
        """Fit the classifier and select the threshold.

        Parameters
        ----------
        X : array-like of shape (n_samples, ...)
            The samples, of any shape that the classifier accepts.
        y : array-like of shape (n_samples,)
            Class labels of the samples.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the samples, for the classifier and for the rejection rate. For
            the last step of a pipeline, pass for example
            ``gaussianclassifier__sample_weight``. Weights are not supported with
            ``target_error``, because its guarantee counts samples.
        **fit_params : dict
            Additional arguments of the classifier's ``fit``. Arguments with one entry
            per sample are split into folds like the samples. ``groups``, or the groups
            of a step of a pipeline, such as ``gaussianclassifier__groups``, are also
            passed to ``cv``, which holds out whole groups. Use groups for dependent
            samples, such as several recordings of each subject. They are not passed to
            a pipeline or to a classifier without this argument. If a different meta-
            estimator raises an error, set
            ``cv=list(StratifiedGroupKFold().split(X, y, groups))``.

        Returns
        -------
        self
            This object, fitted.

        Raises
        ------
        ValueError
            If the classifier has no ``predict_proba``, or no ``score_samples`` for
            ``confidence="density"``; if more than one of
            ``threshold``, ``rejection_rate``, ``target_error`` and ``cost_matrix`` is
            given; if ``cost_matrix`` has a wrong shape or rows or columns in a
            different order than ``classes_``; if the reject label is a class or cannot
            be stored in an array with the classes; if there is only one class; if a
            sample has no label or several labels; if a threshold is selected for a
            frozen classifier whose classes are text, and y contains numbers, or vice
            versa; if confidences of held-out samples are NaN; if ``target_error``
            is given and sample weights are passed or ``cv`` tests a sample twice; or if
            ``domain`` is passed without target data.
            Exceptions of the classifier are propagated.

        Warns
        -----
        UserWarning
            If no threshold meets ``target_error``.
        """
        # Labels and weights fit into memory, also if X does not.
        labels = in_memory(y)
        routed, weights = self._routed(X, sample_weight, fit_params)
        self._check_parameters(X, weights)
        check_holds_numbers(weights, "sample_weight")
        checked = checked_labels(labels, X)
        (X,) = indexable(X)
        # The samples for a frozen classifier may all be of one class.
        if not isinstance(self.estimator, FrozenEstimator):
            check_two_classes(np.unique(checked), type(self).__name__)
        weights = check_sample_weight(weights, checked)
        if self.cost_matrix is not None:
            self._check_costs(checked, weights)
        y = y if is_dask(X) else checked
        progress = current_progress()
        progress.start(*((None, None) if is_dask(X) else (X, y)))
        progress.stage("training")
        self.estimator_ = clone(self.estimator).fit(X, y, **routed.estimator.fit)
        self.classes_ = self.estimator_.classes_
        self._labels = with_reject_label(to_numpy(self.classes_), self.reject_label)
        self.reject_label_ = self._labels[-1]
        for name in ("n_features_in_", "feature_names_in_"):
            vars(self).pop(name, None)
            if hasattr(self.estimator_, name):
                setattr(self, name, getattr(self.estimator_, name))
        self.threshold_, self._costs, self._confidence = None, None, self.confidence
        if self.cost_matrix is None:
            self.threshold_ = self._find_threshold(X, checked, weights, routed)
        else:
            classes = self._labels.tolist()[:-1]
            self._costs = checked_costs(self.cost_matrix, classes)
        # A classifier with array API support returns arrays of the library of X. Arrays
        # of strings remain NumPy arrays.
        if is_dispatched(X) and get_tags(self.estimator).array_api_support:
            move_attributes(self, X)
            if is_dispatched(labels):
                self.classes_ = numbers_like(self.classes_, labels)
        return self

    def _routed(self, X, sample_weight, fit_params):
        """The routed arguments of ``fit``, and the sample weights or None."""
        check_holds_numbers(sample_weight, "sample_weight")
        if not is_dask(X):  # data frames need series of labels and weights
            sample_weight = on_cpu(in_memory(sample_weight))
            fit_params = {key: in_memory(values) for key, values in fit_params.items()}
        routed, weights = route(self, sample_weight, fit_params), sample_weight
        check_no_domain(routed.estimator.fit)
        if weights is None:
            weights = weights_in(routed.estimator.fit, self.estimator)
        return routed, in_memory(weights)

    def _find_threshold(self, X, y, weights, routed):
        """The given threshold, or a threshold that is selected on held-out samples."""
        if self.rejection_rate is None and self.target_error is None:
            return 0.5 if self.threshold is None else float(self.threshold)
        current_progress().stage("threshold")
        confidences, correct, tested = self._validated(X, y, routed)
        # The threshold that accepts all samples, and the confidence of a random guess.
        lowest, guess = -np.inf, np.inf
        if self.confidence == "probability":
            lowest, guess = 0.0, 1 / len(self.classes_)
        if self.target_error is not None:
            if len(np.unique(tested)) < len(tested):
                raise ValueError(
                    "cv tests some samples more than once, so their errors are not "
                    "independent. With target_error, use folds without overlap."
                )
            return threshold_of_error(
                confidences, correct, self.target_error, self.confidence_level, lowest
            )
        if not weights[tested].any():
            raise ValueError("sample_weight is zero for all samples that cv tests.")
        rate = self.rejection_rate
        threshold = threshold_of_rate(confidences, weights[tested], rate, guess)
        if isinstance(self.estimator, FrozenEstimator):
            return threshold
        # Confidences of training samples are usually larger than those of new samples.
        # If they are smaller, the classifiers of the folds are too confident.
        own, _ = _confidences(self.estimator_, X, y, self.confidence)
        if weights[own < threshold].sum() > (rate + 1e-9) * weights.sum():
            of_training = threshold_of_rate(own, weights, rate, guess)
            threshold = min(threshold, of_training)
        return threshold

    def _check_parameters(self, X, sample_weight):
        """Raise an error for parameters that exclude each other, X or the weights."""
        rules = {
            name: getattr(self, name)
            for name in ("threshold", "rejection_rate", "target_error", "cost_matrix")
            if getattr(self, name) is not None
        }
        if len(rules) > 1:
            texts = (n if n == "cost_matrix" else f"{n}={v}" for n, v in rules.items())
            given = " and ".join(texts)
            raise ValueError(f"Only one of {given} can be set. Set all others to None.")
        self._check_confidence(rules)
        if self.target_error is not None and sample_weight is not None:
            raise ValueError(
                "sample_weight cannot be used with target_error, whose guarantee "
                "counts samples. Freeze a classifier that was trained with weights "
                "(sklearn.frozen.FrozenEstimator), and pass new samples to fit."
            )
        automatic = self.rejection_rate is not None or self.target_error is not None
        if automatic and not isinstance(self.estimator, FrozenEstimator):
            check_not_dask(self, X, "Set threshold, or freeze a fitted classifier")

    def _check_costs(self, y, weights):
        """Raise ValueError for wrong costs before the fit, if the classes are known."""
        classes, seen = np.unique(y), weighted_classes(y, weights)
        if isinstance(self.estimator, FrozenEstimator):
            checked_costs(self.cost_matrix, to_numpy(self.estimator.classes_).tolist())
        elif len(seen) == len(classes):  # not all classifiers ignore other classes
            checked_costs(self.cost_matrix, classes.tolist())

    def _check_confidence(self, rules):
        """Raise ValueError if the confidence contradicts the classifier or the rule."""
        if self.confidence == "probability":
            if not 0 <= rules.get("threshold", 0) <= 1:
                raise ValueError(
                    f"threshold={self.threshold} must be a probability between 0 and 1 "
                    "for confidence='probability'."
                )
            return
        if not rules:
            raise ValueError(
                f"confidence={self.confidence!r} has no default threshold. Set "
                "threshold, rejection_rate or target_error."
            )
        if "cost_matrix" in rules:
            raise ValueError(
                "cost_matrix weights class probabilities, so it cannot be combined "
                f"with confidence={self.confidence!r}. Set confidence='probability', "
                "or threshold, rejection_rate or target_error instead of cost_matrix."
            )
        needed = self.confidence == "density"
        if needed and not hasattr(self.estimator, "score_samples"):
            raise ValueError(
                "confidence='density' requires a classifier with the method "
                f"score_samples, which {type(self.estimator).__name__} does not have. "
                "Use a different classifier, such as GaussianClassifier, or a function "
                "confidence(estimator, X)."
            )

    def _validated(self, X, y, routed):
        """Confidences of held-out samples.

        Returns the confidence of each sample, whether its most probable class
        is correct, and the indices of the samples.
        """
        if isinstance(self.estimator, FrozenEstimator):
            results = [_confidences(self.estimator_, X, y, self.confidence)]
            tested = np.arange(len(results[0][0]))
        else:
            splits = self._splits(X, y, routed.splitter.split)
            results = Parallel(n_jobs=self.n_jobs)(
                delayed(_fold_confidences)(
                    clone(self.estimator),
                    X,
                    y,
                    train,
                    test,
                    routed.estimator.fit,
                    self.confidence,
                )
                for train, test in splits
            )
            tested = np.concatenate([test for _, test in splits])
        confidences, correct = map(np.concatenate, zip(*results, strict=True))
        bad = np.isnan(confidences).sum()
        if bad:
            raise ValueError(
                f"{type(self.estimator).__name__} returns NaN confidences for {bad} "
                f"of {len(confidences)} samples, so no threshold can be selected."
            )
        return confidences, correct, tested

    def _splits(self, X, y, params):
        """Training and test indices of the folds; groups are held out together."""
        cv = self.cv
        if cv is None:  # with many folds, classifiers are similar to the final one
            counts = np.unique(y, return_counts=True)[1]
            cv = int(min(np.clip(counts.min(), 5, 10), max(counts.max(), 2)))
        groups = checked_groups(params.get("groups"), y)
        if groups is not None:
            params = {**params, "groups": groups}
            if isinstance(cv, Integral):
                n_groups = groups.max() + 1
                if n_groups < 2:
                    raise ValueError(
                        "groups contains one group, so no group can be held out. Use "
                        "at least two groups, or groups=None."
                    )
                cv = StratifiedGroupKFold(min(cv, n_groups))
        return list(check_cv(cv, y, classifier=True).split(X, y, **params))

    def predict(self, X):
        """Predict classes, or the reject label for rejected samples.

        Parameters
        ----------
        X : array-like of shape (n_samples, ...)
            The samples.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            The most probable classes, or ``reject_label_`` for samples whose confidence
            is below ``threshold_``. With ``cost_matrix``, the predictions
            of the smallest expected cost; of equal costs, the first class. Samples with
            NaN confidences are rejected.
        """
        self._check_arrays(X, "predict")
        probabilities = self.estimator_.predict_proba(X)
        if namespace(self._labels) is np:
            probabilities = on_cpu(probabilities)
        xp, scores = namespace(probabilities), probabilities
        # Comparisons with NaN are False, so samples with NaN get the last label and are
        # rejected.
        if self._costs is None:
            confidences = confidences_of(
                self._confidence, self.estimator_, X, probabilities
            )
            if namespace(confidences) is not xp:
                confidences = like(confidences, probabilities)
            accepted = confidences >= self.threshold_
        else:
            costs = like(self._costs, probabilities, probabilities.dtype)
            scores = -(probabilities @ costs[:, :-1])
            gains = xp.max(scores, axis=1) + probabilities @ costs[:, -1]
            # A class and a rejection of equal expected costs: the class.
            rounding = 8 * xp.finfo(costs.dtype).eps * xp.max(xp.abs(costs))
            accepted = gains >= -rounding
        encoded = xp.argmax(scores, axis=1)
        last = xp.full_like(encoded, self._labels.shape[0] - 1)
        return xp.take(self._labels, xp.where(accepted, encoded, last))

    def _check_arrays(self, X, method):
        """Raise an error unless fitted, with arrays of the library and device of X."""
        check_is_fitted(self)
        if namespace(self._labels) is not np:
            check_same_namespace(X, self, attribute="_labels", method=method)

    def predict_proba(self, X):
        """Return the class probabilities of the classifier.

        Parameters
        ----------
        X : array-like of shape (n_samples, ...)
            The samples.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes)
            Probabilities of all samples, including rejected samples, in the order of
            ``classes_``.
        """
        self._check_arrays(X, "predict_proba")
        return self.estimator_.predict_proba(X)

    def score(self, X, y, sample_weight=None):
        """Return the accuracy, where rejected samples count as errors.

        A rejected sample counts as correct only if its true label is the reject label.
        If more samples are rejected, the score therefore decreases or remains equal.
        Use :func:`accuracy_rejection_curve` to compute the accuracy of the accepted
        samples.

        Parameters
        ----------
        X : array-like of shape (n_samples, ...)
            The samples.
        y : array-like of shape (n_samples,)
            True labels of the samples.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the samples.

        Returns
        -------
        score : float
            The fraction of correctly predicted samples, between 0 and 1.

        Raises
        ------
        ValueError
            If labels are missing, are text although the classes are numbers or vice
            versa, or if a weight is negative, NaN or infinite, or all are zero.
        """
        y = known_labels(in_memory(y))
        predicted = on_cpu(in_memory(self.predict(X)))
        y = checked_targets(y, predicted)
        check_kind(y, on_cpu(self._labels))
        weights = check_sample_weight(in_memory(sample_weight), y)
        # accuracy_score raises errors for some reject labels, such as NaN.
        return float(np.average(predicted == y, weights=weights))

    def get_metadata_routing(self):
        """Return the routing of metadata to the classifier and the splitter.

        Returns
        -------
        routing : MetadataRouter
            The requests of this object, its classifier and its splitter.
        """
        fit, split = (
            MethodMapping().add(caller="fit", callee=callee)
            for callee in ("fit", "split")
        )
        router = MetadataRouter(owner=self).add_self_request(self)
        router.add(estimator=self.estimator, method_mapping=fit)
        # A number of folds means StratifiedGroupKFold if groups are passed.
        cv = StratifiedGroupKFold() if isinstance(self.cv, Integral | None) else self.cv
        return router.add(splitter=cv, method_mapping=split)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        wrapped = get_tags(self.estimator)
        tags.input_tags = wrapped.input_tags
        tags.non_deterministic = wrapped.non_deterministic
        tags.array_api_support = ARRAY_API and wrapped.array_api_support
        tags.classifier_tags = wrapped.classifier_tags or tags.classifier_tags
        return tags


def _fold_confidences(classifier, X, y, train, test, fit_params, confidence):
    """Confidences of the test samples, after a fit to the training samples."""
    X_train, y_train = safe_split(classifier, X, y, train)
    X_test, y_test = safe_split(classifier, X, y, test, train)
    params = check_method_params(X, fit_params, indices=train)
    classifier.fit(X_train, y_train, **params)
    return _confidences(classifier, X_test, y_test, confidence)


def _confidences(classifier, X, y, confidence):
    """Confidence of each sample, and whether its most probable class is correct."""
    probabilities = on_cpu(in_memory(classifier.predict_proba(X)))
    confidences = confidences_of(confidence, classifier, X, probabilities)
    confidences = on_cpu(in_memory(confidences))
    classes, y = to_numpy(classifier.classes_), np.asarray(column_or_1d(y))
    check_kind(y, classes)
    return confidences, classes[probabilities.argmax(axis=1)] == y
