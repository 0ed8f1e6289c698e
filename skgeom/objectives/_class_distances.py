"""Distances between projected classes, with analytic gradients.

Each distance is a class that inherits from :class:`Distance`, or from
:class:`MatrixDistance` if it does not use the means. ``_distance.py`` describes its
members. Estimators, displays and tests support all distances in ``DISTANCES`` or
``SECOND_MOMENT_DISTANCES`` at the end of this file.
"""

from dataclasses import dataclass
from numbers import Real

import numpy as np

from skgeom.geometry._affine_invariant import inverse_factors as _inverse_factors
from skgeom.geometry._fibres import shortest_on_fibres, squared_distance_gradients
from skgeom.objectives._callable import CallableDistance
from skgeom.objectives._distance import Distance, DistanceTraits


class MatrixDistance(Distance):
    """Base class of distances that use only the covariances.

    The gradient of a class is an array of shape (m, m).
    """

    def pull_back(self, gradient):
        return np.zeros_like(self.means), gradient


class EuclideanDistance(MatrixDistance):
    """Frobenius distance of the covariances. The means are not used."""

    label = "Euclidean"
    returns_square = True
    affine_invariant = False

    def pairs(self, i, j):
        offsets = self.covariances[i] - self.covariances[j]

        def gradient(weights):
            of_i = 2 * weights[:, None, None] * offsets
            return self.of_pairs(of_i, -of_i)

        return (offsets**2).sum(axis=(1, 2)), gradient


class LogEuclideanDistance(EuclideanDistance):
    r"""Frobenius distance of the matrix logarithms. The means are not used.

    The derivative of the logarithm at :math:`V \Lambda V^\top` in the direction E is
    :math:`V (D \circ V^\top E V) V^\top`, where D contains the divided differences of
    the logarithm at the eigenvalues, and :math:`\circ` multiplies entries (Daleckii and
    Krein). One eigendecomposition per class is therefore sufficient for all pairs.
    """

    label = "log-Euclidean"

    def __init__(self, means, covariances):
        eigenvalues, self._vectors = np.linalg.eigh(covariances)
        if not (eigenvalues > 0).all():
            raise np.linalg.LinAlgError("A projected class is singular.")
        logs = np.log(eigenvalues)
        self._differences = _divided_differences(eigenvalues, logs)
        # The Euclidean distance of the logarithms.
        super().__init__(means, (self._vectors * logs[:, None]) @ self._vectors.mT)

    def pull_back(self, gradient):
        inside = self._vectors.mT @ gradient @ self._vectors * self._differences
        return super().pull_back(self._vectors @ inside @ self._vectors.mT)


def _divided_differences(eigenvalues, logs):
    """(log a - log b) / (a - b) for all pairs of eigenvalues, or 1 / a if a = b."""
    a, b = eigenvalues[:, :, None], eigenvalues[:, None, :]
    ratio = (a - b) / b
    close = np.abs(ratio) < 1e-5
    safe = np.where(close, 1.0, a - b)
    far = (logs[:, :, None] - logs[:, None, :]) / safe
    near = (1 - ratio / 2 + ratio**2 / 3) / b
    return np.where(close, near, far)


class _FactoredDistance(Distance):
    """Base class of distances that use the Cholesky factors of the covariances."""

    returns_square = True

    def __init__(self, means, covariances):
        super().__init__(means, covariances)
        self._factors = np.linalg.cholesky(covariances)
        self._inverse_factors = np.linalg.inv(self._factors)


class AffineInvariantDistance(_FactoredDistance, MatrixDistance):
    r"""Affine-invariant distance of matrices. The means are not used.

    Let :math:`\Lambda` and V be the generalized eigenvalues and eigenvectors of two
    matrices: :math:`A_j V = A_i V \Lambda` with :math:`V^\top A_i V = I`. Then

    .. math::

       d^2 = \sum_k \log^2 \lambda_k, \quad
       \frac{\partial d^2}{\partial A_i} = -2 V \log(\Lambda) V^\top, \quad
       \frac{\partial d^2}{\partial A_j} = 2 V \log(\Lambda) \Lambda^{-1} V^\top .

    The eigendecomposition of :math:`Q Q^\top`, where :math:`Q = L_i^{-1} L_j` with the
    Cholesky factors L of the matrices, yields the value and the gradient of a pair.
    """

    label = "affine-invariant"

    def pairs(self, i, j):
        inverse_factors = self._inverse_factors[i]
        eigenvalues, vectors = _spectrum(inverse_factors @ self._factors[j])
        logs = np.log(eigenvalues)

        def gradient(weights):
            scaled = 2 * weights[:, None] * logs
            v = inverse_factors.mT @ vectors
            of_i = (v * -scaled[:, None]) @ v.mT
            of_j = (v * (scaled / eigenvalues)[:, None]) @ v.mT
            return self.of_pairs(of_i, of_j)

        return (logs**2).sum(axis=1), gradient


class CalvoOllerDistance(_FactoredDistance):
    r"""Calvo-Oller lower bound of the Fisher-Rao distance.

    :math:`d^2 = \tfrac12 d_{AI}^2(\Omega_i, \Omega_j)` with the embedding
    :math:`\Omega = K K^\top`, :math:`K = [[L, \mu], [0, 1]]` (equation 5 of
    Herrera-Esposito and Burge, 2025). The quotient :math:`K_i^{-1} K_j = [[L_i^{-1}
    L_j, L_i^{-1} (\mu_j - \mu_i)], [0, 1]]` depends on the means only by their
    difference, so a large common offset of the means causes no loss of precision. In
    these coordinates, class i is the standard Gaussian, and the derivatives are the
    derivatives of :class:`AffineInvariantDistance` with an orthogonal V.
    """

    label = "Fisher-Rao"

    # d^2 = spread * sum(log^2) - dilation * sum(log)^2. StudentT sets other values.
    spread, dilation = 0.5, 0.0

    def pairs(self, i, j):
        inverse_factors = self._inverse_factors[i]
        offsets = self.means[j] - self.means[i]
        order = offsets.shape[1] + 1
        quotients = np.zeros((len(i), order, order))
        quotients[:, :-1, :-1] = inverse_factors @ self._factors[j]
        quotients[:, :-1, -1:] = inverse_factors @ offsets[:, :, None]
        quotients[:, -1, -1] = 1
        eigenvalues, vectors = _spectrum(quotients)
        logs = np.log(eigenvalues)
        sums = logs.sum(axis=1)

        def gradient(weights):
            slopes = 2 * self.spread * logs - 2 * self.dilation * sums[:, None]
            scaled = weights[:, None] * slopes
            v = inverse_factors.mT @ vectors[:, :-1]
            of_i = (v * -scaled[:, None]) @ v.mT
            of_j = (v * (scaled / eigenvalues)[:, None]) @ v.mT
            # In these coordinates the mean of class i is zero. The derivative with
            # respect to it is twice the last column of the derivative with respect to
            # the embedding.
            of_mean = -2 * _product(v, scaled * vectors[:, -1])
            return self.of_pairs(of_i, of_j, of_mean)

        squares = self.spread * (logs**2).sum(axis=1) - self.dilation * sums**2
        return squares, gradient


def _spectrum(quotients):
    """Eigenvalues and eigenvectors of Q Q' for a stack of square matrices Q.

    The eigenvalues of the product have relative errors above about 1e-7 if their ratio
    is below 1e-9. The squared singular values of Q are then used: they have twice as
    many accurate digits, and take twice as long.
    """
    eigenvalues, vectors = np.linalg.eigh(quotients @ quotients.mT)
    lost = ~(eigenvalues[:, 0] > 1e-9 * eigenvalues[:, -1])
    if lost.any():
        vectors[lost], singular_values, _ = np.linalg.svd(quotients[lost])
        eigenvalues[lost] = singular_values**2
        if not (eigenvalues > 0).all():
            raise np.linalg.LinAlgError("A projected class is singular.")
    return eigenvalues, vectors


# Largest error of a distance: absolute up to a distance of 1, relative for larger
# distances. The gradient has about the same error, because the difference of the bounds
# of a distance is proportional to the norm of a gradient (page "Constants").
_TOL = 1e-12


class FisherRaoDistance(_FactoredDistance):
    r"""Fisher-Rao distance of Gaussians, computed by ``geometry/_fibres.py``.

    An affine map transforms class i to the standard Gaussian, and class j to a Gaussian
    with the mean :math:`d = R^\top L_i^{-1} (\mu_j - \mu_i)` and a diagonal covariance
    S, where :math:`L_i` is the Cholesky factor of the covariance of class i, and R are
    the left singular vectors of :math:`L_i^{-1} L_j`. Let g and G be the derivatives of
    the squared distance with respect to d and S, which belong to class j. Affine maps
    of both classes do not change the distance, so the derivatives for class i are
    :math:`-g` and :math:`-(G S + \tfrac12 g d^\top)`, a symmetric matrix.
    """

    label = "Fisher-Rao-exact"

    def pairs(self, i, j):
        inverse_factors = self._inverse_factors[i]
        rotations, scales, _ = np.linalg.svd(inverse_factors @ self._factors[j])
        to_standard = rotations.mT @ inverse_factors
        offsets = _product(to_standard, self.means[j] - self.means[i])
        _check_range(offsets, scales)
        (distances, *_), fibres = shortest_on_fibres(offsets, scales, _TOL)

        def gradient(weights):
            of_offset, of_square = squared_distance_gradients(offsets, scales, fibres)
            of_own = of_square * scales[:, None] ** 2
            of_own += of_offset[:, :, None] * offsets[:, None] / 2
            of_own = -(of_own + of_own.mT) / 2
            weighted = weights[:, None, None] * to_standard.mT
            of_i = weighted @ of_own @ to_standard
            of_j = weighted @ of_square @ to_standard
            of_mean = _product(weighted, of_offset)
            return self.of_pairs(of_i, of_j, -of_mean)

        return distances**2, gradient


def _check_range(offsets, scales):
    """Raise LinAlgError if cubes of matrix entries of a pair could overflow."""
    extent = (1 + np.abs(offsets) * np.maximum(1, 1 / scales)) ** 2
    largest = np.cbrt(np.finfo(float).max)
    if not (extent * np.maximum(scales, 1 / scales) < largest).all():
        raise np.linalg.LinAlgError("A projected class is singular.")


class WassersteinDistance(_FactoredDistance):
    r"""2-Wasserstein distance of Gaussians, the Bures distance for equal means.

    .. math::

       d^2 = \|\mu_i - \mu_j\|^2 + \operatorname{tr} (\Sigma_i + \Sigma_j
       - 2 (\Sigma_i^{1/2} \Sigma_j \Sigma_i^{1/2})^{1/2}), \quad
       \frac{\partial d^2}{\partial \Sigma_i} = I - T_{ij},

    where :math:`T_{ij}` is the optimal map from class i to j (Dowson and Landau, 1982;
    Bhatia, Jain and Lim, 2019). With :math:`\Sigma_i = L L^\top` and :math:`L^\top
    \Sigma_j L = U S^2 U^\top`, :math:`T_{ij} = L^{-\top} U S U^\top L^{-1}`, and
    :math:`T_{ji}` is the inverse of :math:`T_{ij}`.
    """

    label = "Wasserstein"
    affine_invariant = False

    def __init__(self, means, covariances):
        super().__init__(means, covariances)
        self._traces = covariances.trace(axis1=1, axis2=2)

    def pairs(self, i, j):
        factors = self._factors[i]
        squares, vectors = np.linalg.eigh(factors.mT @ self.covariances[j] @ factors)
        if not (squares > 0).all():
            raise np.linalg.LinAlgError("A projected class is singular.")
        roots = np.sqrt(squares)
        offsets = self.means[i] - self.means[j]
        bures = self._traces[i] + self._traces[j] - 2 * roots.sum(axis=1)
        # Rounding may make the value for two equal classes negative.
        squared = (offsets**2).sum(axis=1) + np.maximum(bures, 0)

        def gradient(weights):
            left = self._inverse_factors[i].mT @ vectors
            right = factors @ vectors
            map_ij = (left * roots[:, None]) @ left.mT
            map_ji = (right / roots[:, None]) @ right.mT
            identity, w = np.eye(len(factors[0])), weights[:, None, None]
            of_mean = 2 * weights[:, None] * offsets
            of_i, of_j = w * (identity - map_ij), w * (identity - map_ji)
            return self.of_pairs(of_i, of_j, of_mean)

        return squared, gradient


class MahalanobisDistance(Distance):
    r"""Mahalanobis distance of the means, with the average of the two covariances.

    With :math:`\delta = \mu_i - \mu_j`, :math:`\bar\Sigma = (\Sigma_i + \Sigma_j) / 2`
    and :math:`u = \bar\Sigma^{-1} \delta`, the squared distance is :math:`d^2 =
    \delta^\top u`, and its derivatives with respect to :math:`\delta` and
    :math:`\bar\Sigma` are :math:`2 u` and :math:`-u u^\top`.
    """

    label = "Mahalanobis"
    returns_square = True

    def _by_average(self, i, j):
        """The differences delta, the factors and inverses of averages, and u."""
        offsets = self.means[i] - self.means[j]
        average = (self.covariances[i] + self.covariances[j]) / 2
        inverse_factors = _inverse_factors(average)
        inverses = inverse_factors.mT @ inverse_factors
        return offsets, inverse_factors, inverses, _product(inverses, offsets)

    def pairs(self, i, j):
        offsets, _, _, u = self._by_average(i, j)

        def gradient(weights):
            of_mean = 2 * weights[:, None] * u
            of_each = -weights[:, None, None] * u[:, :, None] * u[:, None] / 2
            return self.of_pairs(of_each, of_each, of_mean)

        return (offsets * u).sum(axis=1), gradient


class BhattacharyyaDistance(MahalanobisDistance):
    r"""Bhattacharyya distance of Gaussians.

    With the notation of :class:`MahalanobisDistance`, the distance is (equation 6 of
    Herrera-Esposito and Burge, 2025)

    .. math::

       d = \tfrac18 \delta^\top u + \tfrac12 \log\det \bar\Sigma
       - \tfrac14 \log\det \Sigma_i - \tfrac14 \log\det \Sigma_j .
    """

    label = "Bhattacharyya"
    returns_square = False

    def __init__(self, means, covariances):
        super().__init__(means, covariances)
        inverse_factors = _inverse_factors(covariances)
        self._inverses = inverse_factors.mT @ inverse_factors
        self._log_dets = _log_dets(inverse_factors)

    def pairs(self, i, j):
        offsets, inverse_factors, inverses, u = self._by_average(i, j)
        ends = (self._log_dets[i] + self._log_dets[j]) / 2
        values = (offsets * u).sum(axis=1) / 8 + (_log_dets(inverse_factors) - ends) / 2

        def gradient(weights):
            w = weights[:, None, None]
            middle = inverses / 4 - u[:, :, None] * u[:, None] / 16
            of_mean = weights[:, None] * u / 4
            of_i = w * (middle - self._inverses[i] / 4)
            of_j = w * (middle - self._inverses[j] / 4)
            return self.of_pairs(of_i, of_j, of_mean)

        # Rounding may make the value for two equal classes negative.
        return np.maximum(values, 0), gradient


class HellingerDistance(BhattacharyyaDistance):
    r"""Hellinger distance of Gaussians, :math:`d^2 = 1 - e^{-d_B} \le 1`.

    :math:`d_B` is the Bhattacharyya distance.
    """

    label = "Hellinger"
    returns_square = True

    def pairs(self, i, j):
        values, gradient = super().pairs(i, j)
        overlap = np.exp(-values)
        return -np.expm1(-values), lambda weights: gradient(weights * overlap)


class JeffreysDistance(Distance):
    r"""Jeffreys divergence of Gaussians: the sum of both Kullback-Leibler divergences.

    .. math::

       d = \tfrac12 \operatorname{tr} (\Sigma_i^{-1} \Sigma_j + \Sigma_j^{-1} \Sigma_i)
       - m + \tfrac12 \delta^\top (\Sigma_i^{-1} + \Sigma_j^{-1}) \delta
    """

    label = "Jeffreys"

    def __init__(self, means, covariances):
        super().__init__(means, covariances)
        inverse_factors = _inverse_factors(covariances)
        self._inverses = inverse_factors.mT @ inverse_factors

    def pairs(self, i, j):
        offsets = self.means[i] - self.means[j]
        inverse_i, inverse_j = self._inverses[i], self._inverses[j]
        spread = offsets[:, :, None] * offsets[:, None]
        u = _product(inverse_i + inverse_j, offsets)
        traces = (inverse_i * self.covariances[j]).sum(axis=(1, 2))
        traces += (inverse_j * self.covariances[i]).sum(axis=(1, 2))
        values = traces / 2 - offsets.shape[1] + (offsets * u).sum(axis=1) / 2

        def gradient(weights):
            w = weights[:, None, None] / 2
            of_mean = weights[:, None] * u
            slope_i = inverse_j - inverse_i @ (self.covariances[j] + spread) @ inverse_i
            slope_j = inverse_i - inverse_j @ (self.covariances[i] + spread) @ inverse_j
            return self.of_pairs(w * slope_i, w * slope_j, of_mean)

        return np.maximum(values, 0), gradient


def _product(matrices, vectors):
    """The products of (p, m, m) matrices and (p, m) vectors."""
    return (matrices @ vectors[:, :, None])[:, :, 0]


def _log_dets(inverse_factors):
    """Log-determinants from the inverses of the Cholesky factors."""
    diagonals = np.diagonal(inverse_factors, axis1=-2, axis2=-1)
    return -2 * np.log(diagonals).sum(axis=-1)


@dataclass(frozen=True)
class StudentT(DistanceTraits):
    r"""Lower bound of the Fisher-Rao distance between Student t distributions.

    Use ``StudentT`` as the parameter ``distance`` of :class:`skgeom.SQFA` if the
    classes have heavier tails than Gaussians. Each class is modeled as a multivariate t
    distribution of m dimensions with :math:`\nu` degrees of freedom, whose location and
    scatter matrix are the projected mean and covariance. The squared distance is

    .. math::

       d^2 = \frac{\nu + m}{2 (\nu + m + 2)} \sum_k \log^2 \lambda_k
       - \frac{1}{2 (\nu + m + 2)} \Big( \sum_k \log \lambda_k \Big)^2,

    where :math:`\lambda_k` are the generalized eigenvalues of the two matrices of
    :func:`skgeom.geometry.calvo_oller_embedding`. For large :math:`\nu`, the distance
    approaches :func:`skgeom.geometry.distance_calvo_oller`.

    The formula is the geodesic distance between the embedded matrices in the invariant
    metric that induces the Fisher metric of the t distributions (following [1]_). It is
    therefore a distance, and invariant under affine maps. It equals the Fisher-Rao
    distance of the t distributions if the locations are equal.

    Parameters
    ----------
    df : float
        Degrees of freedom :math:`\nu`, at least 1 (the Cauchy distribution).

    Attributes
    ----------
    df : float
        Degrees of freedom :math:`\nu`.

    Raises
    ------
    ValueError
        If ``df`` is not finite, or if ``df`` is below 1, for which the metric of the
        embedding is not positive definite.

    See Also
    --------
    skgeom.SQFA : Maximizes the distance with ``distance=StudentT(df)``.

    Notes
    -----
    The covariance of a t distribution is :math:`\nu / (\nu - 2)` times its scatter
    matrix for :math:`\nu > 2`, and does not exist otherwise. For heavy tails, set
    ``covariance_estimator`` to a robust estimator, such as ``"mcd"``.

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

    def __post_init__(self):
        if not (isinstance(self.df, Real) and 1 <= self.df < np.inf):
            raise ValueError(
                "df, the degrees of freedom, must be a finite number >= 1 "
                f"(1 for the Cauchy distribution), got {self.df!r}."
            )

    def __call__(self, means, covariances):
        """Return the distance object of projected classes.

        Parameters
        ----------
        means : ndarray of shape (n_classes, m)
            Projected class means.
        covariances : ndarray of shape (n_classes, m, m)
            Projected class covariances.

        Returns
        -------
        object
            The distance, with the methods that SQFA uses.
        """
        return _StudentTDistance(means, covariances, self.df)


class _StudentTDistance(CalvoOllerDistance):
    """The distance of :class:`StudentT` for given projected classes."""

    def __init__(self, means, covariances, df):
        super().__init__(means, covariances)
        total = df + means.shape[1]
        self.spread = total / (2 * (total + 2))
        self.dilation = 1 / (2 * (total + 2))


DISTANCES = {
    "fisher-rao": CalvoOllerDistance,
    "fisher-rao-exact": FisherRaoDistance,
    "bhattacharyya": BhattacharyyaDistance,
    "hellinger": HellingerDistance,
    "jeffreys": JeffreysDistance,
    "wasserstein": WassersteinDistance,
    "mahalanobis": MahalanobisDistance,
}

# Distances of SecondMomentSQFA. The means are set to zero, and the covariances are the
# second moments of the classes.
SECOND_MOMENT_DISTANCES = {
    "affine-invariant": AffineInvariantDistance,
    "log-euclidean": LogEuclideanDistance,
    "bhattacharyya": BhattacharyyaDistance,
    "hellinger": HellingerDistance,
    "jeffreys": JeffreysDistance,
    "wasserstein": WassersteinDistance,
    "euclidean": EuclideanDistance,
}


def find_distance(distance, registry):
    """The distance with a registered name, or an object for a distance of the user.

    The docstring of ``_distance.py`` describes the methods of a distance.
    """
    if isinstance(distance, str):
        if distance not in registry:
            raise ValueError(
                f"distance must be one of {sorted(registry)}, a StudentT or a "
                f"function, got {distance!r}."
            )
        return registry[distance]
    if isinstance(distance, type):
        raise TypeError(
            f"distance is the class {distance.__name__}. Pass an object, such as "
            f"{distance.__name__}(3)."
        )
    if isinstance(distance, DistanceTraits):
        return distance
    return CallableDistance(distance)
