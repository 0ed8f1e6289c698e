"""AMA-Gauss with the regularisation chosen by cross-validation."""

from skgeom._filters.ama import BaseAMAGauss
from skgeom._filters.docs import FILTER_DOCS
from skgeom._filters.regularization_cv import RegularizationCV
from skgeom.utils.estimator import substitute_docs


@substitute_docs(**FILTER_DOCS)
class AMAGaussCV(RegularizationCV, BaseAMAGauss):
    r"""AMA-Gauss with the regularisation chosen by cross-validation of a classifier.

    It is to :class:`AMAGauss` what :class:`SQFACV` is to :class:`SQFA`: for each fold,
    the filters of each value of :math:`\sigma^2` are sought from those of the next
    larger one, and the classifier is scored on the rest. The value with the best mean
    score then serves for a fit to all samples.

    Parameters
    ----------
    {n_components}
    {regularizations}
    {cv}
    {classifier}
    {scoring}
    {constraint}
    {covariance_estimator}
    {init_of_ama}
    {n_init_of_ama}
    {group_size}
    {optimizer}
    {max_iter}
    {tol}
    {priors}
    {class_weight_of_samples}
    {batch_size}
    {random_state}
    {verbose}

    Attributes
    ----------
    {chosen_regularization_}
    {best_score_}
    {cv_results_}
    {components_}
    {log_posterior_}
    {statistics_}
    {priors_}
    {classes_}
    {n_iter_}
    {n_features_in_}
    {feature_names_in_}

    See Also
    --------
    AMAGauss : With a given regularisation, or an automatic one.
    SQFACV : The same for SQFA, which is faster.

    Notes
    -----
    The filters of the folds are sought with a tolerance of 1e-3, or ``tol`` if that is
    larger. The folds are spread over threads, and their samples scored, as those of
    :class:`SQFACV`.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.preprocessing import StandardScaler
    >>> from skgeom import AMAGaussCV
    >>> X, y = load_wine(return_X_y=True)
    >>> ama = AMAGaussCV(2, cv=3, random_state=0)
    >>> ama = ama.fit(StandardScaler().fit_transform(X), y)
    >>> bool(ama.best_score_ > 0.95)
    True
    """

    _parameter_constraints = {
        **BaseAMAGauss._parameter_constraints,
        **RegularizationCV._parameter_constraints,
    }
    _parameter_constraints.pop("regularization")

    def __init__(
        self,
        n_components=2,
        *,
        regularizations=10,
        cv=None,
        classifier=None,
        scoring=None,
        constraint="unit-norm",
        covariance_estimator="auto",
        init="auto",
        n_init="auto",
        group_size=None,
        optimizer="lbfgs",
        max_iter=500,
        tol=1e-6,
        priors="uniform",
        class_weight=None,
        batch_size=None,
        random_state=None,
        verbose=0,
    ):
        self.n_components = n_components
        self.regularizations = regularizations
        self.cv = cv
        self.classifier = classifier
        self.scoring = scoring
        self.constraint = constraint
        self.covariance_estimator = covariance_estimator
        self.init = init
        self.n_init = n_init
        self.group_size = group_size
        self.optimizer = optimizer
        self.max_iter = max_iter
        self.tol = tol
        self.priors = priors
        self.class_weight = class_weight
        self.batch_size = batch_size
        self.random_state = random_state
        self.verbose = verbose
