"""SQFA with the regularisation chosen by cross-validation."""

from skgeom._filters.docs import FILTER_DOCS
from skgeom._filters.regularization_cv import RegularizationCV
from skgeom._filters.sqfa import BaseSQFA
from skgeom.utils._docs import substitute_docs


@substitute_docs(**FILTER_DOCS)
class SQFACV(RegularizationCV, BaseSQFA):
    r"""SQFA with the regularisation chosen by cross-validation of a classifier.

    For each fold, the statistics of its classes are computed once, and the filters of
    each value of :math:`\sigma^2` are sought from those of the next larger one. The
    classifier is fitted to the features of the training part and scored on those of the
    rest. The value with the best mean score then serves for a fit to all samples, which
    is that of ``SQFA(regularization=...)``.

    Parameters
    ----------
    n_components : int, default=2
        Number m of filters, at most ``n_features``.
    {regularizations}
    {cv}
    {classifier}
    {scoring}
    distance : str, StudentT or callable, default="fisher-rao"
        Distance between two classes, as for :class:`SQFA`.
    {squared}
    {constraint}
    {covariance_estimator}
    {class_weight}
    {init}
    {n_init}
    {group_size}
    {optimizer}
    {max_iter}
    {tol}
    {random_state}
    {verbose}

    Attributes
    ----------
    {chosen_regularization_}
    {best_score_}
    {cv_results_}
    {components_}
    {objective_}
    {statistics_}
    {classes_}
    {n_iter_}
    {n_features_in_}
    {feature_names_in_}

    See Also
    --------
    SQFA : With a given regularisation, or an automatic one.
    sklearn.model_selection.GridSearchCV : For any other parameter.

    Notes
    -----
    The filters of the folds are sought with a tolerance of 1e-3, or ``tol`` if that is
    larger, and from fewer starts than those of :class:`SQFA`, so that their scores may
    differ a little from those of a grid search.

    The folds are spread over threads, except for code of the user: a distance that is a
    function, a ``covariance_estimator``, a classifier other than
    :class:`~sklearn.discriminant_analysis.QuadraticDiscriminantAnalysis`, or a scorer
    that is a function. These run in the thread that calls.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.preprocessing import StandardScaler
    >>> from skgeom import SQFACV
    >>> X, y = load_wine(return_X_y=True)
    >>> sqfa = SQFACV(2, random_state=0).fit(StandardScaler().fit_transform(X), y)
    >>> bool(sqfa.best_score_ > 0.97)
    True
    """

    _parameter_constraints = {
        **BaseSQFA._parameter_constraints,
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
        distance="fisher-rao",
        squared=False,
        constraint="unit-norm",
        covariance_estimator="auto",
        class_weight=None,
        init="auto",
        n_init="auto",
        group_size=None,
        optimizer="lbfgs",
        max_iter=500,
        tol=1e-6,
        random_state=None,
        verbose=0,
    ):
        self.n_components = n_components
        self.regularizations = regularizations
        self.cv = cv
        self.classifier = classifier
        self.scoring = scoring
        self.distance = distance
        self.squared = squared
        self.constraint = constraint
        self.covariance_estimator = covariance_estimator
        self.class_weight = class_weight
        self.init = init
        self.n_init = n_init
        self.group_size = group_size
        self.optimizer = optimizer
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.verbose = verbose
