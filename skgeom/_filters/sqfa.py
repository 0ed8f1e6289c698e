"""Supervised quadratic feature analysis (SQFA), of Gaussians and of second moments."""

import numpy as np
from sklearn.utils._param_validation import StrOptions

from skgeom._filters.base_sqfa import BaseSQFA, FitsStatistics
from skgeom._filters.docs import FILTER_DOCS
from skgeom._filters.learning import PooledCovariances
from skgeom.objectives import DISTANCES, SECOND_MOMENT_DISTANCES
from skgeom.utils._docs import substitute_docs


@substitute_docs(**FILTER_DOCS)
class SQFA(FitsStatistics, BaseSQFA):
    r"""Supervised quadratic feature analysis.

    Learns linear filters for which the classes, taken as Gaussians, are far from each
    other: the columns of F maximise the mean distance between all pairs of classes

    .. math::

       \max_F \; \tfrac{2}{c (c - 1)} \sum_{i < j} d(\theta_i, \theta_j), \quad
       \theta_i = (F^\top \gamma_i,\; F^\top \Phi_i F + \sigma^2 I)

    with the class means :math:`\gamma_i` and covariances :math:`\Phi_i` (equation 1 and
    section 4 of [1]_). Unlike linear discriminant analysis, it uses differences of the
    covariances as well as of the means, so it can give more than ``n_classes - 1``
    useful features. They are made for quadratic discriminant analysis.

    Parameters
    ----------
    n_components : int, default=2
        Number m of filters, at most ``n_features``.
    distance : str, StudentT or callable, default="fisher-rao"
        Distance between two classes, see the user guide: ``"fisher-rao"`` (the
        Calvo-Oller lower bound, :func:`skgeom.geometry.distance_calvo_oller`),
        ``"bhattacharyya"``, ``"hellinger"``, ``"jeffreys"``, ``"wasserstein"``,
        ``"mahalanobis"``, or a :class:`skgeom.objectives.StudentT`. A function
        ``distance(means_a, covariances_a, means_b, covariances_b)`` of the projected
        moments of p pairs, of shapes (p, m) and (p, m, m), returns p distances in terms
        of ``autograd.numpy``, which differentiates it.
    {squared}
    {regularization}
    {constraint}
    {covariance_estimator}
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
    Two classes that differ in the direction of their spread only, beside a feature of
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

    _parameter_constraints = {
        **BaseSQFA._parameter_constraints,
        "distance": [StrOptions(set(DISTANCES)), callable],
    }
    _distances = DISTANCES


@substitute_docs(**FILTER_DOCS)
class SecondMomentSQFA(FitsStatistics, BaseSQFA):
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
    n_components : int, default=2
        Number m of filters, at most ``n_features``.
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
        **BaseSQFA._parameter_constraints,
        "distance": [StrOptions(set(SECOND_MOMENT_DISTANCES)), callable],
    }
    _distances = SECOND_MOMENT_DISTANCES

    def __init__(
        self,
        n_components=2,
        *,
        distance="affine-invariant",
        squared=False,
        regularization="auto",
        constraint="unit-norm",
        covariance_estimator=None,
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
            init=init,
            n_init=n_init,
            group_size=group_size,
            optimizer=optimizer,
            max_iter=max_iter,
            tol=tol,
            random_state=random_state,
            verbose=verbose,
        )

    @staticmethod
    def _compared(statistics):
        within, _ = statistics.pooled_covariances()
        second_moments = statistics.second_moments
        weights = statistics.counts / statistics.counts.sum()
        total = np.tensordot(weights, second_moments, axes=1)
        means = np.zeros(second_moments.shape[:2])
        return means, second_moments, PooledCovariances(within, total)
