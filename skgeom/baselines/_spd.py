"""Classifiers of SPD matrices, built from pyriemann and scikit-learn."""

from numbers import Integral

from sklearn.cluster import KMeans
from sklearn.decomposition import KernelPCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.svm import SVC

from skgeom.baselines._cluster_classifier import ClusterClassifier
from skgeom.baselines._spd_samples import SPDSamples
from skgeom.geometry import logm
from skgeom.geometry._spd import upper_triangles
from skgeom.utils.estimator import substitute_docs

_DOCS = {
    "metric": """
metric : str, default="riemann"
    Metric of the mean at which the tangent space is taken, as pyriemann names it.
    ``"riemann"`` is the affine-invariant one.""",
    "shrinkage": """
shrinkage : "auto", float or None, default="auto"
    Shrinkage of the covariance within the classes: ``"auto"`` for that of Ledoit and
    Wolf, a number from 0 to 1, or None for no shrinkage. The tangent space of n x n
    matrices has n (n + 1) / 2 dimensions, often about as many as there are samples.
    Then shrinkage is necessary.""",
    "C": """
C : float, default=1.0
    Inverse strength of the regularisation of the support vector machine.""",
    "n_clusters": """
n_clusters : int
    Number of clusters of all samples, of whatever class.""",
    "n_init": """
n_init : int, default=10
    Number of random starts. The best result is kept.""",
    "random_state": """
random_state : int, RandomState instance or None, default=None
    For the random starts.""",
}


def mdrm(metric="riemann"):
    """Minimum distance to the Riemannian mean of a class.

    Predicts the class whose Riemannian mean is nearest [1]_.

    Parameters
    ----------
    metric : str, default="riemann"
        Metric of the means and distances, as pyriemann names it. ``"riemann"`` is the
        affine-invariant one.

    Returns
    -------
    sklearn.pipeline.Pipeline
        A check of X, and pyriemann's ``MDM``.

    References
    ----------
    .. [1] A. Barachant, S. Bonnet, M. Congedo and C. Jutten, "Multiclass Brain-Computer
       Interface Classification by Riemannian Geometry", IEEE Transactions on Biomedical
       Engineering 59(4), 2012.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from skgeom import RegionCovariance
    >>> from skgeom.baselines import mdrm
    >>> digits = load_digits(n_class=3)
    >>> X = RegionCovariance().transform(digits.images)
    >>> model = mdrm().fit(X[:300], digits.target[:300])
    >>> bool(model.score(X[300:], digits.target[300:]) > 0.8)
    True
    """
    from pyriemann.classification import MDM

    return make_pipeline(SPDSamples("mdrm"), MDM(metric=metric))


@substitute_docs(**_DOCS)
def tslda(metric="riemann", shrinkage="auto"):
    """Linear discriminant analysis in the tangent space at the mean.

    Parameters
    ----------
    {metric}
    {shrinkage}

    Returns
    -------
    sklearn.pipeline.Pipeline
        A check of X, a ``TangentSpace`` of pyriemann and
        ``LinearDiscriminantAnalysis``: TSLDA of [1]_, which has no shrinkage.

    References
    ----------
    .. [1] A. Barachant, S. Bonnet, M. Congedo and C. Jutten, "Multiclass Brain-Computer
       Interface Classification by Riemannian Geometry", IEEE Transactions on Biomedical
       Engineering 59(4), 2012.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from skgeom import RegionCovariance
    >>> from skgeom.baselines import tslda
    >>> digits = load_digits(n_class=3)
    >>> X = RegionCovariance().transform(digits.images)
    >>> model = tslda().fit(X[:300], digits.target[:300])
    >>> bool(model.score(X[300:], digits.target[300:]) > 0.8)
    True
    """
    return make_pipeline(
        SPDSamples("tslda"), _tangent_space(metric), _shrunk_lda(shrinkage)
    )


@substitute_docs(**_DOCS)
def tangent_space_svm(metric="riemann", kernel="linear", C=1.0):
    """Support vector machine in the tangent space at the mean.

    Parameters
    ----------
    {metric}
    kernel : str, default="linear"
        Kernel of the tangent vectors, as :class:`sklearn.svm.SVC` names it. The linear
        one is the Riemannian kernel of [1]_.
    {C}

    Returns
    -------
    sklearn.pipeline.Pipeline
        A check of X, a ``TangentSpace`` of pyriemann and ``SVC``.

    References
    ----------
    .. [1] A. Barachant, S. Bonnet, M. Congedo and C. Jutten, "Classification of
       covariance matrices using a Riemannian-based kernel for BCI applications",
       Neurocomputing 112, 2013.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from skgeom import RegionCovariance
    >>> from skgeom.baselines import tangent_space_svm
    >>> digits = load_digits(n_class=3)
    >>> X = RegionCovariance().transform(digits.images)
    >>> model = tangent_space_svm().fit(X[:300], digits.target[:300])
    >>> bool(model.score(X[300:], digits.target[300:]) > 0.8)
    True
    """
    return make_pipeline(
        SPDSamples("tangent_space_svm"),
        _tangent_space(metric),
        SVC(kernel=kernel, C=C, random_state=0),  # or it draws from numpy.random
    )


@substitute_docs(**_DOCS)
def log_euclidean_svm(C=1.0, gamma="scale"):
    r"""Support vector machine with the log-Euclidean Gaussian kernel.

    The kernel is :math:`k(X, Y) = \exp(-\gamma \|\log X - \log Y\|_F^2)`, which is
    positive definite for every :math:`\gamma > 0` [1]_.

    Parameters
    ----------
    {C}
    gamma : {"scale", "auto"} or float, default="scale"
        The :math:`\gamma` of the kernel, that is :math:`1 / (2 \sigma^2)`, or one of
        the rules of :class:`sklearn.svm.SVC`, applied to the entries of the logarithms.

    Returns
    -------
    sklearn.pipeline.Pipeline
        A check of X, matrix logarithms as vectors, and ``SVC``.

    References
    ----------
    .. [1] S. Jayasumana, R. Hartley, M. Salzmann, H. Li and M. Harandi, "Kernel Methods
       on Riemannian Manifolds with Gaussian RBF Kernels", IEEE TPAMI 37(12), 2015.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from skgeom import RegionCovariance
    >>> from skgeom.baselines import log_euclidean_svm
    >>> digits = load_digits(n_class=3)
    >>> X = RegionCovariance().transform(digits.images)
    >>> model = log_euclidean_svm().fit(X[:300], digits.target[:300])
    >>> bool(model.score(X[300:], digits.target[300:]) > 0.8)
    True
    """
    return make_pipeline(
        SPDSamples("log_euclidean_svm"),
        _log_vectorizer(),
        SVC(kernel="rbf", gamma=gamma, C=C, random_state=0),
    )


@substitute_docs(**_DOCS)
def tssm_lda(n_components=10, metric="riemann", shrinkage="auto"):
    """Linear discriminant analysis in the tangent space of a sub-manifold.

    This is TSSM+LDA of [1]_. For two classes, the filters that diagonalise both
    Riemannian class means are computed. The ``n_components`` filters with the most
    extreme eigenvalues reduce the matrices to W' X W, which :func:`tslda` classifies.
    For several classes, there is one such classifier for each class against the rest.

    Parameters
    ----------
    n_components : int, default=10
        Size of the reduced matrices. Matrices of at most this size are not reduced.
    {metric}
    {shrinkage}

    Returns
    -------
    sklearn.multiclass.OneVsRestClassifier
        Of a pipeline with a check of X, pyriemann's ``CSP`` and ``TangentSpace``, and
        ``LinearDiscriminantAnalysis``.

    References
    ----------
    .. [1] X. Xie, Z. L. Yu, H. Lu, Z. Gu and Y. Li, "Motor Imagery Classification Based
       on Bilinear Sub-Manifold Learning of Symmetric Positive-Definite Matrices", IEEE
       Transactions on Neural Systems and Rehabilitation Engineering 25(6), 2017.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from skgeom import RegionCovariance
    >>> from skgeom.baselines import tssm_lda
    >>> digits = load_digits(n_class=3)
    >>> X = RegionCovariance().transform(digits.images)
    >>> model = tssm_lda(n_components=4).fit(X[:300], digits.target[:300])
    >>> bool(model.score(X[300:], digits.target[300:]) > 0.8)
    True
    """
    from pyriemann.spatialfilters import CSP

    filters = CSP(nfilter=n_components, metric=metric, log=False)
    return OneVsRestClassifier(
        make_pipeline(
            SPDSamples("tssm_lda"),
            filters,
            _tangent_space(metric),
            _shrunk_lda(shrinkage),
        )
    )


@substitute_docs(**_DOCS)
def riemannian_kmeans(n_clusters, n_init=10, random_state=None):
    """Classify by k-means clusters of the affine-invariant metric.

    Parameters
    ----------
    {n_clusters}
    {n_init}
    {random_state}

    Returns
    -------
    ClusterClassifier
        Of a pipeline: a check of X, and pyriemann's ``Kmeans``.

    Raises
    ------
    ValueError
        If ``n_clusters`` is no integer from 1 on.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from skgeom import RegionCovariance
    >>> from skgeom.baselines import riemannian_kmeans
    >>> digits = load_digits(n_class=2)
    >>> X = RegionCovariance().transform(digits.images)
    >>> model = riemannian_kmeans(n_clusters=3, n_init=2, random_state=0)
    >>> bool(model.fit(X, digits.target).score(X, digits.target) > 0.9)
    True
    """
    from pyriemann.clustering import Kmeans

    # The other clusterers check it themselves, when they are fitted.
    if not isinstance(n_clusters, Integral) or n_clusters < 1:
        raise ValueError(
            f"n_clusters must be an integer from 1 on, got {n_clusters!r}."
        )
    kmeans = Kmeans(
        n_clusters, metric="riemann", n_init=n_init, random_state=random_state
    )
    return ClusterClassifier(
        make_pipeline(SPDSamples("riemannian_kmeans", labelled=False), kmeans)
    )


@substitute_docs(**_DOCS)
def log_euclidean_kmeans(n_clusters, n_init=10, random_state=None):
    """Classify by k-means clusters of the log-Euclidean metric.

    Parameters
    ----------
    {n_clusters}
    {n_init}
    {random_state}

    Returns
    -------
    ClusterClassifier
        Of a pipeline: a check of X, matrix logarithms as vectors, and
        :class:`sklearn.cluster.KMeans`.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from skgeom import RegionCovariance
    >>> from skgeom.baselines import log_euclidean_kmeans
    >>> digits = load_digits(n_class=2)
    >>> X = RegionCovariance().transform(digits.images)
    >>> model = log_euclidean_kmeans(n_clusters=3, random_state=0)
    >>> bool(model.fit(X, digits.target).score(X, digits.target) > 0.9)
    True
    """
    kmeans = KMeans(n_clusters, n_init=n_init, random_state=random_state)
    return ClusterClassifier(
        make_pipeline(
            SPDSamples("log_euclidean_kmeans", labelled=False),
            _log_vectorizer(),
            kmeans,
        )
    )


@substitute_docs(**_DOCS)
def kernel_kmeans(n_clusters, gamma=None, n_init=10, random_state=None):
    r"""Classify by kernel k-means clusters, with the log-Euclidean Gaussian kernel.

    The kernel is that of :func:`log_euclidean_svm`. Kernel k-means is k-means in its
    feature space. It is computed as k-means of all kernel principal components, which
    have the same distances between training samples. These need all eigenvectors of
    the kernel matrix, so the limit is a few thousand samples.

    Parameters
    ----------
    {n_clusters}
    gamma : float or None, default=None
        The :math:`\gamma` of the kernel; None for 2 / (n (n + 1)), with n x n matrices.
    {n_init}
    {random_state}

    Returns
    -------
    ClusterClassifier
        Of a pipeline: a check of X, matrix logarithms as vectors,
        :class:`sklearn.decomposition.KernelPCA` and :class:`sklearn.cluster.KMeans`.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from skgeom import RegionCovariance
    >>> from skgeom.baselines import kernel_kmeans
    >>> digits = load_digits(n_class=2)
    >>> X = RegionCovariance().transform(digits.images)
    >>> model = kernel_kmeans(n_clusters=3, random_state=0)
    >>> bool(model.fit(X, digits.target).score(X, digits.target) > 0.9)
    True
    """
    features = KernelPCA(
        n_components=None, kernel="rbf", gamma=gamma, eigen_solver="dense"
    )
    kmeans = KMeans(n_clusters, n_init=n_init, random_state=random_state)
    return ClusterClassifier(
        make_pipeline(
            SPDSamples("kernel_kmeans", labelled=False),
            _log_vectorizer(),
            features,
            kmeans,
        )
    )


def _tangent_space(metric):
    from pyriemann.tangentspace import TangentSpace

    return TangentSpace(metric=metric)


def _shrunk_lda(shrinkage):
    return LinearDiscriminantAnalysis(solver="lsqr", shrinkage=shrinkage)


def _log_vectorizer():
    return FunctionTransformer(_log_vectors)


def _log_vectors(X):
    """Vectors whose distances are the log-Euclidean distances of SPD matrices."""
    return upper_triangles(logm(X))
