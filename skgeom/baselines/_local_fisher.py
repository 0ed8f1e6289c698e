"""Local Fisher discriminant analysis."""

from numbers import Integral, Real

import numpy as np
from scipy.spatial.distance import pdist, squareform

from skgeom._filters._basis import span_of_samples
from skgeom.utils._mixins import LinearProjection
from skgeom.utils._sklearn import Interval, StrOptions
from skgeom.utils.linalg import fix_signs, whitening_basis
from skgeom.utils.memory import require_memory
from skgeom.utils.methods import fit_method
from skgeom.utils.validation import encoded_labels, validated_samples


class LocalFisherDiscriminantAnalysis(LinearProjection):
    r"""Local Fisher discriminant analysis (LFDA).

    LFDA is linear discriminant analysis with weights for pairs of samples. Distant
    samples of the same class have a small weight, so they may be distant in the
    projection as well. A class may therefore consist of several clusters, and there may
    be more than ``n_classes - 1`` components. The components v are computed one after
    the other. They maximize the ratio :math:`v^\top S_b v / v^\top S_w v`, where both
    matrices are sums over all pairs of the n samples [1]_,

    .. math::

       S_w = \tfrac12 \sum_{ij} W^{(w)}_{ij} (x_i - x_j)(x_i - x_j)^\top, \qquad
       S_b = \tfrac12 \sum_{ij} W^{(b)}_{ij} (x_i - x_j)(x_i - x_j)^\top.

    For samples of the same class c, with :math:`n_c` samples, the weights are

    .. math::

       W^{(w)}_{ij} = \frac{A_{ij}}{n_c}, \qquad
       W^{(b)}_{ij} = A_{ij} \left(\frac1n - \frac1{n_c}\right), \qquad
       A_{ij} = \exp\left(-\frac{\|x_i - x_j\|^2}{\sigma_i \sigma_j}\right),

    where :math:`\sigma_i` is the distance of sample i from its k-th nearest neighbor in
    its class. For samples of different classes, :math:`W^{(w)}_{ij} = 0` and
    :math:`W^{(b)}_{ij} = 1/n`.

    Parameters
    ----------
    n_components : int, default=2
        Number of components, at most ``n_features``.
    n_neighbors : int or None, default=7
        The number k of the neighbor that determines :math:`\sigma_i`. If a class has at
        most k samples, the farthest sample is used. None sets all affinities
        :math:`A_{ij}` to 1, which is equivalent to linear discriminant analysis.
    embedding : {"weighted", "orthonormalized", "plain"}, default="weighted"
        Scaling of the components. With ``"plain"``, :math:`V S_w V^\top` is the
        identity, where the rows of V are the components. ``"weighted"`` multiplies each
        of these components by the square root of its ratio, or by 0 if the ratio is
        negative. ``"orthonormalized"`` orthonormalizes the components in their order.
    regularization : float, default=0.0
        Number that is added to the diagonal of :math:`S_w`, as a fraction of the mean
        of the diagonal.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        The components. The entry of each component with the largest absolute value is
        positive.
    eigenvalues_ : ndarray of shape (n_components,)
        The ratios :math:`v^\top S_b v / v^\top S_w v` of the components, in descending
        order.
    classes_ : ndarray of shape (n_classes,)
        The class labels.
    n_features_in_ : int
        Number of features of the training data.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, if X is a data frame whose column names are all strings.

    See Also
    --------
    sklearn.discriminant_analysis.LinearDiscriminantAnalysis : Equivalent to LFDA with
        ``n_neighbors=None``.
    sklearn.neighbors.NeighborhoodComponentsAnalysis : Linear projection for
        nearest-neighbor classification.

    Notes
    -----
    The memory grows with the square of the number of samples of the largest class.
    Directions in which X does not vary are omitted.

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

    @fit_method
    def fit(self, X, y):
        """Compute the components.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The samples; not modified.
        y : array-like of shape (n_samples,)
            Class labels of the samples. At least two classes are required.

        Returns
        -------
        self
            The fitted estimator.

        Raises
        ------
        ValueError
            If X or y is malformed, if there is only one class, if ``n_components``
            exceeds the number of directions in which X varies, or if X varies in a
            direction in which :math:`S_w` is zero up to rounding.
        """
        X, y, *_ = validated_samples(self, X, y, double=True)
        self.classes_, codes = encoded_labels(y, type(self).__name__)
        n_least = self.n_components
        basis, samples, _ = span_of_samples(X, centered=True, n_least=n_least)
        X = samples - samples.mean(axis=0)
        scale = np.abs(X).max() or 1.0  # squares could overflow or underflow
        within, mixture = self._scatters(X / scale, codes)
        vectors, self.eigenvalues_ = self._solve(within, mixture)
        if self.embedding == "orthonormalized":
            vectors, _ = np.linalg.qr(vectors)
        else:
            vectors = vectors / scale
        if self.embedding == "weighted":
            vectors = vectors * np.sqrt(np.maximum(self.eigenvalues_, 0))
        self.components_ = fix_signs(basis.lift(vectors).T)
        return self

    def _scatters(self, X, codes):
        r"""The matrices :math:`S_w` and :math:`S_w + S_b` for centered X.

        The sum of :math:`A_{ij} (x_i - x_j)(x_i - x_j)^\top / 2` over the pairs of a
        class c is :math:`X_c^\top L_c X_c`, where :math:`L_c = \operatorname{diag}(A 1)
        - A` is the Laplacian and :math:`X_c` are the samples relative to any origin.
        Pairs of different classes have equal weights, so their sum is computed from the
        scatter of each class and the class means. All terms are positive semidefinite,
        so distant classes cause no cancellation.
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
        """Components (columns) and their ratios."""
        basis = whitening_basis(mixture)
        rank = basis.shape[1]
        if self.n_components > rank:
            raise ValueError(
                f"n_components={self.n_components}, but X varies in only {rank} "
                "directions. Use at most this number of components."
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
                "distances of classes a million times their standard deviations. Set "
                "regularization to a positive number, or reduce the features by PCA."
            )
        return basis @ (vectors / np.sqrt(ratios)), 1 / ratios - 1


def _affinity(X, n_neighbors):
    """Affinities A_ij between the samples of a class, with local scaling."""
    require_memory(
        24 * len(X) ** 2,  # distances, products of scales, and affinities
        f"The distances between {len(X)} samples of a class",
        "Use fewer samples of X.",
    )
    if n_neighbors is None or len(X) == 1:
        return np.ones((len(X), len(X)))
    squares = squareform(pdist(X, "sqeuclidean"))
    k = int(min(n_neighbors, len(X) - 1))  # position 0 is the sample itself
    scales = np.sqrt(np.partition(squares, k, axis=1)[:, k])
    products = np.outer(scales, scales)
    # If a scale is zero, the nearest samples are equal to the sample and contribute
    # nothing to the scatter. All affinities are then set to zero.
    np.divide(squares, products, out=squares, where=products > 0)
    squares[products == 0] = np.inf
    return np.exp(-squares)
