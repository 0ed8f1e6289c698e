"""Supervised quadratic feature analysis (SQFA) with Gaussians or second moments."""

from dataclasses import replace

import numpy as np
from scipy.sparse import issparse

from skgeom._filters._auto import folds_of_summaries
from skgeom._filters._basis import orthonormal
from skgeom._filters._linear_filters import BaseFilters, TrainingData
from skgeom._filters._optimization import INITIALIZATIONS, independent_directions
from skgeom._statistics import (
    ClassStatistics,
    checked_statistics,
    in_host_memory,
    means_on_host,
    pooled_matrices,
    without_axes,
)
from skgeom.objectives._class_distances import (
    DISTANCES,
    SECOND_MOMENT_DISTANCES,
    find_distance,
)
from skgeom.objectives._covariances import StructuredCovariances, plus_outer_products
from skgeom.objectives._pairwise import MeanPairwiseDistance
from skgeom.utils._sklearn import StrOptions
from skgeom.utils.docs import (
    BATCH_WEIGHT,
    CLASSES,
    SAMPLE_WEIGHT,
    documented_parameters,
    substitute_docs,
)
from skgeom.utils.methods import fit_method, statistics_method
from skgeom.utils.progress import current_progress
from skgeom.utils.validation import (
    check_array,
    check_symmetric,
    classes_of_stream,
    has_labels,
    validated_samples,
)
from skgeom.utils.warn import warn_user


def _constraints(distances):
    """Constraints of the parameters, with the names of the distances."""
    return {
        **BaseFilters._parameter_constraints,
        "distance": [StrOptions(distances.keys()), callable],
        "squared": ["boolean"],
        "pair_weight": ["array-like", None],
    }


class SQFA(BaseFilters):
    r"""Supervised quadratic feature analysis.

    SQFA learns linear filters, the columns of F. The filters maximize the mean distance
    between the Gaussians :math:`\theta_i` of the projected classes, over all pairs of
    c classes,

    .. math::

       \max_F \; \tfrac{2}{c (c - 1)} \sum_{i < j} d(\theta_i, \theta_j), \quad
       \theta_i = (F^\top \gamma_i,\; F^\top \Phi_i F + \sigma^2 I)

    with the distance d, the class means :math:`\gamma_i` and the class covariances
    :math:`\Phi_i` (equation 1 and section 4 of [1]_). The default distance is the
    distance of [1]_. Use ``distance="hellinger"`` to classify images or signals; the
    user guide compares the distances. Unlike linear discriminant analysis, SQFA uses
    differences between the class covariances as well as between the means, so more than
    ``n_classes - 1`` features can be useful. Use a quadratic classifier for the
    features.

    Parameters
    ----------
    n_components : int or None, default=2
        Number m of filters, at most ``n_features``. None is
        ``min(n_classes - 1, n_features)``, as in linear discriminant analysis.
    distance : str, StudentT or callable, default="fisher-rao"
        Distance between two classes, see the user guide: ``"fisher-rao"`` (the
        Calvo-Oller lower bound of the Fisher-Rao distance,
        :func:`skgeom.geometry.distance_calvo_oller`), ``"fisher-rao-exact"`` (the
        Fisher-Rao distance, several times slower), ``"bhattacharyya"``,
        ``"hellinger"``, ``"jeffreys"``, ``"wasserstein"`` (also for singular
        covariances), ``"mahalanobis"``, a :class:`skgeom.objectives.StudentT`, or a
        function
        ``distance(means_a, covariances_a, means_b, covariances_b)``. The function
        receives the means, of shape (p, m), and the covariances, of shape (p, m, m), of
        the projected classes of p pairs, and returns p distances. Write the function
        with ``autograd.numpy``, PyTorch or JAX, because automatic differentiation
        computes its gradient.
    squared : bool, default=False
        Whether to average the squares of the distances.
    regularization : "auto" or float, default="auto"
        The variance :math:`\sigma^2`, in squared units of X, that is added to the
        variance of each filter's output. Directions whose total variance is smaller
        than :math:`\sigma^2` contribute little. ``"auto"`` computes the mean log
        posterior of the correct class over held-out samples for several values of
        :math:`\sigma^2` and selects the largest value whose result is within one
        standard error of the best result (see the user guide). If X is multiplied by a,
        the selected value is multiplied by :math:`a^2`. 0 requires positive definite
        covariances of all classes: more samples than features, or a shrinkage. To add
        the covariance of known noise, see :meth:`ClassStatistics.with_noise`.
    constraint : {"unit-norm", "orthonormal"}, default="unit-norm"
        Constraint on the filters: unit norm, or unit norm and orthogonal. If the
        shrinkage or the regularization is selected automatically and the filters of
        unit norm are linearly dependent, the filters are optimized once more with
        ``"orthonormal"``.
    covariance_estimator : "auto", None, str or object, default="auto"
        Estimator of the class covariances. ``"auto"`` shrinks the sample covariance
        :math:`S_k` of class k towards the within-class covariance W,
        :math:`(1 - \rho_k) S_k + \rho_k W`. The intensity :math:`\rho_k` is smaller for
        classes with more samples. It is :math:`\rho` for a class with the mean number
        of samples per class, and :math:`\rho` is selected on held-out samples (see the
        user guide). None uses the sample covariances. The names ``"cov"``, ``"lwf"``,
        ``"mcd"``, ``"oas"``, ``"sch"`` and ``"scm"`` select estimators of
        ``pyriemann.geometry.covariance``. An object must have a method ``fit(X)`` that
        sets ``covariance_``. The class means are always sample means. With ``"auto"``
        or None and fewer samples than features, the filters are optimized in the span
        of the samples. With other estimators, the filters are optimized in the space of
        all features, because the covariances can have variance outside of the span.
    pair_weight : array-like of shape (n_classes, n_classes) or None, default=None
        Symmetric weights V of the pairs of classes, zero or positive, in the order of
        ``classes_``: the pair of classes i and j has the weight :math:`V_{ij}` in the
        mean distance. The diagonal and pairs of weight zero are ignored. With None, all
        classes have the same weight, whatever their numbers of samples, so imbalanced
        classes need no weights here; set the ``priors`` of the classifier instead.
    init : str or array-like of shape (n_components, n_features), default="auto"
        Initial filters: ``"pca"``, the leading principal axes; ``"lda"``, the linear
        discriminants, completed by principal axes; ``"random"``; or an array.
        ``"auto"`` compares ``"lda"``, ``"pca"`` and random filters.
    n_init : "auto" or int, default="auto"
        Number of initializations, at most 10,000. The best initialization is optimized
        to convergence. Initializations in addition to ``init`` are random. ``"auto"``
        is 8 for ``init="auto"`` with up to 100 features and 50 classes, 3 for
        ``init="auto"`` with more features or classes, 10 for ``init="random"``, and 1
        otherwise.
    group_size : int or None, default=None
        If given, the filters are learned in groups of this size (the last group may be
        smaller), one group after another, with the filters of earlier groups fixed. The
        groups are therefore ordered approximately by their contribution to the
        objective.
    optimizer : str or pymanopt optimizer, default="lbfgs"
        The optimization method: ``"lbfgs"``, ``"conjugate-gradient"``,
        ``"trust-regions"``, ``"steepest-descent"``, or an instance of a pymanopt
        optimizer; see :func:`skgeom.optim.minimize`.
    max_iter : int, default=500
        Maximum number of iterations of each stage of the optimization.
    tol : float, default=1e-6
        The optimization stops when ten successive iterations together increase the
        objective by at most ``tol`` times its value, or when the norm of the gradient
        is at most ``tol`` times its initial norm. Stages whose result is optimized
        further may have a larger tolerance.
    random_state : int, RandomState instance or None, default=None
        Seed of the random initializations. If there are more than 100 classes, also the
        seed of the random subsets of pairs of classes that the optimization uses.
    verbose : int, default=0
        If 1, prints a line for the selected shrinkage and regularization, a line at the
        end of each stage of the optimization, and at most one line per second during
        long stages. Larger values print one line for each iteration.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        The filters.
    objective_ : float
        Mean distance of all pairs of classes, or mean squared distance if ``squared``,
        with the weights ``pair_weight`` and with ``regularization_`` added to the
        variances of the filter outputs. This is the weighted mean of the entries of
        ``class_distances()`` above the diagonal, or of their squares. With more than
        1,024 classes, the mean is estimated from about 524,288 pairs.
    statistics_ : ClassStatistics
        Counts, means and covariances of the classes in the feature space. If the
        covariances are shrunk, the statistics contain the shrunk covariances.
        ``regularization_`` is not added.
    regularization_ : float
        The selected or given value of :math:`\sigma^2`.
    shrinkage_ : float or None
        The selected :math:`\rho`. None if no :math:`\rho` was selected on held-out
        samples.
    class_shrinkages_ : ndarray of shape (n_classes,) or None
        The intensities :math:`\rho_k`. None if the method did not shrink covariances.
    selection_ : Selection or None
        The candidates of ``"shrinkage"`` (if the covariances are shrunk) and
        ``"regularization"`` that were tried, and their scores. None if neither was
        selected on held-out samples: if both are given, for class statistics (except a
        list of statistics, which are held out in turn), or with too few samples. Then
        automatic values are closed forms, the sampling error of the covariances and
        :meth:`ClassStatistics.shrunk`.
    restart_objectives_ : ndarray of shape (n_restarts,)
        The objective that each initialization had reached when the best initialization
        was selected, for all groups of filters in order, without initializations at
        which the objective was not finite.
    classes_ : ndarray of shape (n_classes,)
        The class labels.
    n_iter_ : int
        Number of iterations that started from the selected initialization, over all
        stages and groups of filters. Each stage has at most ``max_iter`` iterations.
    distance_ : str, StudentT or callable
        The ``distance`` of the last fit, which defines :meth:`class_distances`.
    n_features_in_ : int
        Number of features of the training data.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, if X had names that are all strings.

    See Also
    --------
    sklearn.discriminant_analysis.QuadraticDiscriminantAnalysis : Classifier for the
        features of SQFA.
    sklearn.discriminant_analysis.LinearDiscriminantAnalysis : Uses the class means and
        one common covariance.

    Notes
    -----
    ``transform`` is ``X @ components_.T``, without centering. Each filter's sign is
    chosen so that its entry of largest magnitude is positive.

    References
    ----------
    .. [1] D. Herrera-Esposito and J. Burge, "Supervised Quadratic Feature Analysis:
       Information Geometry for Dimensionality Reduction", 2025.

    Examples
    --------
    Each of the last two features has a small variance in one of the classes. The first
    feature has the largest variance but does not separate the classes, so the filters
    ignore it:

    >>> import numpy as np
    >>> from skgeom import SQFA
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((400, 3))
    >>> y = np.repeat([0, 1], 200)
    >>> X[:, 0] *= 2
    >>> X[y == 0, 1] *= 0.2
    >>> X[y == 1, 2] *= 0.2
    >>> sqfa = SQFA(n_components=2, random_state=0).fit(X, y)
    >>> bool(np.linalg.norm(sqfa.components_[:, 1:]) > 1.4)
    True
    """

    _parameter_constraints = _constraints(DISTANCES)
    _distances = DISTANCES
    _distance_parameters = ("distance", "squared", "pair_weight")

    def __init__(
        self,
        n_components=2,
        *,
        distance="fisher-rao",
        squared=False,
        regularization="auto",
        constraint="unit-norm",
        covariance_estimator="auto",
        pair_weight=None,
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
        self.distance = distance
        self.squared = squared
        self.regularization = regularization
        self.constraint = constraint
        self.covariance_estimator = covariance_estimator
        self.pair_weight = pair_weight
        self.init = init
        self.n_init = n_init
        self.group_size = group_size
        self.optimizer = optimizer
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.verbose = verbose

    @property
    def distance_(self):
        """The distance of the last fit."""
        return self._parameters_of_fit["distance"]

    @fit_method
    @substitute_docs(sample_weight=SAMPLE_WEIGHT)
    def fit(self, X, y, sample_weight=None, groups=None):
        """Learn the filters from samples.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples; not modified. A Dask array or data frame is read once, block by
            block. Only its class statistics and up to 10,000 samples for the automatic
            selection are kept in memory. Sparse samples are converted to dense arrays:
            in blocks of rows if there are more samples than features and
            ``covariance_estimator`` is "auto" or None, and all at once otherwise.
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
            If X, y or ``groups`` is malformed, if there is only one class, if
            parameters are selected and each group contains all samples of a class, if
            ``n_components`` exceeds the number of features, if ``init`` has a wrong
            shape, or if the objective is infinite or NaN at all initializations, as
            for ``regularization=0`` and a singular class covariance.
        TypeError
            If ``groups`` is given and X is a Dask array or data frame.

        Warns
        -----
        ConvergenceWarning
            If the optimization does not converge within ``max_iter`` iterations.
        UserWarning
            If the filters are linearly dependent, if all class distances are zero, if
            the covariance of the smallest class is singular and not shrunk, if
            held-out samples are not classified better than by chance, if the selected
            ``regularization`` is the largest candidate and the next smaller one has a
            lower score than random guesses, if one sample causes more than 99 % of the
            variance of all features, or if one feature or a tenth of the features have
            more than 99 % of the variance and ``regularization`` is "auto".
        """
        data = self._training_data(X, y, sample_weight, groups)
        chosen, data = self._select(data, self._folds(data))
        return self._learn(data, chosen)

    @fit_method(updates=True)
    @substitute_docs(classes=CLASSES, sample_weight=BATCH_WEIGHT)
    def partial_fit(self, X, y, classes=None, sample_weight=None):
        """Learn the filters from these samples and the samples of earlier calls.

        The method updates the class statistics of all samples so far, which are kept in
        memory with one covariance for each class, and optimizes the filters again. With
        ``init="auto"`` and ``group_size=None``, the last filters are an additional
        initialization. No samples are held out: with the default parameters, the
        regularization is an estimate of the sampling error of the class covariances,
        computed from the statistics, and :meth:`ClassStatistics.shrunk` shrinks the
        covariances. The samples of earlier calls of :meth:`fit` or
        :meth:`fit_statistics` are not used; only the filters of such a call can be the
        last filters.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            New samples.
        y : array-like of shape (n_samples,)
            Class labels of the samples.
        {classes}
        {sample_weight}

        Returns
        -------
        self
            This object, fitted if there are samples of two classes. ``classes_``
            contains the classes that have samples.

        Raises
        ------
        ValueError
            In the same cases as :meth:`fit`, except for a single class, if y contains a
            label that is not in ``classes``, or if ``covariance_estimator`` is not
            "auto" or None, because only sample covariances can be updated.
        """
        if self._class_estimator is not None:
            raise ValueError(
                "partial_fit needs sample covariances, but covariance_estimator="
                f"{self.covariance_estimator!r}. Use 'auto' or None."
            )
        has_filters, begins = hasattr(self, "components_"), not hasattr(self, "_stream")
        before, *known = (ClassStatistics.empty(),) if begins else self._stream
        options = {"reset": begins and not has_filters, "batch": True}
        options |= {"dask": True, "accept_sparse": "csr"}
        X, y, weights, *_ = validated_samples(self, X, y, sample_weight, **options)
        X = X.toarray() if issparse(X) else X
        streamed = before + ClassStatistics.from_data(X, y, sample_weight=weights)
        stream = streamed, *classes_of_stream(classes, streamed.classes, *known)
        if len(streamed.classes) < 2:
            self._stream = stream
            if not has_filters:
                self.classes_ = streamed.classes
            return self
        self._set_sizes(streamed.classes)
        last = self._filters().T if has_filters else None
        current_progress().start()
        chosen, data = self._select(TrainingData(streamed))
        self._learn(data, chosen, last)
        self._stream = stream
        return self

    @statistics_method
    def fit_statistics(self, statistics):
        """Learn the filters from the statistics of the classes.

        Parameters
        ----------
        statistics : ClassStatistics or list of ClassStatistics
            Counts, means and covariances of at least two classes (second moments are
            sufficient for :class:`SecondMomentSQFA`); the covariances may be
            :ref:`structured <structured>`. A single ``ClassStatistics`` is not shrunk,
            and ``covariance_estimator`` is ignored: call ``statistics.shrunk()`` first
            if the covariances are estimated from few samples. With
            ``regularization="auto"``, the regularization is then an estimate of the
            sampling error of the class covariances, computed from the statistics. In a
            list, each element contains the statistics of one fold, and shrinkage and
            regularization are selected as in :meth:`fit`, but random samples of
            Gaussians with the moments of the held-out fold replace the held-out
            samples. If the statistics have ``axes``, the filters are optimized in the
            span of the axes, and are applied to all features.

        Returns
        -------
        self
            This object, fitted.

        Raises
        ------
        TypeError
            If ``statistics`` is neither a :class:`ClassStatistics` nor a list of them.
        ValueError
            In the cases that :meth:`fit` lists, if ``statistics`` is a list of fewer
            than two elements, if shrinkage or regularization is selected and a class
            has samples in one element of the list only, or if ``n_components`` exceeds
            the number of ``axes``.
        """
        is_list = isinstance(statistics, list | tuple)
        if is_list and len(statistics) < 2:
            raise ValueError(
                f"statistics is a list with {len(statistics)} elements, but each "
                "element is one fold, and the selection needs at least two folds. Pass "
                "at least two elements, or one ClassStatistics instead of a list."
            )
        parts = list(map(checked_statistics, statistics if is_list else [statistics]))
        parts = [part for part in parts if len(part.classes)] or parts[:1]
        all_folds, axes = sum(parts[1:], start=parts[0]), parts[0].axes
        vars(self).pop("feature_names_in_", None)
        if all_folds.feature_names_in_ is not None:
            self.feature_names_in_ = all_folds.feature_names_in_
        self.n_features_in_ = all_folds.n_features if axes is None else axes.shape[1]
        self._set_sizes(all_folds.classes, "statistics")
        if axes is not None and self._n_filters > len(axes):
            raise ValueError(
                f"n_components={self._n_filters} must not exceed the number of axes of "
                f"the statistics: n_axes={len(axes)}."
            )
        current_progress().start()
        data, folds = TrainingData(all_folds), None
        if axes is not None:
            parts = list(map(without_axes, parts))
            data = TrainingData(without_axes(all_folds), orthonormal(axes.T))
        if is_list and "auto" in (self.covariance_estimator, self.regularization):
            whiten = self.regularization == 0
            parts = list(map(in_host_memory, parts))
            whole = in_host_memory(data.statistics)
            folds = folds_of_summaries(parts, whole, self._n_filters, whiten)
        chosen, data = self._select(data, folds, may_shrink=is_list)
        return self._learn(data, chosen)

    def _learn(self, data, chosen, last=None):
        """Optimize and store the filters.

        The ``last`` filters are an additional initialization.
        """
        vars(self).pop("_stream", None)
        objective = self._distance_objective(data.statistics, chosen.sigma2)
        within, total = _pooled(data.statistics, self._second_moments)
        problem = self._problem(objective, within, total, chosen, data.statistics)
        coincide = _coincide(objective.classes, total)
        if coincide:
            warn_user(
                "All class distances are zero: the class means and covariances are "
                "equal. The filters are arbitrary.",
                UserWarning,
            )
        else:
            covariances = objective.classes.covariances
            structured = isinstance(covariances, StructuredCovariances)
            if chosen.shrinkage is None and not structured:
                covariances = objective.classes.on_host().covariances
                _warn_of_few_samples(data.statistics, covariances)
            self._warn_of_data(data, chosen)
        starts = self._starts(data)
        if last is not None and self._continues_from(last):
            n_init = min(starts.n_init, len(INITIALIZATIONS["auto"]))
            starts = replace(starts, extra=last, n_init=n_init)
        found = self._optimize(problem, chosen, starts, self._search(data))
        if not coincide:
            self._warn_of_filters(*found, chosen.sigma2)
        return self._store(found, data, chosen)

    def _continues_from(self, filters):
        """Whether the optimization can start from these filters.

        Linearly dependent filters would remain dependent.
        """
        if self.group_size or not isinstance(self.init, str) or self.init != "auto":
            return False
        n_filters = self._n_filters  # may change with new classes
        known = filters.shape[1] == n_filters
        return known and independent_directions(filters) == n_filters

    @property
    def _translation_invariant(self):
        distance = find_distance(self.distance, self._distances)
        return distance.translation_invariant and not self._second_moments

    def _distance_objective(self, statistics, sigma2, **parameters):
        """The mean distance between the classes, as a function of filters."""
        own = {name: getattr(self, name) for name in self._distance_parameters}
        own |= parameters
        distance = find_distance(own["distance"], self._distances)
        if self._second_moments:
            covariances = statistics.second_moments
            means = np.zeros(covariances.shape[:2])
        elif statistics.means is None:
            raise ValueError(
                "SQFA requires means and covariances, but the statistics contain "
                "second moments only. Use SecondMomentSQFA, or create statistics with "
                "ClassStatistics(classes, counts, means, covariances)."
            )
        else:
            covariances, means = statistics.covariances, means_on_host(statistics)
            if distance.translation_invariant:
                # A large offset that all classes share would reduce the precision.
                means = means - means.mean(axis=0)
        of_pairs = _weights_of_pairs(own["pair_weight"], len(statistics.classes))
        model = means, covariances, sigma2, distance, own["squared"]
        objective = MeanPairwiseDistance(*model, pair_weights=of_pairs)
        if objective.n_pairs == 0:
            raise ValueError(
                "No pair of classes has a positive weight. Set pair_weight to a "
                "positive value for at least one pair."
            )
        return objective


@substitute_docs(**documented_parameters(SQFA))
class SecondMomentSQFA(SQFA):
    r"""Supervised quadratic feature analysis of second moments (smSQFA).

    Like :class:`SQFA`, SecondMomentSQFA maximizes the mean distance between pairs of
    classes. It represents class i by the second moment of its projection,

    .. math:: F^\top \Psi_i F + \sigma^2 I, \qquad
       \Psi_i = \Phi_i + \gamma_i \gamma_i^\top

    with the class means :math:`\gamma_i` and covariances :math:`\Phi_i`, as if the
    classes were Gaussians with zero means (section 2.3 of [1]_). Use it for data whose
    class means are zero or do not differ. For Gaussians with zero means, the
    affine-invariant distance is a constant multiple of the Fisher-Rao distance, not
    only a bound. The result depends on the origin of the data.

    Parameters
    ----------
    {n_components}
    distance : str, StudentT or callable, default="affine-invariant"
        Distance between two second moments, see the user guide: ``"affine-invariant"``
        (equation 4 of [1]_), ``"log-euclidean"``, ``"bhattacharyya"``, ``"hellinger"``,
        ``"jeffreys"``, ``"wasserstein"`` (the Bures distance) or ``"euclidean"``; or an
        object or function as for :class:`SQFA`, which then receives zero means and the
        second moments as covariances.
    {squared}
    {regularization}
    {constraint}
    {covariance_estimator}
    {pair_weight}
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
    {components_}
    {objective_}
    {statistics_}
    {regularization_}
    {shrinkage_}
    {class_shrinkages_}
    {selection_}
    {restart_objectives_}
    {classes_}
    {n_iter_}
    {distance_}
    {n_features_in_}
    {feature_names_in_}

    See Also
    --------
    SQFA : Compares means and covariances.

    References
    ----------
    .. [1] D. Herrera-Esposito and J. Burge, "Supervised Quadratic Feature Analysis:
       Information Geometry for Dimensionality Reduction", 2025.

    Examples
    --------
    Two classes have zero means. The first feature varies less in the first class, and
    the second feature varies less in the second class:

    >>> import numpy as np
    >>> from skgeom import SecondMomentSQFA
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((400, 3))
    >>> y = np.repeat([0, 1], 200)
    >>> X[y == 0, 0] *= 0.2
    >>> X[y == 1, 1] *= 0.2
    >>> smsqfa = SecondMomentSQFA(n_components=2, random_state=0).fit(X, y)
    >>> bool(np.linalg.norm(smsqfa.components_[:, :2]) > 1.4)
    True
    """

    _parameter_constraints = _constraints(SECOND_MOMENT_DISTANCES)
    _distances = SECOND_MOMENT_DISTANCES
    _second_moments = True

    def __init__(
        self,
        n_components=2,
        *,
        distance="affine-invariant",
        squared=False,
        regularization="auto",
        constraint="unit-norm",
        covariance_estimator="auto",
        pair_weight=None,
        init="auto",
        n_init="auto",
        group_size=None,
        optimizer="lbfgs",
        max_iter=500,
        tol=1e-6,
        random_state=None,
        verbose=0,
    ):
        super().__init__(
            n_components,
            distance=distance,
            squared=squared,
            regularization=regularization,
            constraint=constraint,
            covariance_estimator=covariance_estimator,
            pair_weight=pair_weight,
            init=init,
            n_init=n_init,
            group_size=group_size,
            optimizer=optimizer,
            max_iter=max_iter,
            tol=tol,
            random_state=random_state,
            verbose=verbose,
        )


def _weights_of_pairs(pair_weight, n_classes):
    """Validated weights of the pairs of classes, (c, c); None for equal weights."""
    if pair_weight is None:
        return None
    problem = None
    if has_labels(pair_weight):
        problem = "has labels, which are not used"
    weights = check_array(pair_weight, dtype=float, copy=True, input_name="pair_weight")
    if weights.shape != (n_classes, n_classes):
        problem = f"has shape {weights.shape}, but there are {n_classes} classes"
    elif (weights < 0).any():
        problem = f"has a negative entry, {weights.min():.3g}"
    if problem:
        raise ValueError(
            f"pair_weight {problem}. Use a symmetric array of shape "
            f"{(n_classes, n_classes)} without negative entries, in the order of "
            "classes_."
        )
    check_symmetric(weights, "pair_weight")
    return weights


def _pooled(statistics, second_moments):
    """Within-class and total covariance, or total second moment."""
    within, total = pooled_matrices(statistics)
    if second_moments and statistics.means is not None:
        weights = statistics.counts / statistics.counts.sum()
        mean = weights @ means_on_host(statistics)
        total = plus_outer_products(total, mean[None], np.ones(1))
    return within, total


def _coincide(classes, total):
    """Whether all class means and covariances are equal up to rounding.

    They are compared along nine random directions, in which the moments of different
    classes differ with probability one.
    """
    deviations = np.sqrt(total.diagonal())[:, None]
    probes = np.random.default_rng(0).standard_normal((len(deviations), 9))
    probes = np.divide(probes, deviations, where=deviations > 0, out=0 * probes)
    projected = classes.project(probes)
    means, covariances = projected.means, projected.covariances
    scales = np.sqrt(np.diag(probes.T @ (total @ probes)))
    same = np.abs(means - means[0]) <= 1e-8 * scales
    rounding = 1e-10 * np.outer(scales, scales)
    return same.all() and (np.abs(covariances - covariances[0]) <= rounding).all()


def _warn_of_few_samples(statistics, covariances):
    """Warn if the covariance of the smallest class is singular, but not of all classes.

    The covariances are not shrunk. If all classes have few samples, only a class
    without any variance is a reason to warn.
    """
    counts, size = statistics.counts, covariances.shape[1]
    k = counts.argmin()
    covariance = covariances[k]
    if counts[k] > size or (counts.max() <= size and np.any(covariance)):
        return
    rank = np.linalg.matrix_rank(covariance, hermitian=True)
    if rank < size:
        warn_user(
            f"The samples of class {statistics.classes[k]} (number: {counts[k]:g}) "
            f"vary in {rank} of {size} directions, so the class seems far from all "
            "other classes and dominates the objective. Use fit with "
            "covariance_estimator='auto', shrink the statistics with "
            "ClassStatistics.shrunk, or add samples.",
            UserWarning,
        )
