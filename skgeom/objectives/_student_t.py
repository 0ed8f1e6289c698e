"""The Fisher-Rao bound for classes with heavier tails than a Gaussian."""

from dataclasses import dataclass
from numbers import Real

import numpy as np

from skgeom.objectives._base_distance import DistanceTraits
from skgeom.objectives._fisher_rao_distances import CalvoOllerDistance


@dataclass(frozen=True)
class StudentT(DistanceTraits):
    r"""Lower bound of the Fisher-Rao distance between Student t distributions.

    A value for the parameter ``distance`` of :class:`skgeom.SQFA` where classes have
    heavier tails than Gaussians. Each class is taken for a multivariate t distribution
    of m dimensions, with :math:`\nu` degrees of freedom, whose location and scatter
    matrix are the projected mean and covariance. With the eigenvalues
    :math:`\lambda_k` of the bound for Gaussians
    (:func:`skgeom.geometry.distance_calvo_oller`), which is the limit for large
    :math:`\nu`,

    .. math::

       d^2 = \frac{\nu + m}{2 (\nu + m + 2)} \sum_k \log^2 \lambda_k
       - \frac{1}{2 (\nu + m + 2)} \Big( \sum_k \log \lambda_k \Big)^2

    This is the geodesic distance between the same embedded matrices, in the invariant
    metric that induces the Fisher metric of the t distributions (after [1]_). So it is
    a distance, invariant under affine maps, and exact where the locations agree.

    Parameters
    ----------
    df : float
        Degrees of freedom :math:`\nu`, at least 1, the Cauchy distribution.

    Attributes
    ----------
    df : float
        Degrees of freedom :math:`\nu`, at least 1, the Cauchy distribution.

    Raises
    ------
    ValueError
        If ``df`` is below 1, where the metric of the embedding is not positive, or not
        finite.

    See Also
    --------
    skgeom.SQFA : Maximises it with ``distance=StudentT(df)``.

    Notes
    -----
    The covariance of such a distribution is :math:`\nu / (\nu - 2)` times its scatter
    matrix for :math:`\nu > 2`, and does not exist otherwise. For heavy tails, let
    ``covariance_estimator`` be a robust one, such as ``"mcd"``.

    References
    ----------
    .. [1] M. Calvo and J. M. Oller, "A distance between elliptical distributions based
       in an embedding into the Siegel group", Journal of Computational and Applied
       Mathematics 145(2), 2002.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from skgeom import SQFA
    >>> from skgeom.objectives import StudentT
    >>> X, y = load_iris(return_X_y=True)
    >>> sqfa = SQFA(2, distance=StudentT(df=3), random_state=0).fit(X, y)
    >>> sqfa.components_.shape
    (2, 4)
    """

    df: float

    returns_square = True
    decomposes_pairs = True

    def __post_init__(self):
        if not (isinstance(self.df, Real) and 1 <= self.df < np.inf):
            raise ValueError(
                "df, the degrees of freedom, must be a finite number of at least 1 "
                f"(1 for the Cauchy distribution), got {self.df!r}."
            )

    def __call__(self, means, covariances):
        """Return the distance of projected classes; see ``_base_distance.py``."""
        return _StudentTDistance(means, covariances, self.df)


class _StudentTDistance(CalvoOllerDistance):
    def __init__(self, means, covariances, df):
        super().__init__(means, covariances)
        total = df + means.shape[1]
        self.spread = total / (2 * (total + 2))
        self.dilation = 1 / (2 * (total + 2))
