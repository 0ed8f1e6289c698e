"""Supervised quadratic feature analysis (SQFA), of Gaussians and of second moments."""

import numpy as np
from scipy.sparse import issparse
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.validation import validate_data

from skgeom._filters.base import BaseFilters, ClassMoments
from skgeom._filters.class_weight import weights_of_classes
from skgeom._filters.docs import FILTER_DOCS
from skgeom._filters.filter_search import PooledCovariances
from skgeom._leading_axes import AxesSpace
from skgeom._moments import weighted_samples
from skgeom._statistics import ClassStatistics, checked_statistics
from skgeom.objectives import (
    DISTANCES,
    SECOND_MOMENT_DISTANCES,
    MeanPairwiseDistance,
    find_distance,
)
from skgeom.utils._dask import empty_block
from skgeom.utils.array_api import is_dask, like, namespace, to_numpy
from skgeom.utils.estimator import current_progress, estimator_method, substitute_docs
from skgeom.utils.linalg import WholeSpace
from skgeom.utils.validation import warn_user


class BaseSQFA(BaseFilters):
    """Filters that maximise the mean distance between the classes."""

    _parameter_constraints = {
        **BaseFilters._parameter_constraints,
        "distance": [StrOptions(set(DISTANCES)), callable],
        "squared": ["boolean"],
        "class_weight": [StrOptions({"balanced"}), dict, None],
    }
    _distances = DISTANCES
    _of_distances = ("distance", "squared", "class_weight")

    def _fit(
        self,
        statistics,
        space=None,
        y=None,
        regularization=None,
        *,
        sample_weight=None,
        sample=(),
        start=None,
    ):
        """Learn the filters from statistics of samples in a space, or of none.

        ``sample`` has the samples, labels and weights that the noise is scored on, if
        these are not those of the space.
        """
        vars(self).pop("_streamed", None)
        space = space or WholeSpace()
        current_progress().start(space.X, y)
        moments = self._moments(statistics)
        if regularization is None:
            regularization, found = self._regularization_of(
                statistics, moments, *(sample or (space.samples, y, sample_weight))
            )
            start = found if start is None else start.T
        objective, search = self._problem(statistics, moments, regularization, space)
        search = search.beside(start)
        coincide = _coincide(moments)
        if coincide:
            warn_user(
                "The classes do not differ in what is compared: their distances are "
                "zero, and the filters mean nothing.",
                UserWarning,
            )
        else:
            _warn_of_lone_samples(statistics, moments)
        self.classes_ = statistics.classes
        beside = statistics.means if space.X is None else space.X
        filters = self._maximize(
            objective, search, moments.pooled, space, y, beside=beside, quiet=coincide
        )
        self._set_statistics(statistics, filters, space, beside)
        return self

    def _moments(self, statistics):
        """What is compared of the classes."""
        if statistics.means is None:
            raise ValueError(
                "SQFA compares means and covariances, but these statistics have second "
                "moments only: use SecondMomentSQFA, or make the statistics with "
                "ClassStatistics(classes, counts, means, covariances)."
            )
        means = to_numpy(statistics.means)
        if self._translation_invariant:
            # An offset that all classes share would cost digits.
            means = means - means.mean(axis=0)
        pooled = PooledCovariances(*map(to_numpy, statistics.pooled_covariances()))
        weights = weights_of_classes(self.class_weight, statistics.classes)
        return ClassMoments(means, statistics.covariances, pooled, weights)

    def _objective(self, moments, regularization):
        distance = find_distance(self.distance, self._distances)
        return MeanPairwiseDistance(
            moments.means,
            moments.covariances,
            regularization,
            distance,
            self.squared,
            moments.weights,
        )

    @property
    def _translation_invariant(self):
        return find_distance(self.distance, self._distances).translation_invariant

    @property
    def _parallel(self):
        return find_distance(self.distance, self._distances).parallel

    def _problem(self, statistics, moments, regularization, space, y=None):
        """The objective, and the search for its maximum."""
        objective = self._objective(moments, regularization)
        negligible = self._is_negligible(regularization, statistics, moments)
        span_only = negligible and objective.distance.affine_invariant
        return objective, self._search(regularization, span_only, space)


@substitute_docs(**FILTER_DOCS)
class SQFA(BaseSQFA):
    r"""Supervised quadratic feature analysis.

    Learns linear filters for which the classes, taken as Gaussians, are far from each
    other: the columns of F maximise the mean distance between all pairs of classes

    .. math::

       \max_F \; \tfrac{2}{c (c - 1)} \sum_{i < j} d(\theta_i, \theta_j), \quad
       \theta_i = (F^\top \gamma_i,\; F^\top \Phi_i F + \sigma^2 I)

    with the class means :math:`\gamma_i` and covariances :math:`\Phi_i` (equation 1 and
    section 4 of [1]_). For a classifier of images or signals choose
    ``distance="hellinger"``; the default is the distance of the paper; the user guide
    compares them. Unlike linear discriminant analysis, SQFA uses differences of the
    covariances as well as of the means, so it can give more than ``n_classes - 1``
    useful features. They are made for quadratic discriminant analysis.

    Parameters
    ----------
    {n_components}
    distance : str, StudentT or callable, default="fisher-rao"
        Distance between two classes, see the user guide: ``"fisher-rao"`` (the
        Calvo-Oller lower bound, :func:`skgeom.geometry.distance_calvo_oller`),
        ``"fisher-rao-exact"`` (the distance itself, several times as slow),
        ``"bhattacharyya"``, ``"hellinger"``, ``"jeffreys"``, ``"wasserstein"``,
        ``"mahalanobis"``, or a :class:`skgeom.objectives.StudentT`. A function
        ``distance(means_a, covariances_a, means_b, covariances_b)`` of the projected
        moments of p pairs, of shapes (p, m) and (p, m, m), returns p distances in terms
        of ``autograd.numpy``, torch or JAX, which differentiates it.
    {squared}
    {regularization}
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
    {components_}
    {objective_}
    {statistics_}
    {regularization_}
    {classes_}
    {n_iter_}
    {n_features_in_}
    {feature_names_in_}

    See Also
    --------
    sklearn.discriminant_analysis.QuadraticDiscriminantAnalysis : The classifier that
        these features are made for.
    sklearn.discriminant_analysis.LinearDiscriminantAnalysis : Uses the class means and
        one common covariance.

    Notes
    -----
    ``transform`` is ``X @ components_.T``, without centring. Each filter's sign is
    chosen so that its entry of largest magnitude is positive.

    References
    ----------
    .. [1] D. Herrera-Esposito and J. Burge, "Supervised Quadratic Feature Analysis:
       Information Geometry for Dimensionality Reduction", 2025.

    Examples
    --------
    Two classes that differ in the direction of their spread only, next to a feature of
    larger variance that is no use:

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

    def __init__(
        self,
        n_components=2,
        *,
        distance="fisher-rao",
        squared=False,
        regularization="auto",
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
        self.distance = distance
        self.squared = squared
        self.regularization = regularization
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

    @estimator_method
    def fit(self, X, y, sample_weight=None):
        """Learn the filters from samples.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples; not modified. Those of a Dask array or frame are read once,
            block by block. Only their statistics are gathered, and the 10,000 samples
            that choose an automatic regularisation. Sparse ones are made dense in
            blocks of rows.
        y : array-like of shape (n_samples,)
            Their class labels, of at least two classes.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the samples; a weight of 2 counts a sample twice. Those of a
            class must add up to at least 1.

        Returns
        -------
        self
            This object, fitted.

        Raises
        ------
        ValueError
            If X or y is malformed, if there is one class only, if ``n_components``
            exceeds the number of features, if ``init`` has a wrong shape, if, without
            regularisation, a class covariance is singular, or if the objective is not
            finite at any start.

        Warns
        -----
        ConvergenceWarning
            If a search does not end within ``max_iter`` iterations.
        UserWarning
            If the filters found are linearly dependent, or if the classes do not
            differ.
        """
        if is_dask(X):
            statistics, sample = self._statistics_of_blocks(X, y, sample_weight)
            return self._fit(statistics, sample=sample)
        X, y = self._validated(X, y)
        if sample_weight is not None:
            X, y, sample_weight = weighted_samples(X, y, sample_weight)
        self._check_sizes(np.unique(y))
        space = self._space_of(X)
        statistics = self._statistics_of(space.samples, y, sample_weight)
        return self._fit(statistics, space, y, sample_weight=sample_weight)

    @estimator_method
    def partial_fit(self, X, y, classes=None, sample_weight=None):
        """Learn the filters from more samples, besides those of the calls before.

        The statistics of all samples so far are kept, which takes the memory of the
        class covariances, and the search starts from the last filters. :meth:`fit` and
        :meth:`fit_statistics` keep no statistics: a call after them starts from their
        filters, with the statistics of its own samples.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            New samples; with those before, of at least two classes.
        y : array-like of shape (n_samples,)
            Their class labels. Classes may come late.
        classes : array-like of shape (n_classes,), default=None
            Ignored; present for the conventions of scikit-learn.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the samples, as in :meth:`fit`; those of a class must add up to
            at least 1, with those of the calls before.

        Returns
        -------
        self
            This object, fitted.

        Raises
        ------
        ValueError
            As :meth:`fit`; or if ``covariance_estimator`` estimates class by class,
            since only sample covariances add up.
        """
        if self._estimator_of_classes is not None:
            raise ValueError(
                "partial_fit needs sample covariances, covariance_estimator='auto' or "
                f"None, but covariance_estimator={self.covariance_estimator!r}."
            )
        first = not hasattr(self, "components_")
        before = getattr(self, "_streamed", None)
        if is_dask(X):
            validate_data(self, empty_block(X), ensure_min_samples=0, reset=first)
        else:
            X, y = self._validated(X, y, reset=first)
            X = X.toarray() if issparse(X) else X
        if before is None:
            streamed = ClassStatistics.from_data(X, y, sample_weight=sample_weight)
        else:
            streamed = before._with_samples(X, y, sample_weight)
        self._check_sizes(streamed.classes)
        last = None if first else to_numpy(self.components_).astype(np.float64)
        self._fit(self._shrunk(streamed), start=last)
        self._streamed = streamed
        return self

    @estimator_method
    def fit_statistics(self, statistics):
        """Learn the filters from the statistics of the classes.

        Parameters
        ----------
        statistics : ClassStatistics
            Counts, means and covariances of at least two classes, which are taken as
            they are: ``covariance_estimator`` is not used. Those of few samples should
            be shrunk first, ``statistics.shrunk()``, as :meth:`fit` does. The automatic
            regularisation is the sampling noise, by the counts. If they have ``axes``,
            the filters are sought in their span, and are filters of all features.

        Returns
        -------
        self
            This object, fitted.

        Raises
        ------
        TypeError
            If ``statistics`` is no :class:`ClassStatistics`.
        ValueError
            As :meth:`fit`.
        """
        statistics = checked_statistics(statistics)
        if hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        axes, space = statistics.axes, None
        self.n_features_in_ = statistics.n_features
        if axes is not None:
            statistics, space = statistics._of_coordinates(), AxesSpace(axes)
            self.n_features_in_ = axes.shape[1]
        self._check_sizes(statistics.classes)
        if axes is not None and self._n_filters > len(axes):
            raise ValueError(
                f"n_components={self._n_filters} must not exceed the number of axes of "
                f"the statistics: n_axes={len(axes)}."
            )
        return self._fit(statistics, space=space)


@substitute_docs(**FILTER_DOCS)
class SecondMomentSQFA(SQFA):
    r"""Supervised quadratic feature analysis of second moments (smSQFA).

    As :class:`SQFA`, but the classes are compared by their second moments

    .. math:: \Psi_i = \Phi_i + \gamma_i \gamma_i^\top, \qquad
       F^\top \Psi_i F + \sigma^2 I

    as if they were Gaussians of zero mean (section 2.3 of [1]_). It is for data whose
    class means are zero, or carry nothing: then the affine-invariant distance is the
    Fisher-Rao distance up to a factor, without a bound. The origin of the data
    matters.

    Parameters
    ----------
    {n_components}
    distance : str, StudentT or callable, default="affine-invariant"
        Distance between two second moments, see the user guide:
        ``"affine-invariant"`` (equation 4 of [1]_), ``"log-euclidean"``,
        ``"bhattacharyya"``, ``"hellinger"``, ``"jeffreys"``, ``"wasserstein"`` (the
        Bures distance) or ``"euclidean"``; or an object or function as for
        :class:`SQFA`, which is given zero means.
    {squared}
    {regularization}
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
    {components_}
    {objective_}
    {statistics_}
    {regularization_}
    {classes_}
    {n_iter_}
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
    Two classes of zero mean that differ in the direction of their spread:

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

    _parameter_constraints = {
        **SQFA._parameter_constraints,
        "distance": [StrOptions(set(SECOND_MOMENT_DISTANCES)), callable],
    }
    _distances = SECOND_MOMENT_DISTANCES
    _translation_invariant = False

    def __init__(
        self,
        n_components=2,
        *,
        distance="affine-invariant",
        squared=False,
        regularization="auto",
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
        super().__init__(
            n_components,
            distance=distance,
            squared=squared,
            regularization=regularization,
            constraint=constraint,
            covariance_estimator=covariance_estimator,
            class_weight=class_weight,
            init=init,
            n_init=n_init,
            group_size=group_size,
            optimizer=optimizer,
            max_iter=max_iter,
            tol=tol,
            random_state=random_state,
            verbose=verbose,
        )

    def _moments(self, statistics):
        within, _ = statistics.pooled_covariances()
        second_moments = statistics.second_moments
        weights = like(statistics.counts / statistics.counts.sum(), second_moments)
        total = namespace(weights).tensordot(weights, second_moments, axes=1)
        means = np.zeros(second_moments.shape[:2])
        pooled = PooledCovariances(to_numpy(within), to_numpy(total))
        weights = weights_of_classes(self.class_weight, statistics.classes)
        return ClassMoments(means, second_moments, pooled, weights)


def _coincide(moments):
    """Whether all classes are the same up to rounding, in units of each feature."""
    deviations = np.sqrt(np.diag(moments.pooled.total))
    means, covariances = moments.means, moments.covariances
    if (np.abs(means - means[0]) > 1e-8 * deviations).any():
        return False
    xp, first = namespace(covariances), covariances[0, ...]
    of_covariances = like(1e-10 * np.outer(deviations, deviations), covariances)
    return all(
        bool(xp.all(xp.abs(covariances[k, ...] - first) <= of_covariances))
        for k in range(1, len(means))
    )


def _warn_of_lone_samples(statistics, moments):
    covariances = moments.covariances
    lone = [
        label
        for k, (label, count) in enumerate(
            zip(statistics.classes, statistics.counts, strict=True)
        )
        if count == 1 and not namespace(covariances).any(covariances[k, ...])
    ]
    if lone:
        warn_user(
            f"{len(lone)} of the classes, the first one {lone[0]}, have a single "
            "sample. Without variance they are far from all others, and draw the "
            "filters to themselves: leave them out, or give them more samples.",
            UserWarning,
        )
