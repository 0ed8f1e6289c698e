"""The base class of the linear projections, and their common computations."""

import numpy as np
from scipy.linalg import eigh
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
)
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data

from skgeom.utils._dask import refuse_dask
from skgeom.utils.array_api import astype, check_library, float_dtypes
from skgeom.utils.estimator import estimator_method
from skgeom.utils.validation import check_two_classes

PROJECTION_DOCS = {
    "classes_": """
    classes_ : ndarray of shape (n_classes,)
        The class labels.
    """,
    "n_features_in_": """
    n_features_in_ : int
        Number of features seen during fit.
    """,
    "feature_names_in_": """
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, if X had names that are all strings.
    """,
}


class LinearProjection(
    ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator
):
    """Projection onto components, which a subclass learns from labelled samples."""

    _fitted_array = "components_"

    @estimator_method
    def transform(self, X):
        """Project samples onto the components.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The samples; of another library than numpy, if this was moved there by
            scikit-learn's ``move_estimator_to``.

        Returns
        -------
        ndarray of shape (n_samples, n_components)
            The products ``X @ components_.T``, without centring; float32 for X of
            float32.
        """
        X = validate_data(self, X, dtype=float_dtypes(X), reset=False)
        return X @ astype(self.components_, X.dtype).T

    def _validate(self, X, y):
        """Valid X, in float64, and class numbers; sets the classes."""
        refuse_dask(self, X, "SQFA takes it in blocks; or fit this to a sample")
        check_library(X, self)
        X, y = validate_data(self, X, y, dtype=np.float64)
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        check_two_classes(self.classes_, type(self).__name__)
        return X, codes

    def _check_n_components(self):
        if self.n_components > self.n_features_in_:
            raise ValueError(
                f"n_components={self.n_components} must not exceed the number of "
                f"features: n_features={self.n_features_in_}."
            )

    @property
    def _n_features_out(self):
        return len(self.components_)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def class_sums(X, codes, n_classes):
    """Sums of the rows of each class, (n_classes, n_features)."""
    return np.array([X[codes == code].sum(axis=0) for code in range(n_classes)])


def principal_directions(rows, n_directions, smallest):
    """Leading right singular vectors, in rows, and their singular values.

    Singular values up to ``smallest`` are left out.
    """
    n_rows, n_features = rows.shape
    if n_rows > n_features:  # the scatter matrix is smaller than the matrix of rows
        scale = np.abs(rows).max() or 1.0  # squares could overflow or underflow
        rows = rows / scale
        first = max(n_features - n_directions, 0)
        squares, axes = eigh(
            rows.T @ rows, subset_by_index=[first, n_features - 1], driver="evr"
        )
        sizes, axes = scale * np.sqrt(np.maximum(squares, 0))[::-1], axes.T[::-1]
        # The square root of an eigenvalue has half the digits.
        smallest = max(smallest, np.sqrt(n_features * np.finfo(float).eps) * sizes[0])
    else:
        _, sizes, axes = np.linalg.svd(rows, full_matrices=False)
    kept = (sizes > smallest)[:n_directions]
    return axes[:n_directions][kept], sizes[:n_directions][kept]
