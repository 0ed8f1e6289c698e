"""Generators of Gaussian classes and of classes of SPD matrices."""

from numbers import Integral, Real

import numpy as np
from sklearn.utils import check_random_state

from skgeom._statistics import ClassStatistics, check_covariances
from skgeom.geometry import expm, sqrtm
from skgeom.utils._sklearn import Interval, StrOptions, validated_parameters

_POSITIVE_INT = Interval(Integral, 1, None, closed="left")


def balanced_labels(n_classes, n_per_class, shuffle, rng):
    """Labels 0, 1, ..., each ``n_per_class`` times, sorted or in random order."""
    y = np.repeat(np.arange(n_classes), n_per_class)
    if shuffle:
        rng.shuffle(y)
    return y


@validated_parameters(
    statistics=[ClassStatistics],
    n_per_class=[_POSITIVE_INT],
    shuffle=["boolean"],
    random_state=["random_state"],
)
def make_gaussian_classes(
    statistics, n_per_class=100, *, shuffle=True, random_state=None
):
    """Draw samples of Gaussian classes with given means and covariances.

    Parameters
    ----------
    statistics : ClassStatistics
        The means and covariances of the classes, such as the result of
        :func:`sqfa_toy_statistics`. Covariances may be singular.
    n_per_class : int, default=100
        Number of samples of each class. The counts in ``statistics`` have no effect.
    shuffle : bool, default=True
        Whether to shuffle the samples. If False, they are sorted by class.
    random_state : int, RandomState instance or None, default=None
        Seed of the samples and their order.

    Returns
    -------
    X : ndarray of shape (n_classes * n_per_class, n_features), float64
        The samples.
    y : ndarray of shape (n_classes * n_per_class,)
        The class labels, which are elements of ``statistics.classes``.

    Raises
    ------
    ValueError
        If ``statistics`` contains only second moments.

    See Also
    --------
    sqfa_toy_statistics : Statistics of toy problems.

    Examples
    --------
    >>> from skgeom.datasets import make_gaussian_classes, sqfa_toy_statistics
    >>> statistics = sqfa_toy_statistics("means")
    >>> X, y = make_gaussian_classes(statistics, 200, random_state=0)
    >>> X.shape, y[:5]
    ((600, 4), array([2, 0, 1, 2, 1]))
    """
    check_covariances(statistics, "make_gaussian_classes")
    rng = check_random_state(random_state)
    n_classes = len(statistics.classes)
    y = balanced_labels(n_classes, n_per_class, shuffle, rng)
    X = np.empty((len(y), statistics.n_features))
    for k in range(n_classes):
        noise = rng.standard_normal((n_per_class, statistics.n_features))
        X[y == k] = statistics.means[k] + noise @ _factor(statistics.covariances[k]).T
    return X, statistics.classes[y]


def _factor(covariance):
    """A matrix L with L L' = covariance. The covariance may be singular."""
    try:
        return np.linalg.cholesky(covariance)
    except np.linalg.LinAlgError:
        eigenvalues, vectors = np.linalg.eigh(covariance)
        return vectors * np.sqrt(np.maximum(eigenvalues, 0))


def _rotation(degrees):
    """Matrix of a rotation in the plane."""
    angle = np.deg2rad(degrees)
    return np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])


def _rotated_covariance(variances, degrees):
    """Covariance with the given variances along two rotated axes."""
    rotation = _rotation(degrees)
    return (rotation * variances) @ rotation.T


def _covariances_toy():
    means = np.zeros((3, 6))
    means[:, 2:4] = [(-0.25, -0.25), (0.25, -0.25), (0, 0.25)]
    covariances = np.zeros((3, 6, 6))
    for k, (angle, variance) in enumerate([(10, 0.9), (45, 1.0), (80, 1.1)]):
        covariances[k, :2, :2] = _rotated_covariance([0.9, 0.02], angle)
        covariances[k, 2:4, 2:4] = 0.6 * np.eye(2)
        covariances[k, 4:, 4:] = variance * np.eye(2)
    return means, covariances


def _means_toy():
    means = np.zeros((3, 4))
    covariances = np.zeros((3, 4, 4))
    for k, (angle, sign) in enumerate([(0, 1), (40, -1), (80, 1)]):
        mean = sign * _rotation(angle)[:, 0]
        means[k, :2] = mean
        covariances[k, :2, :2] = 0.05 * np.eye(2)
        covariances[k, 2:, 2:] = np.outer(mean, mean) + 0.045 * np.eye(2)
    return means, covariances


def _distances_toy():
    covariances = np.zeros((3, 4, 4))
    for k in range(3):
        covariances[k, :2, :2] = _rotated_covariance([0.25, 0.01], 40 * k)
        covariances[k, 2:, 2:] = _rotated_covariance([1.0, 0.04], 20 * k)
    return np.zeros((3, 4)), covariances


def _lda_toy():
    means = [(-0.8, 0.2), (-0.84, -0.2), (0.84, 0.6), (0.8, -0.6)]
    return means, [0.008 * np.eye(2)] * 4


_TOYS = {
    "covariances": _covariances_toy,
    "means": _means_toy,
    "distances": _distances_toy,
    "lda": _lda_toy,
}


@validated_parameters(name=[StrOptions(set(_TOYS))])
def sqfa_toy_statistics(name):
    r"""Return the class statistics of a toy problem for SQFA.

    Each problem demonstrates which differences between the classes determine the
    filters of a method. Learn one filter for ``"lda"``, and two filters for all other
    problems. Set the parameter ``regularization`` of the estimator to the value of
    :math:`\sigma^2` below. :func:`make_gaussian_classes` draws samples with these
    statistics.

    Parameters
    ----------
    name : {"covariances", "means", "distances", "lda"}
        Name of the problem:

        - ``"covariances"``: 3 classes with 6 features [1]_. The covariances differ
          strongly in features 0 and 1, which :class:`~skgeom.SQFA` selects. The means
          differ slightly in features 2 and 3, which LDA selects. Features 4 and 5 have
          the largest variance, and PCA selects them. Use :math:`\sigma^2 = 0.002`,
          as in [1]_.
        - ``"means"``: 3 classes with 4 features [1]_. The means differ in features 0
          and 1, which SQFA selects. The second moments differ more in features 2 and 3,
          which :class:`~skgeom.SecondMomentSQFA` selects. Use :math:`\sigma^2 =
          0.001`.
        - ``"distances"``: 3 classes with 4 features and zero means [2]_. The
          orientations of the covariances differ more in features 0 and 1, which have a
          small variance, than in features 2 and 3, which have a large variance. The
          distance between classes determines which features SQFA selects. Use
          :math:`\sigma^2 = 0.001`.
        - ``"lda"``: 4 classes with 2 features and equal covariances. The filter that
          separates all pairs of classes differs from the filter of LDA. Use
          :math:`\sigma^2 = 0.001`.

    Returns
    -------
    ClassStatistics
        Means and covariances of the classes 0, 1, ..., with equal counts.

    Raises
    ------
    ValueError
        If ``name`` is not the name of a problem.

    References
    ----------
    .. [1] D. Herrera-Esposito and J. Burge, "Supervised Quadratic Feature Analysis:
       Information Geometry for Dimensionality Reduction", 2025, figures 2 and 3.
    .. [2] The first version of [1]_, figure 7.

    Examples
    --------
    >>> from skgeom import SQFA
    >>> from skgeom.datasets import sqfa_toy_statistics
    >>> statistics = sqfa_toy_statistics("covariances")
    >>> statistics.means.shape
    (3, 6)
    >>> sqfa = SQFA(2, regularization=0.002, random_state=0)
    >>> sqfa.fit_statistics(statistics).components_.round(2).any(axis=0)
    array([ True,  True, False, False, False, False])
    """
    means, covariances = _TOYS[name]()
    n_classes = len(means)
    # Only the ratios of the counts matter.
    return ClassStatistics(range(n_classes), [100] * n_classes, means, covariances)


# For each of the four classes, the indices of its eigenvalues and of its eigenvectors.
_SYN = {
    "SynI": ((0, 0, 1, 1), (0, 1, 0, 1)),
    "SynII": ((0, 1, 2, 3), (0, 0, 0, 0)),
}


@validated_parameters(
    name=[StrOptions(set(_SYN))],
    n_per_class=[_POSITIVE_INT],
    eigenvalue_noise=[Interval(Real, 0, 0.1, closed="both")],
    eigenvector_noise=[Interval(Real, 0, None, closed="left")],
    shuffle=["boolean"],
    random_state=["random_state"],
)
def make_syn_spd(
    name="SynI",
    n_per_class=250,
    *,
    eigenvalue_noise=0.1,
    eigenvector_noise=0.3,
    shuffle=True,
    random_state=None,
):
    r"""Make SynI or SynII, two data sets with four classes of 10 x 10 SPD matrices.

    Each matrix is :math:`\sum_j \lambda_j u_j u_j^\top`, where :math:`\lambda_j` and
    :math:`u_j` are the eigenvalues and eigenvectors of its class plus noise (section
    6.1 of [1]_). There are four sets of eigenvalues,

    .. math::

       13 - j, \quad 1 + 100 e^{-j/2}, \quad 13 - j/2, \quad 1/j
       \qquad (j = 1, \dots, 10),

    each divided by its mean, and two sets of eigenvectors, which are random orthonormal
    bases. The four classes of SynI are the combinations of the first two sets of
    eigenvalues with the two bases. The four classes of SynII have different eigenvalues
    and share the first basis.

    Parameters
    ----------
    name : {"SynI", "SynII"}, default="SynI"
        Name of the data set.
    n_per_class : int, default=250
        Number of matrices of each class. Each call draws new bases. To obtain training
        and test matrices with the same bases, call the function once and split the
        result.
    eigenvalue_noise : float, default=0.1
        Largest absolute value of the uniform noise that is added to the eigenvalues. It
        must be at most 0.1, so that the matrices remain positive definite.
    eigenvector_noise : float, default=0.3
        Standard deviation of the Gaussian noise that is added to the entries of the
        eigenvectors. The eigenvectors are then orthonormalized in their order.
    shuffle : bool, default=True
        Whether to shuffle the matrices. If False, they are sorted by class.
    random_state : int, RandomState instance or None, default=None
        Seed of the bases, the noise and the order.

    Returns
    -------
    X : ndarray of shape (4 * n_per_class, 10, 10), float64
        The matrices.
    y : ndarray of shape (4 * n_per_class,), int
        Class labels of the matrices, 0 to 3. In SynI, ``y // 2`` is the index of the
        set of eigenvalues, and ``y % 2`` the index of the basis.

    Raises
    ------
    ValueError
        If an argument is out of range.

    References
    ----------
    .. [1] F. Tang, H. Feng, P. Tino, B. Si and D. Ji, "Probabilistic learning vector
       quantization on manifold of symmetric positive definite matrices", Neural
       Networks 142, 2021.

    Examples
    --------
    >>> from sklearn.model_selection import train_test_split
    >>> from skgeom.datasets import make_syn_spd
    >>> X, y = make_syn_spd("SynII", n_per_class=500, random_state=0)
    >>> X.shape
    (2000, 10, 10)
    >>> X_train, X_test, y_train, y_test = train_test_split(
    ...     X, y, test_size=0.5, stratify=y, random_state=0
    ... )
    """
    rng = check_random_state(random_state)
    n = 10
    j = np.arange(1, n + 1)
    spectra = np.stack([13.0 - j, 1 + 100 * np.exp(-0.5 * j), 13 - 0.5 * j, 1 / j])
    spectra /= spectra.mean(axis=1, keepdims=True)
    bases = _gram_schmidt(rng.standard_normal((2, n, n)))

    which_spectrum, which_basis = map(np.array, _SYN[name])
    y = balanced_labels(4, n_per_class, shuffle, rng)
    eigenvalues = spectra[which_spectrum[y]]
    eigenvalues += rng.uniform(-eigenvalue_noise, eigenvalue_noise, eigenvalues.shape)
    noise = eigenvector_noise * rng.standard_normal((len(y), n, n))
    vectors = _gram_schmidt(bases[which_basis[y]] + noise)
    return _symmetric((vectors * eigenvalues[:, None]) @ vectors.mT), y


@validated_parameters(
    n_classes=[_POSITIVE_INT],
    n_per_class=[_POSITIVE_INT],
    n_features=[_POSITIVE_INT],
    separation=[Interval(Real, 0, None, closed="left")],
    dispersion=[Interval(Real, 0, None, closed="left")],
    shuffle=["boolean"],
    random_state=["random_state"],
    return_means=["boolean"],
)
def make_spd_classes(
    n_classes=3,
    n_per_class=100,
    n_features=4,
    *,
    separation=1.0,
    dispersion=1.0,
    shuffle=True,
    random_state=None,
    return_means=False,
):
    r"""Make classes of SPD matrices with an isotropic distribution around their means.

    The mean of each class is :math:`M = \exp(S)`, where S is a random symmetric matrix
    with the Frobenius norm ``separation``. The matrices of the class are

    .. math:: X = M^{1/2} \exp(V) M^{1/2},

    where V is a symmetric matrix with an isotropic Gaussian distribution. The
    affine-invariant distance from X to M is the Frobenius norm of V. The distribution
    of X is symmetric about M, so M is its Riemannian mean.

    Parameters
    ----------
    n_classes : int, default=3
        Number of classes.
    n_per_class : int, default=100
        Number of matrices of each class.
    n_features : int, default=4
        Size n of the matrices.
    separation : float, default=1.0
        Affine-invariant distance of the mean of each class from the identity.
    dispersion : float, default=1.0
        Root mean square of the affine-invariant distance from a matrix to the mean of
        its class. Condition numbers grow exponentially with ``separation`` and
        ``dispersion``. For example, they reach about 1e8 for a separation of 10 and a
        dispersion of 3.
    shuffle : bool, default=True
        Whether to shuffle the matrices. If False, they are sorted by class.
    random_state : int, RandomState instance or None, default=None
        Seed of the means, the matrices and their order.
    return_means : bool, default=False
        Whether to return the class means as well.

    Returns
    -------
    X : ndarray of shape (n_classes * n_per_class, n_features, n_features), float64
        The matrices.
    y : ndarray of shape (n_classes * n_per_class,), int
        Class labels of the matrices, 0, 1, ...
    means : ndarray of shape (n_classes, n_features, n_features), float64
        The means M of the classes. Returned only if ``return_means=True``.

    Raises
    ------
    ValueError
        If an argument is out of range.

    Examples
    --------
    >>> from skgeom.baselines import mdrm
    >>> from skgeom.datasets import make_spd_classes
    >>> X, y = make_spd_classes(separation=2.0, dispersion=0.5, random_state=0)
    >>> X.shape
    (300, 4, 4)
    >>> float(mdrm().fit(X, y).score(X, y))
    1.0
    """
    rng = check_random_state(random_state)
    directions = _symmetric(rng.standard_normal((n_classes, n_features, n_features)))
    directions /= np.linalg.norm(directions, axis=(-2, -1), keepdims=True)
    means = expm(separation * directions)
    roots = sqrtm(means)

    y = balanced_labels(n_classes, n_per_class, shuffle, rng)
    # E ||V||^2 is the number of coordinates if each has unit variance.
    scale = dispersion / np.sqrt(n_features * (n_features + 1) / 2)
    deviations = expm(
        scale * _symmetric(rng.standard_normal((len(y), n_features, n_features)))
    )
    X = _symmetric(roots[y] @ deviations @ roots[y])
    return (X, y, means) if return_means else (X, y)


def _symmetric(matrices):
    """Symmetric parts of matrices.

    If the entries are standard normal, the coordinates of the symmetric part in an
    orthonormal basis of the symmetric matrices are standard normal.
    """
    return (matrices + matrices.mT) / 2


def _gram_schmidt(matrices):
    """Matrices (..., n, m) whose columns are orthonormalized from first to last."""
    q, r = np.linalg.qr(matrices)
    signs = np.where(np.diagonal(r, axis1=-2, axis2=-1) < 0, -1.0, 1.0)
    return q * signs[..., None, :]
