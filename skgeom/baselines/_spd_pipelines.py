"""Pipelines that classify SPD matrices with pyriemann and scikit-learn."""

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.pipeline import make_pipeline
from sklearn.utils.validation import check_is_fitted

from skgeom.utils.linalg import embedded
from skgeom.utils.validation import check_spd_samples, check_two_classes, checked_labels


class SPDSamples(TransformerMixin, BaseEstimator):
    """Validate SPD matrices and class labels, as the first step of a pipeline.

    Parameters
    ----------
    name : str
        Name of the function that returned the pipeline, for error messages.
    embeds : bool, default=False
        Whether complex matrices are replaced by their real embeddings.
    """

    def __init__(self, name, embeds=False):
        self.name = name
        self.embeds = embeds

    def fit(self, X, y=None):
        """Check X and y."""
        check_spd_samples(self, X, reset=True, name=self.name, hermitian=True)
        labels = checked_labels(y, X)
        if np.ndim(y) != 1:  # the next steps do not accept column vectors
            raise ValueError(f"y should be a 1d array, got shape {np.shape(y)}.")
        check_two_classes(np.unique(labels), self.name)
        return self

    def transform(self, X):
        """Return X as exactly symmetric, or complex Hermitian, matrices."""
        check_is_fitted(self)
        X = check_spd_samples(self, X, reset=False, name=self.name, hermitian=True)
        return embedded(X) if self.embeds and self.is_complex_ else X

    def set_output(self, *, transform=None):
        """Do nothing, because a data frame cannot contain matrices."""
        return self

    def __sklearn_is_fitted__(self):
        return hasattr(self, "n_features_in_")

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.three_d_array = True
        return tags


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
    from pyriemann.tangentspace import TangentSpace

    lda = LinearDiscriminantAnalysis(solver="lsqr", shrinkage=shrinkage)
    return make_pipeline(
        SPDSamples("tslda", embeds=True), TangentSpace(metric=metric), lda
    )
