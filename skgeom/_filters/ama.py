"""Accuracy maximisation analysis with Gaussian responses, AMA-Gauss."""

from dataclasses import replace
from functools import partial
from numbers import Integral

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions

from skgeom._filters.base import BaseFilters, ClassMoments
from skgeom._filters.block_information import BlockInformation
from skgeom._filters.class_weight import factors_of_samples, weights_of_samples
from skgeom._filters.docs import FILTER_DOCS
from skgeom._filters.filter_search import PooledCovariances, independent_directions
from skgeom.objectives import DISTANCES, MeanInformation, MeanPairwiseDistance
from skgeom.optim import maximize_over_many_samples, sizes_of_parts, within
from skgeom.utils._dask import row_blocks
from skgeom.utils.array_api import is_dask, like, take, to_numpy
from skgeom.utils.estimator import current_progress, estimator_method, substitute_docs
from skgeom.utils.linalg import WholeSpace
from skgeom.utils.validation import check_priors

# Starts of the search for the filters of SQFA from which this one starts.
_N_INIT_OF_SQFA = 4
# Filters made for the samples themselves, and not for their statistics, fit them more
# closely, and need more noise; how much was found by trial.
_NOISE_FACTOR = 3


class BaseAMAGauss(BaseFilters):
    """Filters that maximise the mean log posterior of the samples."""

    _value_name = "information"
    _parallel = True
    _uses_samples = True
    distance = "hellinger"  # between classes, of the filters that it starts from
    _of_distances = ("distance",)
    _parameter_constraints = {
        **BaseFilters._parameter_constraints,
        "priors": [None, StrOptions({"uniform", "empirical"}), "array-like"],
        "batch_size": [None, Interval(Integral, 1, None, closed="left")],
        "class_weight": [StrOptions({"balanced"}), dict, None],
    }

    def _fit(self, statistics, space, y, regularization=None):
        """Learn the filters from samples in a space, and their statistics."""
        current_progress().start(space.X, y)
        moments = self._moments(statistics)
        start = None
        if regularization is None:
            regularization, start = self._regularization_of(
                statistics, moments, space.samples, y
            )
        objective, search = self._problem(statistics, moments, regularization, space, y)
        search = self._started(search, moments, start)
        self.classes_ = statistics.classes
        self.priors_ = like(check_priors(self.priors, statistics.counts), space.X)
        filters = self._maximize(objective, search, moments.pooled, space, y)
        # From the information to the log posterior.
        self.objective_ = float(self.objective_ + objective.mean_log_prior)
        self._set_statistics(statistics, filters, space)
        return self

    def _regularization_of(self, statistics, moments, *sample):
        """That of SQFA, times a factor where it is automatic."""
        value, start = super()._regularization_of(statistics, moments, *sample)
        if self.regularization == "auto":
            value *= _NOISE_FACTOR
        return value, start

    def _moments(self, statistics):
        pooled = PooledCovariances(*map(to_numpy, statistics.pooled_covariances()))
        return ClassMoments(to_numpy(statistics.means), statistics.covariances, pooled)

    def _problem(self, statistics, moments, regularization, space, y):
        """The objective, and the search for its maximum."""
        priors = check_priors(self.priors, statistics.counts)
        samples, weights = space.samples, weights_of_samples(self.class_weight, y)
        if weights is not None and not np.all(weights):
            # Parts of them must not be of no weight.
            counted = weights > 0
            samples, y = take(samples, counted), y[counted]
            weights = weights[counted]
        objective = MeanInformation(
            samples,
            np.searchsorted(statistics.classes, y),
            moments.means,
            moments.covariances,
            regularization,
            np.log(priors),
            weights=weights,
        )
        span_only = self._is_negligible(regularization, statistics, moments)
        search = self._search(regularization, span_only, space)
        if self.batch_size is not None:
            search = self._in_batches(search, self.batch_size)
        elif self.optimizer == "lbfgs":
            n_entries = self._n_filters * samples.shape[1]
            if len(sizes_of_parts(len(y), n_entries)) > 1:
                maximize = partial(
                    maximize_over_many_samples, max_iter=self.max_iter, tol=self.tol
                )
                search = replace(search, maximize=maximize)
        return objective, search

    def _in_batches(self, search, batch_size):
        """The search by stochastic ascent."""
        # Batches and random starts have one source of random numbers.
        rng = check_random_state(self.random_state)
        maximize = partial(search.maximize, batches=(batch_size, rng))
        return replace(search, random_state=rng, maximize=maximize)

    def _started(self, search, moments, start=None):
        """The search from filters of SQFA, unless ``init`` names other ones."""
        if not search.starts_anywhere:
            return search
        if start is None or independent_directions(start) < self._n_filters:
            start = self._filters_of_sqfa(search, moments)
        return replace(
            search, init="random", n_init=search.n_init - 1, warm_start=start
        )

    def _filters_of_sqfa(self, search, moments):
        """Filters of SQFA with the Hellinger distance."""
        search = self._search(search.regularization, search.span_only)
        # Filters that are equal have equal gradients, and would remain so.
        search = replace(search, n_init=_N_INIT_OF_SQFA, distinct=True)
        objective = self._objective(moments, search.regularization)
        report = within("SQFA", self._reporter("distance", lambda filters: None))
        filters, _ = search.run(objective, moments.pooled, report)
        return filters

    def _objective(self, moments, regularization):
        """That of SQFA with the Hellinger distance."""
        return MeanPairwiseDistance(
            moments.means,
            moments.covariances,
            regularization,
            DISTANCES[self.distance],
        )

    def _objective_reached(self):
        return np.nan  # the samples are not kept

    def _n_starts(self):
        if isinstance(self.init, str) and (self.init, self.n_init) == ("auto", "auto"):
            return 1
        return super()._n_starts()


@substitute_docs(**FILTER_DOCS)
class AMAGauss(BaseAMAGauss):
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
    classes together, and every sample: often a little more accurate, and slower with
    many samples.

    Parameters
    ----------
    {n_components}
    {regularization}
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
    {components_}
    {log_posterior_}
    {statistics_}
    {priors_}
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
    With 64,000 samples or more, and 800 for each entry of the filters, the search
    begins with a fixed random part of them, which grows to all; ``tol`` is then at
    least 1e-5. That is so for ``optimizer="lbfgs"`` and without ``batch_size``.

    There is no ``partial_fit``, since every iteration needs all samples, not their
    statistics alone. Samples that come in blocks can be a Dask array.

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

    def __init__(
        self,
        n_components=2,
        *,
        regularization="auto",
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
        self.class_weight = class_weight
        self.batch_size = batch_size
        self.random_state = random_state
        self.verbose = verbose

    @estimator_method
    def fit(self, X, y):
        """Learn the filters from samples.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples; not modified. Those of a Dask array are read once for their
            statistics and the 10,000 samples that choose an automatic regularisation,
            and once in each epoch of stochastic ascent, in which each block makes a
            step. Sparse ones are made dense in blocks of rows.
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
        if is_dask(X):
            return self._fit_blocks(X, y)
        X, y = self._validated(X, y)
        self._check_sizes(np.unique(y))
        space = self._space_of(X)
        return self._fit(self._statistics_of(space.samples, y), space, y)

    def _fit_blocks(self, X, y):
        """Learn the filters from the blocks of a Dask array or frame."""
        if self.batch_size is not None:
            raise ValueError(
                "Of Dask data, each block is a batch: make X of chunks of that many "
                f"rows, and set batch_size=None instead of {self.batch_size}."
            )
        statistics, sample = self._statistics_of_blocks(X, y, None)
        moments = self._moments(statistics)
        space = WholeSpace()
        current_progress().start()
        regularization, start = self._regularization_of(statistics, moments, *sample)
        del sample
        self.classes_ = statistics.classes
        self.priors_ = check_priors(self.priors, statistics.counts)
        objective = BlockInformation(
            [block[:2] for block in row_blocks(X, y)],
            statistics,
            regularization,
            np.log(self.priors_),
            factors_of_samples(self.class_weight, self.classes_, statistics.counts),
        )
        span_only = self._is_negligible(regularization, statistics, moments)
        search = self._in_batches(self._search(regularization, span_only), 1)
        search = self._started(search, moments, start)
        filters = self._maximize(objective, search, moments.pooled, space)
        self.objective_ = float(self.objective_ + objective.mean_log_prior)
        self._set_statistics(statistics, filters, space)
        return self
