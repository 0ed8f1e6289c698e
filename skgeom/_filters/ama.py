"""Accuracy maximisation analysis with Gaussian responses, AMA-Gauss."""

from dataclasses import replace
from functools import partial
from numbers import Integral

import numpy as np
from sklearn.base import _fit_context
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data

from skgeom._filters.base import BaseFilters, ClassMoments, independent_directions
from skgeom._filters.docs import FILTER_DOCS
from skgeom._filters.filter_search import PooledCovariances
from skgeom._statistics import ClassStatistics
from skgeom.objectives import DISTANCES, MeanInformation, MeanPairwiseDistance
from skgeom.utils._docs import substitute_docs
from skgeom.utils._sklearn import with_callbacks
from skgeom.utils._undo import all_or_nothing
from skgeom.utils._validation import check_priors

# Starts of the search for the filters of SQFA from which this one starts.
_N_INIT_OF_SQFA = 4


@substitute_docs(**FILTER_DOCS)
class AMAGauss(BaseFilters):
    r"""Accuracy maximisation analysis with Gaussian responses.

    Learns linear filters for which a quadratic decoder does best: the features of each
    class are taken as Gaussian, and the columns of F maximise the mean over the samples
    of the log posterior of the correct class,

    .. math::

       \max_F \; \frac1N \sum_k \log p(y_k \mid F^\top x_k), \qquad
       p(i \mid z) \propto \pi_i \,
       \mathcal{N}(z; F^\top \gamma_i, F^\top \Phi_i F + \sigma^2 I)

    with the class means :math:`\gamma_i` and covariances :math:`\Phi_i` (appendix E.2
    of [1]_, after [2]_). Unlike that of :class:`SQFA`, this objective uses all
    classes together, and every sample each time it is evaluated, so that it is a
    slower method with a more accurate result.

    Parameters
    ----------
    n_components : int, default=2
        Number m of filters, at most ``n_features``.
    {regularization}
    {constraint}
    {covariance_estimator}
    init : str or array-like of shape (n_components, n_features), default="auto"
        Where to start: ``"auto"``, the filters of :class:`SQFA` with the Hellinger
        distance, which are close already; ``"pca"``, the leading principal axes;
        ``"lda"``, the linear discriminants, completed by principal axes; ``"random"``;
        or given filters.
    n_init : "auto" or int, default="auto"
        Number of starts, of which the best is followed to the end. Those that ``init``
        does not name are random. ``"auto"`` is 10 for ``init="random"`` and otherwise
        1.
    {group_size}
    {optimizer}
    {max_iter}
    {tol}
    priors : "uniform", "empirical", None or array-like, default="uniform"
        Prior probabilities :math:`\pi_i`: ``"uniform"``, equal; ``"empirical"`` or
        None, the proportions of the classes in y; or an array of shape (n_classes,) of
        sum one, in the order of ``classes_``.
    batch_size : int or None, default=None
        If given, the size of the batches of samples for stochastic gradient steps,
        which shorten when an epoch no longer raises the objective; ``optimizer`` and
        ``tol`` are then not used, and ``max_iter`` and ``n_iter_`` count epochs. It is
        worthwhile beyond about 100,000 samples; the result is a little less exact.
    {random_state}
    {verbose}

    Attributes
    ----------
    {components_}
    objective_ : float
        The mean log posterior, in nats, that they reach. The search maximises the
        information gained, which is this minus the mean log prior; ``tol`` is relative
        to it, and ``verbose`` prints it.
    priors_ : ndarray of shape (n_classes,)
        The prior probabilities that were used.
    {regularization_}
    {classes_}
    {n_iter_}
    {n_features_in_}
    {feature_names_in_}

    See Also
    --------
    SQFA : Maximises distances between the classes, from their statistics alone.
    sklearn.discriminant_analysis.QuadraticDiscriminantAnalysis : The decoder.

    Notes
    -----
    The paper adds a sample of the noise to the features as well as its variance to the
    covariances; the authors' own objective does the latter only, as this one does.

    References
    ----------
    .. [1] D. Herrera-Esposito and J. Burge, "Supervised Quadratic Feature Analysis:
       Information Geometry for Dimensionality Reduction", 2025.
    .. [2] P. Jaini and J. Burge, "Linking normative models of natural tasks to
       descriptive models of neural response", Journal of Vision 17(12), 2017.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from skgeom import AMAGauss
    >>> X, y = load_wine(return_X_y=True)
    >>> model = make_pipeline(
    ...     StandardScaler(),
    ...     AMAGauss(2, random_state=0),
    ...     QuadraticDiscriminantAnalysis(),
    ... )
    >>> bool(model.fit(X, y).score(X, y) > 0.98)
    True
    """

    _value_name = "information"
    _parameter_constraints = {
        **BaseFilters._parameter_constraints,
        "priors": [None, StrOptions({"uniform", "empirical"}), "array-like"],
        "batch_size": [None, Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self,
        n_components=2,
        *,
        regularization="auto",
        constraint="unit-norm",
        covariance_estimator=None,
        init="auto",
        n_init="auto",
        group_size=None,
        optimizer="lbfgs",
        max_iter=500,
        tol=1e-6,
        priors="uniform",
        batch_size=None,
        random_state=None,
        verbose=0,
    ):
        self.n_components = n_components
        self.regularization = regularization
        self.constraint = constraint
        self.covariance_estimator = covariance_estimator
        self.init = init
        self.n_init = n_init
        self.group_size = group_size
        self.optimizer = optimizer
        self.max_iter = max_iter
        self.tol = tol
        self.priors = priors
        self.batch_size = batch_size
        self.random_state = random_state
        self.verbose = verbose

    @with_callbacks
    @_fit_context(prefer_skip_nested_validation=True)
    @all_or_nothing
    def fit(self, X, y):
        """Learn the filters from samples.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The samples; not modified.
        y : array-like of shape (n_samples,)
            Their class labels, of at least two classes.

        Returns
        -------
        self
            This object, fitted.

        Raises
        ------
        ValueError
            If X or y is malformed, if there is one class only, if ``n_components``
            exceeds the number of features, if ``init`` or ``priors`` does not fit, if,
            without regularisation, a class covariance is singular, or if the objective
            is not finite.

        Warns
        -----
        ConvergenceWarning
            If a search does not end within ``max_iter`` iterations.
        UserWarning
            If the filters found are linearly dependent.
        """
        X, y = validate_data(self, X, y, dtype=[np.float64, np.float32])
        check_classification_targets(y)
        self.classes_, labels = np.unique(y, return_inverse=True)
        self._check_sizes(self.classes_)
        statistics = ClassStatistics._from_valid_data(X, y, self.covariance_estimator)
        self.priors_ = check_priors(self.priors, statistics.counts)
        pooled = PooledCovariances(*statistics.pooled_covariances())
        moments = ClassMoments(statistics.means, statistics.covariances, pooled)
        regularization = self._regularization_of(pooled)
        span_only = self._is_negligible(regularization, statistics, moments)
        search = self._search(regularization, span_only)
        if isinstance(self.init, str) and self.init == "auto":
            search = replace(
                search,
                init="random",
                n_init=search.n_init - 1,
                warm_start=self._filters_of_sqfa(search, moments),
            )
        if self.batch_size is not None:
            # Batches and random starts have one source of random numbers.
            rng = check_random_state(self.random_state)
            maximize = partial(search.maximize, batches=(self.batch_size, rng))
            search = replace(search, random_state=rng, maximize=maximize)
        log_priors = np.log(self.priors_)
        objective = MeanInformation(
            X, labels, moments.means, moments.covariances, regularization, log_priors
        )
        self._maximize(objective, search, pooled, X, y)
        # From the information to the log posterior.
        self.objective_ += log_priors[labels].mean()
        return self

    def _filters_of_sqfa(self, search, moments):
        """Filters of SQFA with the Hellinger distance."""
        search = replace(search, n_init=_N_INIT_OF_SQFA)
        objective = MeanPairwiseDistance(
            moments.means,
            moments.covariances,
            search.regularization,
            DISTANCES["hellinger"],
        )
        filters, _ = search.run(objective, moments.pooled)
        if independent_directions(filters) < self.n_components:
            # Filters that are equal have equal gradients, and would remain so.
            search = replace(search, constraint="orthonormal")
            filters, _ = search.run(objective, moments.pooled)
        return filters

    def _n_starts(self):
        if isinstance(self.init, str) and (self.init, self.n_init) == ("auto", "auto"):
            return 1
        return super()._n_starts()
