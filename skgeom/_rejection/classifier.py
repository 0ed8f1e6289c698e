"""Classification with rejection of samples whose best class is too improbable."""

from numbers import Integral, Real

import numpy as np
from sklearn import get_config
from sklearn.base import (
    BaseEstimator,
    ClassifierMixin,
    MetaEstimatorMixin,
    clone,
)
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import check_cv
from sklearn.utils import Bunch, get_tags, indexable
from sklearn.utils._param_validation import HasMethods, Interval
from sklearn.utils.metadata_routing import (
    MetadataRouter,
    MethodMapping,
    process_routing,
)
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import (
    assert_all_finite,
    check_consistent_length,
    check_is_fitted,
    column_or_1d,
    has_fit_parameter,
)

from skgeom._rejection.curve import threshold_of_rate
from skgeom._rejection.guarantee import threshold_of_error
from skgeom._rejection.label import with_reject_label
from skgeom.utils._dask import refuse_dask
from skgeom.utils.array_api import (
    ARRAY_API,
    check_holds_numbers,
    check_same_namespace,
    is_dask,
    is_dispatched,
    move_attributes,
    namespace,
    numbers_like,
    on_host,
    to_numpy,
)
from skgeom.utils.estimator import check_method_params, estimator_method, safe_split
from skgeom.utils.validation import check_sample_weight, check_two_classes


def _has(method):
    """Whether the wrapped classifier has a method, for ``available_if``."""

    def check(self):
        # If the method is missing, this raises the error of the wrapped classifier.
        getattr(getattr(self, "estimator_", self.estimator), method)
        return True

    return check


class RejectionClassifier(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):
    r"""Classifier that rejects samples for which no class is probable enough.

    A sample is given its most probable class if the probability of that class is at
    least ``threshold_``, and otherwise the label ``reject_label_``. With calibrated
    probabilities and a threshold t, this is the optimal rule of Chow [1]_ for a
    rejection that costs 1 - t times as much as an error.

    Parameters
    ----------
    estimator : classifier
        The classifier. It must have ``predict_proba``; wrap it in a
        :class:`~sklearn.calibration.CalibratedClassifierCV` if it has none. A clone of
        it is fitted. To use a classifier that is fitted already, wrap it in a
        :class:`~sklearn.frozen.FrozenEstimator`.
    threshold : float or None, default=None
        The smallest probability with which a class is predicted, between 0 and 1. None
        means 0.5, unless ``rejection_rate`` or ``target_error`` is given.
    rejection_rate : float or None, default=None
        Fraction of the samples to reject, between 0 and 1. The threshold is found from
        it, see Notes.
    target_error : float or None, default=None
        Largest fraction of errors among the samples that are not rejected, between 0
        and 1. The threshold is found from it, see Notes. Of this, ``threshold`` and
        ``rejection_rate``, only one can be given.
    confidence_level : float, default=0.95
        Probability with which ``target_error`` is met, between 0 and 1.
    reject_label : str, number or None, default=None
        What is predicted for rejected samples; it must not be a class. None means
        "rejected" if the classes are strings. If they are numbers, it means -1, or one
        less than the smallest class if that is negative.
    cv : int, cross-validation generator or iterable, default=None
        How folds are made for ``rejection_rate`` and ``target_error``, as in
        scikit-learn. None means 10 stratified folds, or as many as the smallest class
        has samples, but at least 5.
    n_jobs : int or None, default=None
        Number of folds that are fitted in parallel, as in scikit-learn.

    Attributes
    ----------
    estimator_ : classifier
        The fitted classifier.
    threshold_ : float
        The smallest probability with which a class is predicted. It is infinite, and
        all samples are rejected, if no threshold meets ``target_error``.
    reject_label_ : str, number or object
        The label that :meth:`predict` returns for rejected samples.
    classes_ : ndarray of shape (n_classes,)
        The class labels; the reject label is not one of them.
    n_features_in_ : int
        Number of features seen during fit, if the classifier has this attribute.
    feature_names_in_ : ndarray of shape (``n_features_in_``,)
        Names of the features seen during fit, if the classifier has this attribute.

    See Also
    --------
    accuracy_rejection_curve : Accuracy of the samples that are kept, by threshold.
    skgeom.plotting.AccuracyRejectionDisplay : Plot of that curve.
    sklearn.calibration.CalibratedClassifierCV : Calibrates probabilities.

    Notes
    -----
    With ``rejection_rate`` and ``target_error``, the probabilities of each training
    sample come from a clone of the classifier that was fitted without the fold of the
    sample. Probabilities of samples that a classifier was trained with are too large.
    Finally, the classifier is fitted to all samples. For a
    :class:`~sklearn.frozen.FrozenEstimator` there are no folds. The threshold is found
    from its probabilities of the samples given to :meth:`fit`, which should not be the
    samples that it was trained with.

    For ``rejection_rate``, the threshold lies half-way between two neighbouring
    confidences. Samples of equal confidence are not separated: the fraction of the
    samples (of the total weight, if there are sample weights) that is below the
    threshold is the one nearest to the wanted rate, and of two that are as near the
    smaller one. The largest confidence is never rejected. If no sample is, the
    threshold lies half-way between the smallest confidence and ``1 / n_classes``, the
    confidence of a guess.

    For ``target_error``, up to 20 thresholds are tested, at confidences of fixed ranks.
    A threshold passes if the upper confidence limit of Clopper and Pearson for the
    error among the accepted samples is at most the target. The risk
    ``1 - confidence_level`` is shared equally by the tests, as in [2]_. The smallest
    threshold that passes is used. With a frozen classifier, and samples that are drawn
    independently like those to come, this is a guarantee: with probability
    ``confidence_level`` over the draw of these samples, the classifier makes errors in
    at most the fraction ``target_error`` of the accepted samples to come. With folds,
    the classifiers that are tested saw a part of the samples, and the final one saw
    all. Then it is no strict guarantee, but the final one is usually the better one.
    The smallest number of samples that can meet a target of .05 at the level .95 is
    59. If no threshold passes, there is a warning, and all samples are rejected.

    If the classes are numbers, the reject label must be a number; if they are strings,
    a string. Classes of type object allow any label. The predictions have a type that
    holds the classes and the reject label: integers stay integers unless the label is
    a fraction or NaN, and the classes False and True become 0 and 1.

    References
    ----------
    .. [1] C. K. Chow, "On optimum recognition error and reject tradeoff", IEEE
       Transactions on Information Theory 16(1), 41-46, 1970.
    .. [2] Y. Geifman and R. El-Yaniv, "Selective classification for deep neural
       networks", Advances in Neural Information Processing Systems 30, 2017.

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
    0.654...
    """

    _parameter_constraints = {
        "estimator": [HasMethods(["fit"])],
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
    @estimator_method(nested_validation=True)
    def fit(self, X, y, sample_weight=None, **fit_params):
        """Fit the classifier and, if a rate or an error is given, find the threshold.

        Parameters
        ----------
        X : array-like of shape (n_samples, ...)
            The samples, of any shape that the classifier accepts.
        y : array-like of shape (n_samples,)
            Their class labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the samples, for the classifier and for the rejection rate. Not
            with ``target_error``, which counts samples.
        **fit_params : dict
            Further parameters of the classifier's ``fit``. Those with one entry per
            sample are split into folds like the samples.

        Returns
        -------
        self
            This object, fitted.

        Raises
        ------
        ValueError
            If the classifier has no ``predict_proba``, if more than one of
            ``threshold``, ``rejection_rate`` and ``target_error`` are given, if the
            reject label is a class or of another kind than the classes, if there is one
            class only, if a sample has no label or several, if there are sample weights
            that the classifier does not accept, or with ``target_error``, if its
            probabilities are NaN, or if ``cv`` tests a sample twice for
            ``target_error``; and whatever the classifier raises.

        Warns
        -----
        UserWarning
            If no threshold meets ``target_error``.
        """
        self._check_parameters(sample_weight)
        name = type(self).__name__
        if X is None:
            raise ValueError(f"{name} requires X to be passed, but it is None.")
        if y is None:
            raise ValueError(
                f"{name} requires y to be passed, but the target y is None."
            )
        self._check_dask(X, y, sample_weight)
        X, y = indexable(X, y)
        check_holds_numbers(y, "y")
        check_holds_numbers(sample_weight, "sample_weight")
        labels, y = y, on_host(y)
        if len(y) == 0:
            raise ValueError("There are 0 samples: X and y are empty.")
        _check_labels(y)
        # A frozen classifier saw other samples.
        if not isinstance(self.estimator, FrozenEstimator):
            check_two_classes(np.unique(y), name)
        sample_weight = on_host(sample_weight)
        weights = check_sample_weight(sample_weight, y, ensure_non_negative=True)
        routed = self._route(sample_weight, fit_params)
        self.estimator_ = clone(self.estimator).fit(X, y, **routed.estimator.fit)
        self.classes_ = self.estimator_.classes_
        self._labels = with_reject_label(to_numpy(self.classes_), self.reject_label)
        self.reject_label_ = self._labels[-1]
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(self.estimator_, name):
                setattr(self, name, getattr(self.estimator_, name))
        self.threshold_ = self._find_threshold(X, y, weights, routed)
        # A classifier that takes such arrays returns them; text stays numpy's.
        if is_dispatched(X) and get_tags(self.estimator).array_api_support:
            move_attributes(self, X)
            if is_dispatched(labels):
                self.classes_ = numbers_like(self.classes_, labels)
        return self

    def _check_dask(self, X, y, sample_weight):
        """Raise TypeError if Dask's arrays are where others are needed."""
        for name, values in {"y": y, "sample_weight": sample_weight}.items():
            if is_dask(values):
                raise TypeError(
                    f"{type(self).__name__} needs {name} in memory, but it is a Dask "
                    f"{type(values).__name__}; give {name}.compute()."
                )
        folds = not isinstance(self.estimator, FrozenEstimator)
        if folds and not (self.rejection_rate is None and self.target_error is None):
            refuse_dask(
                self, X, "Give a threshold, or freeze a classifier that is fitted"
            )

    def _find_threshold(self, X, y, weights, routed):
        if self.rejection_rate is None and self.target_error is None:
            return 0.5 if self.threshold is None else float(self.threshold)
        confidences, correct, tested = self._validated(X, y, routed)
        if self.target_error is not None:
            if len(np.unique(tested)) < len(tested):
                raise ValueError(
                    "cv tests some samples more than once, so that their errors are "
                    "not independent. With target_error, use folds without overlap."
                )
            return threshold_of_error(
                confidences, correct, self.target_error, self.confidence_level
            )
        if not weights[tested].any():
            raise ValueError("sample_weight is zero for all samples that cv tests.")
        return threshold_of_rate(
            confidences,
            weights[tested],
            self.rejection_rate,
            1 / (len(self._labels) - 1),
        )

    def _check_parameters(self, sample_weight):
        rules = {
            name: getattr(self, name)
            for name in ("threshold", "rejection_rate", "target_error")
            if getattr(self, name) is not None
        }
        if len(rules) > 1:
            given = " and ".join(f"{name}={value}" for name, value in rules.items())
            raise ValueError(
                f"Of {given} only one can be given. Set the others to None."
            )
        if self.target_error is not None and sample_weight is not None:
            raise ValueError(
                "sample_weight cannot be used with target_error, whose guarantee is "
                "about counted samples. Freeze a classifier that was trained with "
                "weights (sklearn.frozen.FrozenEstimator), and give fit other samples."
            )
        if not hasattr(self.estimator, "predict_proba"):
            raise ValueError(
                f"{type(self.estimator).__name__} has no predict_proba. Wrap it in a "
                "sklearn.calibration.CalibratedClassifierCV, which makes probabilities "
                "of its scores."
            )

    def _route(self, sample_weight, fit_params):
        """Parameters for the classifier's fit, and for the split into folds."""
        params = dict(fit_params)
        if sample_weight is not None:
            params["sample_weight"] = sample_weight
        if get_config()["enable_metadata_routing"]:
            return process_routing(self, "fit", **params)
        frozen = isinstance(self.estimator, FrozenEstimator)
        if sample_weight is not None and not frozen:
            if not has_fit_parameter(self.estimator, "sample_weight"):
                raise ValueError(
                    f"sample_weight is given, but {type(self.estimator).__name__}.fit "
                    "takes none. Leave it out, or enable metadata routing and say "
                    "which step of a pipeline requests it."
                )
        return Bunch(estimator=Bunch(fit=params), splitter=Bunch(split={}))

    def _validated(self, X, y, routed):
        """Largest probabilities of samples that were not trained with.

        Also whether their classes are correct, and the numbers of the samples.
        """
        if isinstance(self.estimator, FrozenEstimator):
            results = [_outcomes(self.estimator_, X, y)]
            tested = np.arange(len(results[0][0]))
        else:
            cv = _n_folds(y) if self.cv is None else self.cv
            cv = check_cv(cv, y, classifier=True)
            splits = list(cv.split(X, y, **routed.splitter.split))
            results = Parallel(n_jobs=self.n_jobs)(
                delayed(_fold_outcomes)(
                    clone(self.estimator), X, y, train, test, routed.estimator.fit
                )
                for train, test in splits
            )
            tested = np.concatenate([test for _, test in splits])
        confidences, correct = map(np.concatenate, zip(*results, strict=True))
        bad = np.isnan(confidences).sum()
        if bad:
            raise ValueError(
                f"{type(self.estimator).__name__} gives NaN as probabilities of {bad} "
                f"of {len(confidences)} samples, so no threshold can be found."
            )
        return confidences, correct, tested

    def predict(self, X):
        """Predict the most probable class, or the reject label if it is too improbable.

        Parameters
        ----------
        X : array-like of shape (n_samples, ...)
            The samples.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            Their class labels, or ``reject_label_`` where the largest probability is
            below ``threshold_`` or NaN.
        """
        self._check_arrays(X, "predict")
        probabilities = self.estimator_.predict_proba(X)
        if namespace(self._labels) is not np:
            xp = namespace(probabilities)
            codes = xp.argmax(probabilities, axis=1)
            accepted = xp.max(probabilities, axis=1) >= self.threshold_
            # The reject label is the last one.
            last = xp.full_like(codes, self._labels.shape[0] - 1)
            return xp.take(self._labels, xp.where(accepted, codes, last))
        probabilities = on_host(probabilities)
        # NaN >= threshold is False, so that NaN is rejected.
        accepted = probabilities.max(axis=1) >= self.threshold_
        return self._labels[np.where(accepted, probabilities.argmax(axis=1), -1)]

    def _check_arrays(self, X, method):
        """Raise unless this is fitted, to arrays like X if it follows these."""
        check_is_fitted(self)
        if namespace(self._labels) is not np:
            check_same_namespace(X, self, attribute="_labels", method=method)

    @available_if(_has("predict_proba"))
    def predict_proba(self, X):
        """Return the classifier's probabilities of the classes.

        Parameters
        ----------
        X : array-like of shape (n_samples, ...)
            The samples.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes)
            Probabilities of all samples, also of rejected ones, in the order of
            ``classes_``.
        """
        self._check_arrays(X, "predict_proba")
        return self.estimator_.predict_proba(X)

    @available_if(_has("predict_log_proba"))
    def predict_log_proba(self, X):
        """Return the classifier's log-probabilities of the classes.

        Parameters
        ----------
        X : array-like of shape (n_samples, ...)
            The samples.

        Returns
        -------
        log_probabilities : ndarray of shape (n_samples, n_classes)
            Log-probabilities of all samples, also of rejected ones, in the order of
            ``classes_``.
        """
        self._check_arrays(X, "predict_log_proba")
        return self.estimator_.predict_log_proba(X)

    @available_if(_has("decision_function"))
    def decision_function(self, X):
        """Return the decision function of the classifier.

        Parameters
        ----------
        X : array-like of shape (n_samples, ...)
            The samples.

        Returns
        -------
        decisions : ndarray of shape (n_samples,) or (n_samples, n_classes)
            What the classifier returns for all samples, also for rejected ones.
        """
        self._check_arrays(X, "decision_function")
        return self.estimator_.decision_function(X)

    def score(self, X, y, sample_weight=None):
        """Return the fraction of all samples that are predicted correctly.

        A rejected sample counts as an error, unless its true label is the reject label.
        So the score falls as more samples are rejected. For the accuracy of the samples
        that are kept, see :func:`accuracy_rejection_curve`.

        Parameters
        ----------
        X : array-like of shape (n_samples, ...)
            The samples.
        y : array-like of shape (n_samples,)
            Their true labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the samples.

        Returns
        -------
        score : float
            The fraction, between 0 and 1.
        """
        y, sample_weight = column_or_1d(on_host(y)), on_host(sample_weight)
        predicted = on_host(self.predict(X))
        check_consistent_length(predicted, y, sample_weight)
        # accuracy_score refuses some reject labels, such as NaN.
        return float(np.average(predicted == y, weights=sample_weight))

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
        return router.add(splitter=self.cv, method_mapping=split)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        wrapped = get_tags(self.estimator)
        tags.input_tags = wrapped.input_tags
        tags.non_deterministic = wrapped.non_deterministic
        tags.array_api_support = ARRAY_API and wrapped.array_api_support
        if wrapped.classifier_tags is not None:
            tags.classifier_tags.multi_class = wrapped.classifier_tags.multi_class
            tags.classifier_tags.poor_score = wrapped.classifier_tags.poor_score
        return tags


def _check_labels(y):
    """Raise ValueError unless y has one class label per sample."""
    assert_all_finite(y, input_name="y")
    kind = type_of_target(y, input_name="y")
    if kind not in ("binary", "multiclass"):
        raise ValueError(
            f"Unknown label type: {kind}. y must hold one class label a sample."
        )


def _n_folds(y):
    """Number of folds: many, so that their classifiers are like the final one."""
    smallest = np.unique(y, return_counts=True)[1].min()
    return int(np.clip(smallest, 5, 10))


def _fold_outcomes(classifier, X, y, train, test, fit_params):
    """Outcomes in the test part, after a fit to the training part."""
    X_train, y_train = safe_split(classifier, X, y, train)
    X_test, y_test = safe_split(classifier, X, y, test, train)
    params = check_method_params(X, fit_params, indices=train)
    classifier.fit(X_train, y_train, **params)
    return _outcomes(classifier, X_test, y_test)


def _outcomes(classifier, X, y):
    """Largest probability of each sample, and whether its class is correct."""
    probabilities = on_host(classifier.predict_proba(X))
    predicted = to_numpy(classifier.classes_)[probabilities.argmax(axis=1)]
    return probabilities.max(axis=1), predicted == np.asarray(column_or_1d(y))
