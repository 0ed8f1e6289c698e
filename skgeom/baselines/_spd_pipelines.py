"""Pipelines that classify SPD matrices with pyriemann and scikit-learn."""

from numbers import Real

import numpy as np
from sklearn.base import TransformerMixin
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import check_is_fitted

from skgeom.geometry._spd import upper_triangles
from skgeom.utils._mixins import PosteriorClassifierMixin
from skgeom.utils._sklearn import Interval, StrOptions, validated_parameters
from skgeom.utils.estimator import BaseEstimator
from skgeom.utils.linalg import LowRankPlusIdentity
from skgeom.utils.validation import check_spd_samples, check_two_classes, checked_labels


class SPDPipeline(Pipeline):
    """A pipeline that accepts labels of every type, and names X and y in its errors.

    The classifiers of pyriemann compare y with each label, which requires an array.
    """

    def fit(self, X, y, **params):
        """Fit all steps to valid labels."""
        return super().fit(X, checked_labels(y, X), **params)


class SPDSamples(TransformerMixin, BaseEstimator):
    """Validate SPD matrices, as the first step of a pipeline.

    Parameters
    ----------
    name : str
        Name of the function that returned the pipeline, for error messages.
    """

    _accepts_vectors, _accepts_matrices = False, True

    def __init__(self, name):
        self.name = name

    def fit(self, X, y):
        """Check X, and the number of classes in y."""
        X = check_spd_samples(self, X, reset=True, name=self.name, hermitian=True)
        self.is_complex_ = np.iscomplexobj(X)
        check_two_classes(np.unique(y), self.name)
        return self

    def transform(self, X):
        """Return X as exactly symmetric, or complex Hermitian, matrices."""
        check_is_fitted(self)
        return check_spd_samples(self, X, reset=False, name=self.name, hermitian=True)


class TangentVectors(TransformerMixin, BaseEstimator):
    """Isometric vectors of the tangent space at the mean of SPD matrices.

    pyriemann's ``TangentSpace`` maps Hermitian matrices to complex vectors.

    Parameters
    ----------
    metric : str
        Metric of the mean and the tangent space, a name that pyriemann accepts.
    """

    def __init__(self, metric):
        self.metric = metric

    def fit(self, X, y=None):
        """Compute the mean of the matrices."""
        from pyriemann.geometry.mean import gmean

        self.reference_ = gmean(X, metric=self.metric)
        return self

    def transform(self, X):
        """Convert the matrices to real vectors."""
        from pyriemann.geometry.tangentspace import log_map

        return upper_triangles(log_map(X, self.reference_, metric=self.metric))


class ShrinkageLDA(PosteriorClassifierMixin, TransformerMixin, BaseEstimator):
    r"""Linear discriminant analysis with shrinkage, for fewer samples than features.

    The class probabilities equal those of scikit-learn's
    ``LinearDiscriminantAnalysis(solver="eigen")``, which requires time proportional to
    the third power of the number of features. Here, the p x p covariance within the
    classes is not computed. It is the sum of the shrinkage target, a diagonal matrix D,
    and :math:`R^\top R`, where the rows of R are the scaled residuals of the samples.
    The singular value decomposition of :math:`R D^{-1/2}` requires time proportional
    to p.

    Parameters
    ----------
    shrinkage : "auto" or float
        Intensity of the shrinkage, > 0. ``"auto"`` uses the estimates of Ledoit and
        Wolf for the standardized samples of each class.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The class labels.
    xbar_ : ndarray of shape (n_features,)
        The mean of the samples.
    scalings_ : ndarray of shape (n_features, n_discriminants)
        The discriminants in columns, with unit variance within the classes.
    """

    def __init__(self, shrinkage):
        self.shrinkage = shrinkage

    def fit(self, X, y):
        """Estimate the class means and the discriminants."""
        self.classes_, y = np.unique(y, return_inverse=True)
        priors = np.bincount(y) / len(y)
        means = np.stack([X[y == k].mean(axis=0) for k in range(len(priors))])
        residuals, target = X - means[y], np.zeros(X.shape[1])
        for k, prior in enumerate(priors):
            intensity, variances = self._shrinkage_of(residuals[y == k])
            target += prior * intensity * variances
            residuals[y == k] *= np.sqrt((1 - intensity) / len(y))
        rounding = np.finfo(np.float64).eps * np.mean(X**2)
        if not (target.mean() > rounding and target.all()):
            raise ValueError(
                "The covariance within the classes is singular after shrinkage. Add "
                "different matrices of each class to X."
            )
        scales = np.sqrt(target)
        _, sizes, axes = np.linalg.svd(residuals / scales, full_matrices=False)
        within = LowRankPlusIdentity(axes, 1 + sizes**2, 1.0)
        self.xbar_ = priors @ means
        offsets = np.sqrt(priors)[:, None] * (means - self.xbar_) / scales
        _, _, axes = np.linalg.svd(within.multiply(offsets, -0.5), full_matrices=False)
        self.scalings_ = (within.multiply(axes[: len(means) - 1], -0.5) / scales).T
        self._means = self.transform(means)
        self._intercepts = np.log(priors) - (self._means**2).sum(axis=1) / 2
        return self

    def _shrinkage_of(self, residuals):
        """Shrinkage intensity and target variances of the covariance of a class."""
        if self.shrinkage != "auto":
            return self.shrinkage, np.mean(residuals**2)
        scaler = StandardScaler().fit(residuals)
        standardized = scaler.transform(residuals)
        intensity = ledoit_wolf_intensity(standardized)
        return intensity, np.mean(standardized**2) * scaler.scale_**2

    def transform(self, X):
        """Project samples onto the discriminants."""
        return (X - self.xbar_) @ self.scalings_

    def _joint_log_likelihood(self, X):
        return self.transform(X) @ self._means.T + self._intercepts


def ledoit_wolf_intensity(X):
    """The shrinkage intensity of Ledoit and Wolf, for centered samples.

    Equal to :func:`sklearn.covariance.ledoit_wolf_shrinkage`, but computed from the
    inner products of the samples.
    """
    (n_samples, n_features), products = X.shape, X @ X.T
    squares = np.diagonal(products)
    norm = (products**2).sum() / n_samples**2  # squared norm of the covariance
    excess = norm - (squares.sum() / n_samples) ** 2 / n_features
    if excess <= 0:  # a multiple of the identity
        return 1.0
    error = ((squares**2).sum() / n_samples - norm) / n_samples
    return min(max(error / excess, 0.0), 1.0)


def _check_metric(metric, *functions):
    """Raise an error unless pyriemann has all functions of the metric."""
    names = set.intersection(*map(set, functions))
    if not isinstance(metric, str) or metric not in names:
        raise ValueError(f"metric={metric!r:.60} is not one of {sorted(names)}.")


def mdrm(metric="riemann"):
    """Create a classifier by minimum distance to the Riemannian mean (MDRM).

    MDRM predicts the class whose Riemannian mean is nearest to the matrix [1]_.

    Parameters
    ----------
    metric : str, default="riemann"
        Metric of the means and distances, a name that pyriemann accepts. ``"riemann"``
        is the affine-invariant metric.

    Returns
    -------
    sklearn.pipeline.Pipeline
        A step that validates X and y, and pyriemann's ``MDM``.

    Raises
    ------
    ValueError
        If pyriemann has no mean or no distance of this name.

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
    from pyriemann.geometry.distance import distance_functions
    from pyriemann.geometry.mean import mean_functions

    _check_metric(metric, mean_functions, distance_functions)
    return SPDPipeline([("spdsamples", SPDSamples("mdrm")), ("mdm", MDM(metric))])


@validated_parameters(
    metric=[str],
    shrinkage=[None, StrOptions({"auto"}), Interval(Real, 0, 1, closed="both")],
)
def tslda(metric="riemann", shrinkage="auto"):
    """Create a classifier by LDA in the tangent space at the mean (TSLDA).

    TSLDA maps the matrices to the tangent space at their Riemannian mean, and applies
    linear discriminant analysis to the tangent vectors [1]_.

    Parameters
    ----------
    metric : str, default="riemann"
        Metric of the mean and the tangent space, a name that pyriemann accepts.
        ``"riemann"`` is the affine-invariant metric.
    shrinkage : "auto", float or None, default="auto"
        Shrinkage of the within-class covariance. ``"auto"`` uses the estimate of Ledoit
        and Wolf, a number from 0 to 1 is the shrinkage intensity, and None, as in
        [1]_, uses no shrinkage. Use shrinkage unless there are many more samples than
        the n (n + 1) / 2 dimensions of the tangent space of n x n matrices, or n^2 for
        complex matrices.

    Returns
    -------
    sklearn.pipeline.Pipeline
        A step that validates X and y, a step that computes tangent vectors, and linear
        discriminant analysis. If there are fewer samples than dimensions, its time is
        proportional to the number of dimensions.

    Raises
    ------
    ValueError
        If pyriemann has no mean or no tangent space of this name, or if ``shrinkage``
        is invalid.

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
    from pyriemann.geometry.mean import mean_functions
    from pyriemann.geometry.tangentspace import log_map_functions

    _check_metric(metric, mean_functions, log_map_functions)
    # Without shrinkage, the covariance within the classes may be singular.
    lda = ShrinkageLDA(shrinkage) if shrinkage else LinearDiscriminantAnalysis("svd")
    steps = [
        ("spdsamples", SPDSamples("tslda")),
        ("tangentvectors", TangentVectors(metric)),
        ("lda", lda),
    ]
    return SPDPipeline(steps)
