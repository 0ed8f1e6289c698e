"""Accuracy maximization analysis with Gaussian responses, AMA-Gauss."""

from copy import copy
from dataclasses import replace

import numpy as np
from sklearn.utils import check_random_state

from skgeom._filters._linear_filters import BaseFilters
from skgeom._filters._optimization import (
    INITIALIZATIONS,
    Starts,
    group_sizes,
    growing_rows,
    optimize_filters,
)
from skgeom._filters.sqfa import SQFA
from skgeom._statistics import pooled_matrices
from skgeom.objectives._class_distances import DISTANCES
from skgeom.objectives._objective import Objective
from skgeom.objectives._pairwise import MeanPairwiseDistance
from skgeom.objectives._posterior import MeanInformation
from skgeom.utils._dask import row_blocks
from skgeom.utils._sklearn import StrOptions
from skgeom.utils.docs import SAMPLE_WEIGHT, documented_parameters, substitute_docs
from skgeom.utils.methods import fit_method
from skgeom.utils.validation import check_priors, class_factors

# Number of initializations with init="auto": the filters of SQFA, and random filters.
# With one, the information of three filters of digits is 1.0 % smaller
# (page "Constants").
_N_INIT = 5


@substitute_docs(**documented_parameters(SQFA))
class AMAGauss(BaseFilters):
    r"""Accuracy maximization analysis with Gaussian responses.

    AMA-Gauss learns linear filters for a quadratic classifier. It models the features
    of each class as Gaussian. The filters are the columns of F. They maximize the mean
    log posterior of the correct class over the n samples,

    .. math::

       \max_F \; \frac1n \sum_k \log p(y_k \mid F^\top x_k), \qquad
       p(i \mid z) \propto \pi_i \,
       \mathcal{N}(z; F^\top \gamma_i, F^\top \Phi_i F + \sigma^2 I)

    with the class means :math:`\gamma_i`, the class covariances :math:`\Phi_i` and the
    prior probabilities :math:`\pi_i` (appendix E.2 of [1]_, after [2]_). The objective
    uses every sample and all classes together, whereas the objective of :class:`SQFA`
    uses the class statistics of pairs of classes. With many samples, the test accuracy
    of a quadratic classifier can be higher with the filters of AMA-Gauss than with the
    filters of SQFA (95.0 % and 91.3 % for nine filters of MNIST with default
    parameters), but AMA-Gauss is slower.

    Parameters
    ----------
    {n_components}
    {regularization}
    {constraint}
    {covariance_estimator}
    init : str or array-like of shape (n_components, n_features), default="auto"
        Initial filters: ``"auto"``, the filters of :class:`SQFA` with the Hellinger
        distance; ``"pca"``, the leading principal axes; ``"lda"``, the linear
        discriminants, completed by principal axes; ``"random"``; or an array.
    n_init : "auto" or int, default="auto"
        Number of initializations, at most 10,000. The best initialization is optimized
        to convergence. Initializations in addition to ``init`` are random. ``"auto"``
        is 5 for ``init="auto"``, 10 for ``init="random"``, and 1 otherwise.
    {group_size}
    {optimizer}
    {max_iter}
    {tol}
    priors : "uniform", None or array-like, default="uniform"
        Prior probabilities :math:`\pi_i`: ``"uniform"``, equal; None, the proportions
        of the classes in y; or an array of shape (n_classes,) that sums to one, in the
        order of ``classes_``.
    class_weight : None, "balanced" or dict, default=None
        Weights of the samples of each class in the objective: None, equal weights;
        "balanced", weights inversely proportional to the numbers of samples; or a
        dictionary that maps labels to weights. Classes that are missing in the
        dictionary have weight one. The priors do not depend on ``class_weight``.
    random_state : int, RandomState instance or None, default=None
        Seed of the random initializations, and of the order of blocks of Dask arrays.
        If there are more than 100 classes, also the seed of the random subsets of pairs
        of classes that are used to optimize the initial filters.
    {verbose}

    Attributes
    ----------
    {components_}
    objective_ : float
        Mean log posterior of the correct class over the training samples, in nats, with
        the weights of ``class_weight`` and with ``regularization_`` added to the
        variances of the filter outputs. The optimizer maximizes the difference between
        this mean and the mean log prior, called the information; ``tol`` is relative to
        the information, and ``verbose`` prints the information.
    {statistics_}
    priors_ : ndarray of shape (n_classes,)
        The prior probabilities :math:`\pi_i`.
    {regularization_}
    {shrinkage_}
    {class_shrinkages_}
    {selection_}
    {restart_objectives_}
    {classes_}
    {n_iter_}
    {n_features_in_}
    {feature_names_in_}

    See Also
    --------
    SQFA : Maximizes distances between the classes, computed from class statistics.
    sklearn.discriminant_analysis.QuadraticDiscriminantAnalysis : Classifier for the
        features of AMA-Gauss.

    Notes
    -----
    With at least 64,000 samples, and at least 800 samples for each entry of
    ``components_``, the optimization begins with a fixed random subset of the samples.
    The subset grows until it contains all samples. This requires
    ``optimizer="lbfgs"``.

    The automatic selection of shrinkage and regularization optimizes the filters of
    each fold for the Hellinger distance, which is also the objective of the initial
    filters.

    There is no ``partial_fit``, because every iteration requires all samples, not only
    their statistics. Use a Dask array for data that do not fit into memory.

    In [1]_, noise with the variance :math:`\sigma^2` is added to the features, and
    :math:`\sigma^2` is added to the variances of the model. AMAGauss, like the
    objective in the code of the authors, adds :math:`\sigma^2` to the variances only.

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
    _distance_parameters = ()
    _parameter_constraints = {
        **BaseFilters._parameter_constraints,
        "priors": [None, StrOptions({"uniform"}), "array-like"],
        "class_weight": [StrOptions({"balanced"}), dict, None],
    }

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
        self.random_state = random_state
        self.verbose = verbose

    @fit_method
    @substitute_docs(sample_weight=SAMPLE_WEIGHT)
    def fit(self, X, y, sample_weight=None, groups=None):
        """Learn the filters from samples.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples; not modified. A Dask array is read once for the class
            statistics and for the samples of the automatic selection, at most 10,000.
            The filters are then optimized by stochastic gradient ascent, which reads
            all blocks in each epoch and makes one step per block. This ignores
            ``optimizer`` and ``tol``, and ``max_iter`` and ``n_iter_`` count its
            epochs. Sparse samples are
            converted to dense arrays: in blocks of rows if there are more samples than
            features and ``covariance_estimator`` is "auto" or None, and all at once
            otherwise.
        y : array-like of shape (n_samples,)
            Class labels of the samples, of at least two classes.
        {sample_weight}
        groups : array-like of shape (n_samples,), default=None
            Labels of groups of dependent samples, such as the recordings of one
            subject. The samples of a group are held out together when parameters are
            selected. With None, each set of equal samples is one group. Not supported
            for Dask input.

        Returns
        -------
        self
            This object, fitted.

        Raises
        ------
        ValueError
            If X, y, ``sample_weight`` or ``groups`` is malformed, if there is only one
            class, if parameters are selected and each group contains all samples of a
            class, if ``n_components`` exceeds the number of features, if ``init`` or
            ``priors`` has a wrong shape or value, if a class covariance is singular and
            ``regularization`` is 0, or if the objective is infinite or NaN.
        TypeError
            If ``groups`` is given and X is a Dask array or data frame.

        Warns
        -----
        ConvergenceWarning
            If the optimization does not converge within ``max_iter`` iterations.
        UserWarning
            If the filters are linearly dependent, if held-out samples are not
            classified better than by chance, if the selected ``regularization`` is the
            largest candidate and the next one is worse than guesses, if one sample
            causes more than 99 % of the variance of all features, or if one feature or
            a tenth of the features have more than 99 % of it and ``regularization`` is
            "auto".
        """
        data = self._training_data(X, y, sample_weight, groups)
        chosen, data = self._select(data, self._folds(data))
        objective = self._information(data, chosen, X, y, sample_weight)
        learned = self._learn(objective, data, chosen)
        self._store(learned, data, chosen)
        # Convert the information to the mean log posterior.
        self.objective_ = float(self.objective_ + objective.mean_log_prior)
        return self

    def _information(self, data, chosen, X, y, sample_weight):
        """The objective; X is a Dask array, unless the data are in memory."""
        statistics, counts = data.statistics, data.statistics.counts
        self.priors_ = priors = check_priors(self.priors, counts)
        factors = _factors_of_samples(self.class_weight, statistics.classes, counts)
        model = statistics, chosen.sigma2, np.log(priors), factors
        if data.X is None:
            return BlockInformation(row_blocks(X, y, sample_weight), *model)
        labels = np.searchsorted(statistics.classes, data.y)
        return _information(data.samples, labels, data.weights, *model)

    def _learn(self, objective, data, chosen):
        """The filters, from those of SQFA with the Hellinger distance by default."""
        statistics, starts = data.statistics, self._starts(data)
        distance = self._distance_objective(statistics, chosen.sigma2)
        within, total = pooled_matrices(statistics)
        moments = within, total, chosen, statistics
        problem = self._problem(objective, *moments, distance)
        self._warn_of_data(data, chosen)
        if isinstance(self.init, str) and self.init == "auto":
            # Equal filters have equal gradients and would remain equal.
            search = self._search(data, "distance").labelled("SQFA")
            filters, _ = optimize_filters(
                replace(problem, objective=distance),
                group_sizes(self._n_filters, self.group_size),
                Starts(self.init, len(INITIALIZATIONS["auto"])),
                search,
                refit_dependent=True,
            )
            # The filters of SQFA are one of the initializations.
            n_init = (_N_INIT if self.n_init == "auto" else self.n_init) - 1
            starts = Starts("random", n_init, filters)
        search = self._search(data)
        if data.X is None:
            # Blocks and random initializations share one source of random numbers.
            rng = check_random_state(self.random_state)
            search = replace(search, random_state=rng, in_blocks=True)
        elif self.optimizer == "lbfgs":
            n_entries = self._n_filters * objective.n_features
            rows = growing_rows(objective.n_samples, n_entries)
            search = replace(search, subsets=rows)
        found = self._optimize(problem, chosen, starts, search)
        self._warn_of_filters(*found, chosen.sigma2)
        return found

    @staticmethod
    def _distance_objective(statistics, sigma2):
        means, covariances = statistics.means, statistics.covariances
        distance = DISTANCES["hellinger"]
        return MeanPairwiseDistance(means, covariances, sigma2, distance)

    def _objective_reached(self):
        return np.nan  # the samples are not kept


def _information(X, labels, sample_weight, statistics, sigma2, log_priors, factors):
    """The mean information of samples, as a function of filters."""
    means, covariances = statistics.means, statistics.covariances
    weights = factors[labels] * (1.0 if sample_weight is None else sample_weight)
    return MeanInformation(X, labels, means, covariances, sigma2, log_priors, weights)


def _factors_of_samples(class_weight, classes, counts):
    """Weight in the objective of a sample of each class."""
    factors = class_factors(class_weight, classes, counts, zero=True)
    if not factors.any():
        raise ValueError(
            f"class_weight must be positive for at least one class, got {class_weight}."
        )
    return factors


class BlockInformation(Objective):
    """:class:`~skgeom.objectives.MeanInformation` of delayed blocks of samples.

    The terms of this objective are the blocks: a batch consists of one or more blocks,
    and ``n_samples`` is the number of blocks. Each block is one Dask task.

    Parameters
    ----------
    blocks : list of tuple
        Delayed samples, labels and weights (or None) of each block.
    statistics : ClassStatistics
        Statistics of all samples.
    regularization, log_priors
        As for ``MeanInformation``.
    factors : ndarray of shape (c,)
        Weights of the samples of each class.
    """

    rotation_invariant = affine_invariant = True

    def __init__(self, blocks, statistics, regularization, log_priors, factors):
        import dask

        self.blocks = blocks
        self.n_features = statistics.n_features
        self._basis = None
        # All blocks share one node of the task graph.
        self._model = dask.delayed(
            (statistics, regularization, log_priors, factors), traverse=False
        )
        weights = statistics.counts * factors
        self.mean_log_prior = float(weights @ log_priors / weights.sum())

    @property
    def n_samples(self):
        """Number of blocks."""
        return len(self.blocks)

    def subset(self, numbers):
        """The same objective for some of the blocks."""
        part = copy(self)
        part.blocks = [self.blocks[number] for number in numbers]
        return part

    def project(self, basis):
        """The same objective for filters ``basis @ G``, as a function of G."""
        projected = copy(self)
        projected._basis = basis if self._basis is None else self._basis @ basis
        projected.n_features = basis.shape[1]
        return projected

    def __call__(self, filters):
        """Value and gradient; reads all samples of the blocks."""
        import dask

        lifted = filters if self._basis is None else self._basis @ filters
        evaluate = dask.delayed(_evaluate_block)
        parts = dask.compute(
            *(evaluate(*block, self._model, lifted) for block in self.blocks)
        )
        total = sum(weight for weight, _, _ in parts)
        if total == 0:
            return 0.0, np.zeros_like(filters)
        value = sum(weight * value for weight, value, _ in parts) / total
        gradient = sum(weight * gradient for weight, _, gradient in parts) / total
        return value, gradient if self._basis is None else self._basis.T @ gradient


def _evaluate_block(X, y, sample_weight, model, filters):
    """Sum of the weights of a block, and the value and gradient of its mean."""
    X, y = np.asarray(X), np.asarray(y)
    if sample_weight is not None:
        weights = np.asarray(sample_weight)
        kept = weights > 0  # other samples may be of no class
        X, y, sample_weight = X[kept], y[kept], weights[kept]
    labels = np.searchsorted(model[0].classes, y)
    information = _information(X, labels, sample_weight, *model)
    weight = information.weights.sum()
    if weight == 0:
        return 0.0, 0.0, np.zeros_like(filters)
    return weight, *information(filters)
