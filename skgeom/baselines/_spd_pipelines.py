"""Pipelines that classify SPD matrices with pyriemann and scikit-learn."""

from numbers import Real

import numpy as np
from sklearn.base import TransformerMixin
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.pipeline import Pipeline
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from skgeom.utils.estimator import BaseEstimator, naming, validated_parameters
from skgeom.utils.linalg import embedded
from skgeom.utils.validation import check_spd_samples, check_two_classes, checked_labels


class SPDPipeline(Pipeline):
    """A pipeline that accepts labels of every type, and names X and y in its errors.

    The classifiers of pyriemann compare y with each label, which requires an array.
    """

    def fit(self, X, y, **params):
        """Fit all steps to valid labels."""
        with naming("X"):
            return super().fit(X, checked_labels(y, X), **params)


class SPDSamples(TransformerMixin, BaseEstimator):
    """Validate SPD matrices, as the first step of a pipeline.

    Parameters
    ----------
    name : str
        Name of the function that returned the pipeline, for error messages.
    embeds : bool, default=False
        Whether complex matrices are replaced by their real embeddings.
    """

    _accepts_vectors, _accepts_matrices = False, True

    def __init__(self, name, embeds=False):
        self.name = name
        self.embeds = embeds

    def fit(self, X, y):
        """Check X, and the number of classes in y."""
        check_spd_samples(self, X, reset=True, name=self.name, hermitian=True)
        check_two_classes(np.unique(y), self.name)
        return self

    def transform(self, X):
        """Return X as exactly symmetric, or complex Hermitian, matrices."""
        check_is_fitted(self)
        X = check_spd_samples(self, X, reset=False, name=self.name, hermitian=True)
        return embedded(X) if self.embeds and self.is_complex_ else X


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
        the n (n + 1) / 2 dimensions of the tangent space of n x n matrices.

    Returns
    -------
    sklearn.pipeline.Pipeline
        A step that validates X and y, pyriemann's ``TangentSpace``, and
        ``LinearDiscriminantAnalysis``.

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
    from pyriemann.tangentspace import TangentSpace

    _check_metric(metric, mean_functions, log_map_functions)
    # Both solvers have ``transform``. Only "eigen" has shrinkage, and only "svd"
    # computes discriminants if the covariance within the classes is singular.
    solver = "eigen" if shrinkage else "svd"
    lda = LinearDiscriminantAnalysis(solver, shrinkage=shrinkage or None)
    steps = [
        ("spdsamples", SPDSamples("tslda", embeds=True)),
        ("tangentspace", TangentSpace(metric)),
        ("lineardiscriminantanalysis", lda),
    ]
    return SPDPipeline(steps)
