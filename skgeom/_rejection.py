"""Classification with rejection of samples whose largest class probability is small."""

from inspect import Parameter, signature
from numbers import Integral, Real

import numpy as np
from scipy.stats import binom
from sklearn import get_config
from sklearn.base import ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import StratifiedGroupKFold, check_cv
from sklearn.pipeline import Pipeline
from sklearn.utils import Bunch, assert_all_finite, get_tags, indexable
from sklearn.utils.metadata_routing import (
    MetadataRouter,
    MethodMapping,
    process_routing,
)
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import (
    check_consistent_length,
    check_is_fitted,
    column_or_1d,
)

from skgeom.utils._dask import check_not_dask, in_memory, is_dask
from skgeom.utils._sklearn import (
    ARRAY_API,
    HasMethods,
    Interval,
    check_method_params,
    safe_split,
)
from skgeom.utils.array_api import (
    check_holds_numbers,
    check_same_namespace,
    is_dispatched,
    move_attributes,
    namespace,
    numbers_like,
    on_cpu,
    to_numpy,
)
from skgeom.utils.estimator import BaseEstimator
from skgeom.utils.methods import fit_method
from skgeom.utils.validation import (
    check_array,
    check_labels,
    check_sample_weight,
    check_two_classes,
    checked_groups,
    checked_labels,
    checked_targets,
    known_labels,
)
from skgeom.utils.warn import warn_user


class RejectionClassifier(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):
    r"""Classifier that rejects samples whose largest class probability is small.

    ``predict`` returns the most probable class if its probability is at least
    ``threshold_``, and ``reject_label_`` otherwise. With calibrated probabilities and a
    threshold t, this is the optimal rule of Chow [1]_ if the cost of a rejection is
    1 - t times the cost of an error.

    Parameters
    ----------
    estimator : classifier
        The classifier; ``fit`` fits a clone of it. The classifier must have the method
        ``predict_proba``. Wrap a classifier without this method in a
        :class:`~sklearn.calibration.CalibratedClassifierCV`. Wrap a classifier that is
        already fitted in a :class:`~sklearn.frozen.FrozenEstimator`.
    threshold : float or None, default=None
        The smallest probability with which a class is predicted, between 0 and 1. None
        means 0.5, unless ``rejection_rate`` or ``target_error`` is given.
    rejection_rate : float or None, default=None
        Fraction of the samples to reject, between 0 and 1. ``fit`` selects the
        threshold as described in the notes.
    target_error : float or None, default=None
        Largest allowed fraction of errors among the accepted samples, between 0 and 1.
        ``fit`` selects the threshold as described in the notes. Set at most one of
        ``threshold``, ``rejection_rate`` and ``target_error``.
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
    threshold_ : float
        The smallest probability with which a class is predicted. If no threshold meets
        ``target_error``, ``threshold_`` is infinite, and all samples are rejected.
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
    samples, because the largest probabilities of training samples are usually too
    large: a clone of the classifier that is fitted without a fold computes the
    probabilities of the samples in this fold. Finally, the classifier is fitted to all
    samples. A :class:`~sklearn.frozen.FrozenEstimator` uses no folds, because it is
    already fitted: it computes the probabilities of the samples that are passed to
    :meth:`fit`. Do not pass the training samples of the frozen classifier.

    The confidence of a sample is its largest class probability. With
    ``rejection_rate``, the threshold is half-way between two neighboring confidences.
    Samples of equal confidence are not separated, so only some fractions of the samples
    (or of the total sample weight) can be rejected. The classifier rejects the possible
    fraction that is nearest to ``rejection_rate``, or the smaller one of two equally
    near fractions. Samples of the largest confidence are never rejected. If the nearest
    fraction is zero, the threshold is half-way between the smallest confidence and
    ``1 / n_classes``, the confidence of a random guess. If the threshold would reject
    a larger fraction of the training samples, because the classifiers of the folds are
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
    """

    _parameter_constraints = {
        "estimator": [HasMethods(["fit", "predict_proba"])],
        "threshold": [Interval(Real, 0, 1, closed="both"), None],
        "rejection_rate": [Interval(Real, 0, 1, closed="neither"), None],
        "target_error": [Interval(Real, 0, 1, closed="neither"), None],
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
        confidence_level=0.95,
        reject_label=None,
        cv=None,
        n_jobs=None,
    ):
        self.estimator = estimator
        self.threshold = threshold
        self.rejection_rate = rejection_rate
        self.target_error = target_error
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
            If the classifier has no ``predict_proba``; if more than one of
            ``threshold``, ``rejection_rate`` and ``target_error`` is given; if the
            reject label is a class or cannot be stored in an array with the classes; if
            there is only one class; if a sample has no label or several labels; if a
            threshold is selected for a frozen classifier whose classes are text, and y
            contains numbers, or vice versa; if probabilities of held-out samples are
            NaN; or if ``target_error`` is given and sample weights are passed or ``cv``
            tests a sample twice. Exceptions of the classifier are propagated.

        Warns
        -----
        UserWarning
            If no threshold meets ``target_error``.
        """
        given = y
        # Labels and weights fit into memory, also if X does not.
        y = known_labels(in_memory(y))
        check_holds_numbers(sample_weight, "sample_weight")
        if not is_dask(X):  # data frames need series of labels and weights
            sample_weight = on_cpu(in_memory(sample_weight))
            fit_params = {key: in_memory(values) for key, values in fit_params.items()}
        routed = self._route(sample_weight, fit_params)
        weights = sample_weight
        if weights is None:
            weights = _weights_in(routed.estimator.fit, self.estimator)
        weights = in_memory(weights)
        self._check_parameters(weights)
        automatic = self.rejection_rate is not None or self.target_error is not None
        if automatic and not isinstance(self.estimator, FrozenEstimator):
            check_not_dask(self, X, "Set threshold, or freeze a fitted classifier")
        check_holds_numbers(y, "y")
        check_holds_numbers(weights, "sample_weight")
        labels, y = y, checked_labels(y, X)
        (X,) = indexable(X)
        # The samples for a frozen classifier may all be of one class.
        if not isinstance(self.estimator, FrozenEstimator):
            check_two_classes(np.unique(y), type(self).__name__)
        weights = check_sample_weight(weights, y)
        self.estimator_ = clone(self.estimator).fit(
            X, given if is_dask(X) else y, **routed.estimator.fit
        )
        self.classes_ = self.estimator_.classes_
        self._labels = _with_reject_label(to_numpy(self.classes_), self.reject_label)
        self.reject_label_ = self._labels[-1]
        for name in ("n_features_in_", "feature_names_in_"):
            vars(self).pop(name, None)
            if hasattr(self.estimator_, name):
                setattr(self, name, getattr(self.estimator_, name))
        self.threshold_ = self._find_threshold(X, y, weights, routed)
        # A classifier with array API support returns arrays of the library of X. Arrays
        # of strings remain NumPy arrays.
        if is_dispatched(X) and get_tags(self.estimator).array_api_support:
            move_attributes(self, X)
            if is_dispatched(labels):
                self.classes_ = numbers_like(self.classes_, labels)
        return self

    def _find_threshold(self, X, y, weights, routed):
        if self.rejection_rate is None and self.target_error is None:
            return 0.5 if self.threshold is None else float(self.threshold)
        confidences, correct, tested = self._validated(X, y, routed)
        if self.target_error is not None:
            if len(np.unique(tested)) < len(tested):
                raise ValueError(
                    "cv tests some samples more than once, so their errors are not "
                    "independent. With target_error, use folds without overlap."
                )
            return _threshold_of_error(
                confidences, correct, self.target_error, self.confidence_level
            )
        if not weights[tested].any():
            raise ValueError("sample_weight is zero for all samples that cv tests.")
        rate, guess = self.rejection_rate, 1 / len(self.classes_)
        threshold = _threshold_of_rate(confidences, weights[tested], rate, guess)
        if isinstance(self.estimator, FrozenEstimator):
            return threshold
        # Confidences of training samples are usually larger than those of new samples.
        # If they are smaller, the classifiers of the folds are too confident.
        own, _ = _confidences(self.estimator_, X, y)
        if weights[own < threshold].sum() > (rate + 1e-9) * weights.sum():
            of_training = _threshold_of_rate(own, weights, rate, guess)
            threshold = min(threshold, of_training)
        return threshold

    def _check_parameters(self, sample_weight):
        rules = {
            name: getattr(self, name)
            for name in ("threshold", "rejection_rate", "target_error")
            if getattr(self, name) is not None
        }
        if len(rules) > 1:
            given = " and ".join(f"{name}={value}" for name, value in rules.items())
            raise ValueError(f"Only one of {given} can be set. Set all others to None.")
        if self.target_error is not None and sample_weight is not None:
            raise ValueError(
                "sample_weight cannot be used with target_error, whose guarantee "
                "counts samples. Freeze a classifier that was trained with weights "
                "(sklearn.frozen.FrozenEstimator), and pass new samples to fit."
            )

    def _route(self, sample_weight, fit_params):
        """Parameters for the classifier's fit, and for the split into folds."""
        params = dict(fit_params)
        if sample_weight is not None:
            params["sample_weight"] = sample_weight
        if get_config()["enable_metadata_routing"]:
            routed = process_routing(self, "fit", **params)
        else:
            groups = {"groups": params["groups"]} if "groups" in params else {}
            accepted = signature(self.estimator.fit).parameters.values()
            accepts_groups = any(
                p.name == "groups" or p.kind == Parameter.VAR_KEYWORD for p in accepted
            )
            # The fit of a pipeline accepts only parameters of its steps.
            if isinstance(self.estimator, Pipeline) or not accepts_groups:
                params.pop("groups", None)
            routed = Bunch(estimator=Bunch(fit=params), splitter=Bunch(split=groups))
        for name, values in routed.estimator.fit.items():
            if name.split("__")[-1] == "groups":
                routed.splitter.split.setdefault("groups", values)
        return routed

    def _validated(self, X, y, routed):
        """Confidences of held-out samples.

        Returns the largest probability of each sample, whether its most probable class
        is correct, and the indices of the samples.
        """
        if isinstance(self.estimator, FrozenEstimator):
            results = [_confidences(self.estimator_, X, y)]
            tested = np.arange(len(results[0][0]))
        else:
            cv = self.cv
            if cv is None:  # with many folds, classifiers are similar to the final one
                counts = np.unique(y, return_counts=True)[1]
                cv = int(min(np.clip(counts.min(), 5, 10), max(counts.max(), 2)))
            params = routed.splitter.split
            groups = checked_groups(params.get("groups"), y)
            if groups is not None:
                params["groups"] = groups
                if isinstance(cv, Integral):
                    n_groups = groups.max() + 1
                    if n_groups < 2:
                        raise ValueError(
                            "groups contains one group, so no group can be held out. "
                            "Use at least two groups, or groups=None."
                        )
                    cv = StratifiedGroupKFold(min(cv, n_groups))
            cv = check_cv(cv, y, classifier=True)
            splits = list(cv.split(X, y, **params))
            results = Parallel(n_jobs=self.n_jobs)(
                delayed(_fold_confidences)(
                    clone(self.estimator), X, y, train, test, routed.estimator.fit
                )
                for train, test in splits
            )
            tested = np.concatenate([test for _, test in splits])
        confidences, correct = map(np.concatenate, zip(*results, strict=True))
        bad = np.isnan(confidences).sum()
        if bad:
            raise ValueError(
                f"{type(self.estimator).__name__} returns NaN probabilities for {bad} "
                f"of {len(confidences)} samples, so no threshold can be selected."
            )
        return confidences, correct, tested

    def predict(self, X):
        """Predict the most probable class, or the reject label for rejected samples.

        Parameters
        ----------
        X : array-like of shape (n_samples, ...)
            The samples.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            Class labels of the samples, or ``reject_label_`` if the largest probability
            is below ``threshold_`` or NaN.
        """
        self._check_arrays(X, "predict")
        probabilities = self.estimator_.predict_proba(X)
        if namespace(self._labels) is np:
            probabilities = on_cpu(probabilities)
        xp = namespace(probabilities)
        encoded = xp.argmax(probabilities, axis=1)
        # NaN >= threshold is False, so samples with NaN get the last label and are
        # rejected.
        accepted = xp.max(probabilities, axis=1) >= self.threshold_
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
        y = on_cpu(known_labels(in_memory(y)))
        predicted = on_cpu(in_memory(self.predict(X)))
        y = checked_targets(y, predicted)
        _check_kind(y, on_cpu(self._labels))
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


def _weights_in(params, estimator):
    """The sample weights of the classifier among the arguments of ``fit``, or None.

    The classifier may be the last step of a pipeline, or in a meta-estimator such as a
    grid search or a vote. Metadata routing may give the weights a different name.
    """
    if "sample_weight" in params or isinstance(estimator, FrozenEstimator):
        return params.get("sample_weight")
    parts = getattr(estimator, "steps", [])[-1:] or getattr(estimator, "estimators", [])
    if getattr(estimator, "estimator", None) is not None:
        parts = [("estimator", estimator.estimator)]
    if not params or not parts:
        return None
    routes = get_config()["enable_metadata_routing"]
    routed = process_routing(estimator, "fit", **params) if routes else {}
    for name, part in parts:
        of_part = {key.removeprefix(f"{name}__"): params[key] for key in params}
        of_part = routed.get(name, {}).get("fit", {}) if routes else of_part
        if (weights := _weights_in(of_part, part)) is not None:
            return weights
    return None


def _fold_confidences(classifier, X, y, train, test, fit_params):
    """Confidences of the test samples, after a fit to the training samples."""
    X_train, y_train = safe_split(classifier, X, y, train)
    X_test, y_test = safe_split(classifier, X, y, test, train)
    params = check_method_params(X, fit_params, indices=train)
    classifier.fit(X_train, y_train, **params)
    return _confidences(classifier, X_test, y_test)


def _confidences(classifier, X, y):
    """Largest probability of each sample, and whether its class is correct."""
    probabilities = on_cpu(in_memory(classifier.predict_proba(X)))
    classes, y = to_numpy(classifier.classes_), np.asarray(column_or_1d(y))
    _check_kind(y, classes)
    return probabilities.max(axis=1), classes[probabilities.argmax(axis=1)] == y


def _check_kind(y, known):
    """Raise ValueError if the known labels are numbers and y has text, or vice versa.

    NumPy would compare such labels as different. The first known label is a class.
    """
    known = known.tolist()
    kind = _kind_of(known[0])
    for label in dict.fromkeys(y.tolist()):
        if label not in known and _kind_of(label) != kind:
            raise ValueError(
                f"y contains {label!r}, which is {_kind_of(label)}, but the class "
                f"{known[0]!r} is {kind}. Use labels of the type of classes_."
            )


def _kind_of(label):
    if isinstance(label, bytes):
        return "bytes"
    return "text" if isinstance(label, str) else "a number"


def _with_reject_label(classes, label):
    """The classes followed by the reject label, in an array that can represent both.

    With None, the label is "rejected" if the classes are strings. If the classes are
    numbers, the label is -1, or a smaller integer if -1 is not below all classes.
    """
    labels = classes.tolist()
    is_text = all(isinstance(known, str) for known in labels)
    if label is None:
        is_number = classes.dtype.kind not in "mM"  # nanoseconds become integers
        is_number &= all(isinstance(known, Real) for known in labels)
        if not is_text and not is_number:
            raise ValueError(
                f"The classes {labels} are neither all strings nor all numbers. Set "
                "reject_label."
            )
        label = "rejected" if is_text else min(-1, int(np.floor(classes.min())) - 1)
    if any(label == known for known in labels):
        raise ValueError(
            f"reject_label={label!r} is one of the classes, {labels}. Choose "
            "a different label."
        )
    dtype = classes.dtype
    if dtype.kind != "O":
        integral = isinstance(label, str | Integral)
        own = np.min_scalar_type(label) if integral else np.dtype(np.float64)
        # The common type of int64 and uint64 or float64 is float64: it rounds integers.
        dtype = np.result_type(dtype, own)
        if integral and classes.dtype.kind == "u" and dtype.kind == "f":
            dtype = np.dtype(np.int64)
        fits = dtype.kind != "O" and classes.astype(dtype).tolist() == labels
        if not fits or isinstance(label, str) != is_text:
            raise ValueError(
                f"reject_label={label!r} cannot be stored in one array with classes of "
                f"dtype {classes.dtype}. Choose a label of the type and range of the "
                "classes, or pass y of dtype object to fit."
            )
    return np.concatenate([classes.astype(dtype), np.array([label], dtype=dtype)])


def _threshold_of_error(confidences, correct, target_error, confidence_level):
    r"""The smallest threshold that provably meets the target; infinite if none does.

    Each candidate accepts a fixed number of samples, so the candidates do not depend on
    the scale of the confidences. A candidate accepts m samples with e errors. If the
    error rate exceeds the target :math:`\epsilon`, the probability of at most e errors
    is at most :math:`P(B_{m, \epsilon} \le e)` with a binomial variable B. The
    candidate passes the test if this bound is at most the risk of the test.

    Candidates are tested in descending order of the threshold, from the first candidate
    that could pass without an error,
    :math:`m \ge \log(\text{risk}) / \log(1 - \epsilon)`. If a candidate passes, its
    risk is added to the risk of the next candidate (fixed-sequence testing). The later
    candidates share a part of the risk, so that an error among the most confident
    samples does not end the sequence (fallback procedure). Numbers of accepted samples
    that differ by less than the square root of n have nearly equal confidence limits,
    so about sqrt(n) candidates are tested.

    Parameters
    ----------
    confidences : ndarray of shape (n_samples,)
        Largest probabilities of held-out samples.
    correct : ndarray of shape (n_samples,)
        Whether the most probable class is the true one.
    target_error : float
        The largest fraction of errors among the accepted samples.
    confidence_level : float
        Probability with which the target must be met.

    Returns
    -------
    float
        The threshold: samples of at least this confidence are accepted.
    """
    n, risk = len(confidences), 1 - confidence_level
    order = np.argsort(-confidences, kind="stable")
    descending = confidences[order]
    errors = np.concatenate([[0], np.cumsum(~correct[order])])
    n_candidates = int(np.sqrt(n))
    shared = risk / (n_candidates + 1)  # by all candidates except the first one
    log_kept = np.log1p(-target_error)
    first = int(np.ceil(np.log(risk - shared) / log_kept))
    first = min(max(first, n // n_candidates), n)
    ranks = np.linspace(first, n, n_candidates).round().astype(int)
    # Samples with the same confidence as the first rejected sample are rejected.
    counts = np.searchsorted(-descending, -descending[ranks[ranks < n]], side="left")
    counts = np.unique(np.append(counts, n))
    counts = counts[counts >= first]
    risks = np.full(len(counts), shared / max(1, len(counts) - 1))
    risks[0] = risk - risks[1:].sum()
    threshold, passed_on = np.inf, 0.0
    for count, own in zip(counts, risks, strict=True):
        if binom.cdf(errors[count], count, target_error) > passed_on + own:
            passed_on = 0.0
            continue
        passed_on += own
        threshold = 0.0
        if count < n:
            threshold = np.nextafter(descending[count], np.inf, dtype=descending.dtype)
    if threshold == np.inf:
        fewest = int(np.ceil(np.log(risk) / log_kept))
        warn_user(
            "All samples are rejected: no threshold meets "
            f"target_error={target_error} with confidence_level={confidence_level}, "
            f"which requires at least {fewest} held-out samples without an error; "
            f"there are {errors[-1]} "
            f"errors in {n} samples. Use more samples or a more accurate classifier, "
            "or increase target_error.",
            UserWarning,
        )
    return float(threshold)


def _threshold_of_rate(confidences, weights, rate, guess):
    """Threshold such that the rejected fraction of the weight is nearest to ``rate``.

    If two fractions are equally near, the smaller one is rejected. Equal confidences
    are not separated, and samples of the largest confidence are accepted. The threshold
    is half-way between two neighboring confidences. The lower neighbor of the smallest
    confidence is ``guess``, the smallest possible confidence.
    """
    seen = weights > 0
    values, which = np.unique(confidences[seen], return_inverse=True)
    totals = np.cumsum(np.bincount(which, weights[seen]))
    below = np.concatenate([[0.0], totals[:-1]])
    gaps = np.abs(below - rate * totals[-1])
    # 0.29 * 50 is 14.499999999999998; the tolerance makes 14 and 15 equally near.
    first = np.flatnonzero(gaps <= gaps.min() + 1e-9 * totals[-1])[0]
    lower, upper = values[first - 1] if first else min(guess, values[0]), values[first]
    middle = lower + (upper - lower) / 2
    # The middle of neighboring floating-point numbers may be rounded to the lower one.
    return float(middle if middle > lower else upper)


def accuracy_rejection_curve(y_true, y_score, *, labels=None, sample_weight=None):
    r"""Compute accuracies and rejection rates for all thresholds of the confidence.

    The predicted class :math:`\hat y_i` of sample i is the class with the largest
    score, and this score is the confidence :math:`c_i` of the sample. With the
    threshold t, samples with a confidence below t are rejected. If the scores are class
    probabilities, a :class:`RejectionClassifier` with ``threshold=thresholds[k]``
    rejects the fraction ``rejection_rates[k]`` of the samples, and its accuracy on the
    accepted samples is ``accuracies[k]``. With the sample weights :math:`w_i`, the
    accuracy a and the rejection rate r are [1]_

    .. math:: a(t) = \frac{\sum_i w_i [c_i \ge t] [\hat y_i = y_i]}
       {\sum_i w_i [c_i \ge t]}, \qquad
       r(t) = \frac{\sum_i w_i [c_i < t]}{\sum_i w_i}

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        The true labels.
    y_score : array-like of shape (n_samples, n_classes)
        The probabilities of the classes, or scores of the classes, such as the values
        of ``decision_function`` for more than two classes.
    labels : array-like of shape (n_classes,), default=None
        The classes in the order of the columns, such as ``classes_`` of a classifier.
        None means the sorted labels in ``y_true``.
    sample_weight : array-like of shape (n_samples,), default=None
        Nonnegative weights of the samples. None means equal weights.

    Returns
    -------
    accuracies : ndarray of shape (n_thresholds,)
        Accuracy on the accepted samples for each threshold.
    rejection_rates : ndarray of shape (n_thresholds,)
        Fraction of the samples that are rejected, in increasing order from 0.
    thresholds : ndarray of shape (n_thresholds,)
        The distinct confidences, in increasing order.

    Raises
    ------
    ValueError
        If ``labels`` does not contain one distinct label for each column, if a true
        label is missing or not in ``labels``, if a score is infinite or NaN, or if all
        weights are zero.

    See Also
    --------
    skgeom.plotting.AccuracyRejectionDisplay : Plot of the curve.
    RejectionClassifier : Classifier that rejects samples below a threshold.

    Notes
    -----
    Samples of equal confidence are rejected together. The curve therefore has one point
    for each distinct confidence and does not depend on the order of the samples. The
    curve ends at the largest confidence, because the accuracy is undefined if no sample
    is accepted. If several classes have the same largest score, the first of these
    classes is predicted.

    References
    ----------
    .. [1] M. S. A. Nadeem, J.-D. Zucker and B. Hanczar, "Accuracy-rejection curves
       (ARCs) for comparing classification methods with a reject option", Proceedings of
       Machine Learning Research 8, 65-81, 2010.

    Examples
    --------
    >>> from skgeom import accuracy_rejection_curve
    >>> y_true = [0, 0, 1, 1]
    >>> y_score = [[0.9, 0.1], [0.4, 0.6], [0.4, 0.6], [0.2, 0.8]]
    >>> accuracies, rejection_rates, thresholds = accuracy_rejection_curve(
    ...     y_true, y_score
    ... )
    >>> accuracies
    array([0.75, 1.  , 1.  ])
    >>> rejection_rates
    array([0.  , 0.5 , 0.75])
    >>> thresholds
    array([0.6, 0.8, 0.9])
    """
    y_true = column_or_1d(on_cpu(known_labels(y_true, "y_true")))
    assert_all_finite(y_true, input_name="y_true")
    found = np.unique(y_true)
    labels = found if labels is None else column_or_1d(on_cpu(labels))
    check_labels(y_score, -1, labels, "y_score", "labels")
    y_score = check_array(y_score, dtype=[np.float64, np.float32], input_name="y_score")
    check_consistent_length(y_true, y_score)
    if len(labels) != y_score.shape[1] or len(np.unique(labels)) < len(labels):
        raise ValueError(
            f"y_score has {y_score.shape[1]} columns, but the labels are "
            f"{labels.tolist()}. Set labels to one distinct label per column, for "
            "example classes_ of the classifier."
        )
    unknown = [label for label in found.tolist() if label not in labels.tolist()]
    if unknown:
        raise ValueError(
            f"y_true contains {unknown}, which are not in labels={labels.tolist()}."
        )
    correct = labels[y_score.argmax(axis=1)] == y_true
    confidences = y_score.max(axis=1)
    weights = check_sample_weight(sample_weight, confidences)
    # Samples of weight zero are omitted: their thresholds could lead to 0 / 0.
    seen = weights > 0
    thresholds, which = np.unique(confidences[seen], return_inverse=True)
    weights = weights[seen]
    totals = np.bincount(which, weights)
    hits = np.bincount(which, weights * correct[seen])
    # Sums from the largest confidence down: the last accuracies are means of few
    # samples, and differences of large sums would not be precise.
    accuracies = np.cumsum(hits[::-1])[::-1] / np.cumsum(totals[::-1])[::-1]
    rejected = np.concatenate([[0.0], np.cumsum(totals)])
    return accuracies, rejected[:-1] / rejected[-1], thresholds
