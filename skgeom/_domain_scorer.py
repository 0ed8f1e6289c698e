"""Scorer for classifiers whose predictions require the domain of each sample."""

from copy import copy
from functools import partial, wraps
from inspect import signature

from sklearn.metrics import make_scorer
from sklearn.utils.metadata_routing import MetadataRequest

from skgeom.utils._sklearn import StrOptions, validated_parameters
from skgeom.utils.warn import warn_user


@validated_parameters(
    score_func="no_validation",
    response_method=[StrOptions({"predict", "predict_proba", "decision_function"})],
    adapt=["boolean"],
    greater_is_better=["boolean"],
)
def make_domain_scorer(
    score_func,
    *,
    response_method="predict",
    adapt=False,
    greater_is_better=True,
    **kwargs,
):
    """Make a scorer that passes the domain of each sample to the predictions.

    The scorers of scikit-learn do not pass metadata to ``predict``. Use this scorer in
    ``cross_validate``, ``cross_val_score`` and ``GridSearchCV`` to pass the domain.
    Enable metadata routing first.

    Parameters
    ----------
    score_func : callable
        Function of the true labels and the predictions, such as
        :func:`sklearn.metrics.cohen_kappa_score`.
    response_method : {"predict", "predict_proba", "decision_function"}, \
            default="predict"
        Method of the estimator that returns the predictions. For two classes,
        ``score_func`` receives only the probability of the positive class, or the
        decision values for this class, as from :func:`sklearn.metrics.make_scorer`. The
        positive class is the argument ``pos_label`` of ``score_func`` or, if it is None
        or does not exist, the second class.
    adapt : bool, default=False
        Whether to call the method ``adapt`` of a copy of the estimator before the
        predictions, with the scored samples and without their labels.
    greater_is_better : bool, default=True
        False for a loss, such as :func:`sklearn.metrics.log_loss`: the scorer then
        returns the negative value.
    **kwargs : dict
        Additional arguments of ``score_func``. If its default ``pos_label=1`` is not a
        class, pass ``pos_label``, unless ``average`` is an average over the classes.

    Returns
    -------
    scorer : callable
        Function ``scorer(estimator, X, y, domain=None)``. It requests the metadata
        ``domain``.

    Raises
    ------
    TypeError
        If ``score_func`` is not callable.
    ValueError
        If ``response_method`` is unknown. The returned scorer also raises a ValueError
        if ``adapt`` is True and the estimator has no method ``adapt``.

    Warns
    -----
    UserWarning
        By the returned scorer, if it received no ``domain``.

    See Also
    --------
    TransferDiscriminantAnalysis : Classifier of SPD matrices from several domains.

    Examples
    --------
    Compute Cohen's kappa on held-out subjects, with adaptation to each subject:

    >>> import numpy as np
    >>> import sklearn
    >>> from sklearn.metrics import cohen_kappa_score
    >>> from sklearn.model_selection import LeaveOneGroupOut, cross_val_score
    >>> from skgeom import TransferDiscriminantAnalysis, make_domain_scorer
    >>> from skgeom.datasets import make_spd_classes
    >>> X, y = make_spd_classes(2, 60, 3, random_state=0)
    >>> subject = np.arange(len(y)) % 3
    >>> scorer = make_domain_scorer(cohen_kappa_score, adapt=True)
    >>> with sklearn.config_context(enable_metadata_routing=True):
    ...     scores = cross_val_score(
    ...         TransferDiscriminantAnalysis(), X, y, scoring=scorer,
    ...         cv=LeaveOneGroupOut(), params={"domain": subject, "groups": subject},
    ...     )
    >>> scores.shape
    (3,)
    """
    if not callable(score_func):
        raise TypeError(
            "score_func of make_domain_scorer must be a function of the labels and the "
            f"predictions, such as sklearn.metrics.balanced_accuracy_score, not "
            f"{score_func!r}."
        )
    is_average = kwargs.get("average", "binary") != "binary"
    if is_average and response_method == "predict":
        if "pos_label" in signature(score_func).parameters:
            # Averages over the classes ignore it, but scikit-learn checks its default.
            kwargs = {"pos_label": None} | kwargs
    scorer = make_scorer(
        score_func,
        response_method=response_method,
        greater_is_better=greater_is_better,
        **kwargs,
    )
    return _DomainScorer(scorer, response_method, adapt)


class _DomainScorer:
    def __init__(self, scorer, response_method, adapt):
        self.scorer = scorer
        self.response_method = response_method
        self.adapt = adapt

    def __call__(self, estimator, X, y, domain=None):
        metadata = {} if domain is None else {"domain": domain}
        if domain is None:
            warn_user(
                "The scorer received no domain, so all test samples are one domain. "
                "Call sklearn.set_config(enable_metadata_routing=True), and pass "
                'params={"domain": domain} to cross_validate, or domain=domain to fit '
                "of a grid search.",
                UserWarning,
            )
        estimator = copy(getattr(estimator, "best_estimator_", estimator))
        if self.adapt:
            if not hasattr(estimator, "adapt"):
                raise ValueError(
                    "adapt=True requires an estimator with a method adapt, such as "
                    "TransferDiscriminantAnalysis. Use adapt=False for "
                    f"{type(estimator).__name__}, or compute the covariances before "
                    "the cross-validation and pass TransferDiscriminantAnalysis alone."
                )
            estimator.adapt(X, **metadata)
        # The scorer of scikit-learn calls this method of the copy with X only.
        method = getattr(estimator, self.response_method)
        with_domain = wraps(method)(partial(method, **metadata))
        setattr(estimator, self.response_method, with_domain)
        return self.scorer(estimator, X, y)

    def get_metadata_routing(self):
        """Return the metadata request of the scorer for ``domain``."""
        requests = MetadataRequest(owner=self)
        requests.score.add_request(param="domain", alias=True)
        return requests
