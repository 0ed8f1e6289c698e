"""Classes of symmetric positive definite (SPD) matrices."""

from numbers import Integral, Real

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions, validate_params

from skgeom.datasets._gaussians import balanced_labels
from skgeom.geometry import expm, sqrtm

_POSITIVE_INT = Interval(Integral, 1, None, closed="left")

# For each class, its set of eigenvalues and its set of eigenvectors.
_SYN = {
    "SynI": ((0, 0, 1, 1), (0, 1, 0, 1)),
    "SynII": ((0, 1, 2, 3), (0, 0, 0, 0)),
}
# Not tuned: at these limits, condition numbers reach about 1e8.
_MAX_SEPARATION = 10
_MAX_DISPERSION = 3


@validate_params(
    {
        "name": [StrOptions(set(_SYN))],
        "n_per_class": [_POSITIVE_INT],
        "eigenvalue_noise": [Interval(Real, 0, 0.1, closed="both")],
        "eigenvector_noise": [Interval(Real, 0, None, closed="left")],
        "shuffle": ["boolean"],
        "random_state": ["random_state"],
    },
    prefer_skip_nested_validation=True,
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
    r"""Make SynI or SynII, four classes of 10 x 10 SPD matrices.

    Each matrix is :math:`\sum_j \lambda_j u_j u_j^\top` with the eigenvalues and
    eigenvectors of its class plus noise (section 6.1 of [1]_). There are four sets of
    eigenvalues, for j = 1, ..., 10,

    .. math::

       13 - j, \quad 1 + 100 e^{-j/2}, \quad 13 - j/2, \quad 1/j ,

    each divided by its mean, and two sets of eigenvectors, random orthonormal bases.
    The classes of SynI combine the first two sets of eigenvalues with the two bases.
    The classes of SynII have one set of eigenvalues each, and all have the first basis.

    Parameters
    ----------
    name : {"SynI", "SynII"}, default="SynI"
        Which of the two data sets.
    n_per_class : int, default=250
        Number of matrices of each class. Each call draws new bases, so make the
        matrices for training, validation and test in one call, and split them.
    eigenvalue_noise : float, default=0.1
        Uniform noise of at most this size is added to the eigenvalues. It must be at
        most 0.1, for which the smallest eigenvalue is still positive.
    eigenvector_noise : float, default=0.3
        Gaussian noise with this standard deviation is added to the entries of the
        eigenvectors, which are then made orthonormal from first to last.
    shuffle : bool, default=True
        Whether the matrices are in random order, or sorted by class.
    random_state : int, RandomState instance or None, default=None
        For the bases and the noise.

    Returns
    -------
    X : ndarray of shape (4 * n_per_class, 10, 10), float64
        The matrices.
    y : ndarray of shape (4 * n_per_class,), int
        Their classes, 0 to 3. In SynI, ``y // 2`` is the set of eigenvalues and
        ``y % 2`` the basis.

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


@validate_params(
    {
        "n_classes": [_POSITIVE_INT],
        "n_per_class": [_POSITIVE_INT],
        "n_features": [_POSITIVE_INT],
        "separation": [Interval(Real, 0, _MAX_SEPARATION, closed="both")],
        "dispersion": [Interval(Real, 0, _MAX_DISPERSION, closed="both")],
        "shuffle": ["boolean"],
        "random_state": ["random_state"],
        "return_means": ["boolean"],
    },
    prefer_skip_nested_validation=True,
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
    r"""Make classes of SPD matrices that scatter around their means isotropically.

    The mean of each class is :math:`M = \exp(S)` with a random symmetric S of norm
    ``separation``, and its matrices are

    .. math:: X = M^{1/2} \exp(V) M^{1/2}

    with a symmetric V whose distribution is Gaussian and isotropic. The
    affine-invariant distance from X to M is the norm of V. The distribution is
    symmetric about M, so M is its Riemannian mean.

    Parameters
    ----------
    n_classes : int, default=3
        Number of classes.
    n_per_class : int, default=100
        Number of matrices of each class.
    n_features : int, default=4
        Size n of the matrices.
    separation : float, default=1.0
        Affine-invariant distance of the mean of each class from the identity, at most
        10.
    dispersion : float, default=1.0
        Root mean square of the affine-invariant distance from a matrix to the mean of
        its class, at most 3.
    shuffle : bool, default=True
        Whether the matrices are in random order, or sorted by class.
    random_state : int, RandomState instance or None, default=None
        For the means and the matrices.
    return_means : bool, default=False
        Whether to return the means as well.

    Returns
    -------
    X : ndarray of shape (n_classes * n_per_class, n_features, n_features), float64
        The matrices.
    y : ndarray of shape (n_classes * n_per_class,), int
        Their classes, from 0.
    means : ndarray of shape (n_classes, n_features, n_features), float64
        The means of the classes; only if ``return_means``.

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
    directions = _gaussian_symmetric((n_classes, n_features), rng)
    directions /= np.linalg.norm(directions, axis=(-2, -1), keepdims=True)
    means = expm(separation * directions)
    roots = sqrtm(means)

    y = balanced_labels(n_classes, n_per_class, shuffle, rng)
    # E ||V||^2 is the number of coordinates if each has unit variance.
    scale = dispersion / np.sqrt(n_features * (n_features + 1) / 2)
    deviations = expm(scale * _gaussian_symmetric((len(y), n_features), rng))
    X = _symmetric(roots[y] @ deviations @ roots[y])
    return (X, y, means) if return_means else (X, y)


def _gaussian_symmetric(shape, rng):
    """Symmetric (k, n, n) matrices, standard normal in an orthonormal basis."""
    k, n = shape
    matrices = rng.standard_normal((k, n, n))
    return (matrices + matrices.mT) / 2


def _symmetric(matrices):
    return (matrices + matrices.mT) / 2


def _gram_schmidt(matrices):
    """The columns of matrices, (..., n, m), made orthonormal from first to last."""
    q, r = np.linalg.qr(matrices)
    signs = np.where(np.diagonal(r, axis1=-2, axis2=-1) < 0, -1.0, 1.0)
    return q * signs[..., None, :]
