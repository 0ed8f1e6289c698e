"""Local Fisher discriminant analysis."""

from numbers import Integral, Real

import numpy as np
from scipy.spatial.distance import pdist, squareform
from sklearn.utils._param_validation import Interval, StrOptions

from skgeom.baselines._decompositions import whitening_basis
from skgeom.utils._mixins import LinearProjection
from skgeom.utils.estimator import estimator_method
from skgeom.utils.linalg import fix_signs, space_of
from skgeom.utils.validation import require_memory


class LocalFisherDiscriminantAnalysis(LinearProjection):
    r"""Local Fisher discriminant analysis (LFDA).

    LFDA is linear discriminant analysis with weights for pairs of samples. Distant
    samples of one class have a small weight, so their distance in the projection may be
    large. A class may therefore have several clusters, and there may be more than
    ``n_classes - 1`` components. The components maximize
    :math:`v^\top S_b v / v^\top S_w v`, one after the other, with the matrices

    .. math::

       S = \tfrac12 \sum_{ij} W_{ij} (x_i - x_j)(x_i - x_j)^\top, \quad
       W^{(w)}_{ij} = \frac{A_{ij}}{n_c}, \quad
       W^{(b)}_{ij} = A_{ij} \left(\frac1n - \frac1{n_c}\right)

    for samples of the same class c; for samples of different classes, the weights are 0
    and 1/n [1]_. The affinity

    .. math:: A_{ij} = \exp\left(-\frac{\|x_i - x_j\|^2}{\sigma_i \sigma_j}\right)

    is scaled by the distance :math:`\sigma_i` of a sample from its k-th nearest
    neighbor in its class.

    Parameters
    ----------
    n_components : int, default=2
        Number of components, at most ``n_features``.
    n_neighbors : int or None, default=7
        The number k. If a class has fewer samples, its farthest sample is used. None
        sets all affinities to one, which is equivalent to linear discriminant analysis.
    embedding : {"weighted", "orthonormalized", "plain"}, default="weighted"
        Scaling of the components. With ``"plain"``, :math:`V S_w V^\top` is the
        identity. ``"weighted"`` multiplies each component by the square root of its
        ratio, and by zero if the ratio is negative. ``"orthonormalized"`` replaces the
        components by an orthonormal basis of their span, in the same order.
    regularization : float, default=0.0
        Fraction of the mean variance of :math:`S_w` that is added to its diagonal.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        The components; the largest entry of each is positive.
    eigenvalues_ : ndarray of shape (n_components,)
        The ratios of the components, in descending order.
    classes_ : ndarray of shape (n_classes,)
        The class labels.
    n_features_in_ : int
        Number of features of the training data.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, if X had names that are all strings.

    See Also
    --------
    sklearn.discriminant_analysis.LinearDiscriminantAnalysis : LFDA with an affinity of
        one for all pairs.
    sklearn.neighbors.NeighborhoodComponentsAnalysis : Linear projection for
        nearest-neighbor classification.

    Notes
    -----
    The matrix of all distances within a class is in memory at once. Pairs of different
    classes require only products with X. Directions in which X does not vary are
    omitted.

    References
    ----------
    .. [1] M. Sugiyama, "Dimensionality Reduction of Multimodal Labeled Data by Local
       Fisher Discriminant Analysis", Journal of Machine Learning Research 8, 2007.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from skgeom.baselines import LocalFisherDiscriminantAnalysis
    >>> X, y = load_wine(return_X_y=True)
    >>> lfda = LocalFisherDiscriminantAnalysis(n_components=4)
    >>> lfda.fit_transform(X, y).shape
    (178, 4)
    """

    _parameter_constraints = {
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "n_neighbors": [None, Interval(Integral, 1, None, closed="left")],
        "embedding": [StrOptions({"weighted", "orthonormalized", "plain"})],
        "regularization": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(
        self,
        n_components=2,
        *,
        n_neighbors=7,
        embedding="weighted",
        regularization=0.0,
    ):
        self.n_components = n_components
        self.n_neighbors = n_neighbors
        self.embedding = embedding
        self.regularization = regularization

    @estimator_method
    def fit(self, X, y):
        """Learn the components.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The samples; not modified.
        y : array-like of shape (n_samples,)
            Class labels of the samples, of at least two classes.

        Returns
        -------
        self
            This object, fitted.

        Raises
        ------
        ValueError
            If X or y is malformed, if there is one class only, if ``n_components``
            exceeds the number of features or of directions in which X varies, or if
            :math:`S_w` is singular up to rounding in a direction in which :math:`S_b`
            is not.
        """
        X, codes = self._validate(X, y)
        space = space_of(X, centered=True, n_least=self.n_components)
        X = space.samples - space.samples.mean(axis=0)
        scale = np.abs(X).max() or 1.0  # squares could overflow or underflow
        within, mixture = self._scatters(X / scale, codes)
        vectors, self.eigenvalues_ = self._solve(within, mixture)
        if self.embedding == "orthonormalized":
            vectors, _ = np.linalg.qr(vectors)
        else:
            vectors = vectors / scale
        if self.embedding == "weighted":
            vectors = vectors * np.sqrt(np.maximum(self.eigenvalues_, 0))
        self.components_ = fix_signs(space.lift(vectors).T)
        return self

    def _scatters(self, X, codes):
        r"""The matrix :math:`S_w` and the mixture :math:`S_w + S_b`, of centered X.

        With the Laplacian :math:`L_c = \operatorname{diag}(A 1) - A` of a class, the
        sum of :math:`A_{ij} (x_i - x_j)(x_i - x_j)^\top / 2` over its pairs is
        :math:`X_c^\top L_c X_c`, about any origin. Pairs of different classes have
        equal weights: their sum needs only the scatter of each class and the class
        means. All terms are semidefinite, so there is no cancellation for classes that
        are far apart.
        """
        n_samples, n_features = X.shape
        within = np.zeros((n_features, n_features))
        mixture = np.zeros((n_features, n_features))
        for code in range(len(self.classes_)):
            of_class = X[codes == code]
            count, mean = len(of_class), of_class.mean(axis=0)
            of_class = of_class - mean
            affinity = _affinity(of_class, self.n_neighbors)
            local = (of_class.T * affinity.sum(axis=1)) @ of_class
            local -= of_class.T @ affinity @ of_class
            within += local / count
            mixture += local / n_samples
            mixture += (1 - count / n_samples) * (of_class.T @ of_class)
            mixture += count * np.outer(mean, mean)
        variance = self.regularization * np.trace(within) / self.n_features_in_
        within, mixture = (s + variance * np.eye(n_features) for s in (within, mixture))
        return (within + within.T) / 2, (mixture + mixture.T) / 2

    def _solve(self, within, mixture):
        """Components, in columns, and ratios."""
        basis = whitening_basis(mixture)
        rank = basis.shape[1]
        if self.n_components > rank:
            raise ValueError(
                f"n_components={self.n_components}, but X varies in {rank} directions "
                "only."
            )
        if not within.any():
            raise ValueError(
                "X does not vary within the classes: all samples of each class are "
                "equal."
            )
        # In these coordinates the mixture S_w + S_b is the identity, so the eigenvalues
        # of S_w are 1 / (1 + ratio).
        ratios, vectors = np.linalg.eigh(basis.T @ within @ basis)
        ratios, vectors = ratios[: self.n_components], vectors[:, : self.n_components]
        if ratios[0] <= 100 * len(within) * np.finfo(float).eps:
            raise ValueError(
                "The within-class matrix is singular, or as small as rounding errors, "
                "in directions in which the classes differ. Causes are few samples, or "
                "classes a million times as far apart as they are wide. Set "
                "regularization to a positive number, or reduce the features by PCA."
            )
        return basis @ (vectors / np.sqrt(ratios)), 1 / ratios - 1


def _affinity(X, n_neighbors):
    """Affinities between samples of a class, with local scaling."""
    require_memory(
        24 * len(X) ** 2,  # with products of scales, and affinities
        f"The distances between {len(X)} samples of a class",
        "Use fewer samples of X.",
    )
    if n_neighbors is None or len(X) == 1:
        return np.ones((len(X), len(X)))
    squares = squareform(pdist(X, "sqeuclidean"))
    k = int(min(n_neighbors, len(X) - 1))  # in position 0 is the sample itself
    scales = np.sqrt(np.partition(squares, k, axis=1)[:, k])
    products = np.outer(scales, scales)
    # Where a scale is zero, the nearest samples are copies, at a distance of zero: they
    # add nothing to the scatter, and other samples are infinitely far.
    np.divide(squares, products, out=squares, where=products > 0)
    squares[products == 0] = np.inf
    return np.exp(-squares)
