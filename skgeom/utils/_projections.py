"""Linear projections of samples onto components."""

import numpy as np
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
)
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data

from skgeom.utils._dask import refuse_dask
from skgeom.utils.array_api import astype, check_library, float_dtypes, to_numpy
from skgeom.utils.estimator import estimator_method
from skgeom.utils.validation import check_two_classes


class LinearProjection(
    ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator
):
    """Projection onto ``components_`` that are learnt from labelled samples."""

    _fitted_array = "components_"

    @estimator_method
    def transform(self, X):
        """Project samples onto the components.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The samples, in the array namespace of ``components_``.

        Returns
        -------
        ndarray of shape (n_samples, n_components)
            The products ``X @ components_.T``, without centering; float32 for X of
            float32.
        """
        X = validate_data(self, X, dtype=float_dtypes(X), reset=False)
        return X @ astype(self.components_, X.dtype).T

    def _validate(self, X, y):
        """Valid X, in double precision, and class numbers; sets the classes."""
        refuse_dask(self, X, "Fit it to a sample of the rows")
        check_library(X, self)
        X, y = validate_data(self, X, y, dtype=float_dtypes(X)[0])
        check_classification_targets(y)
        self.classes_, codes = np.unique(to_numpy(y), return_inverse=True)
        check_two_classes(self.classes_, type(self).__name__)
        return X, codes

    @property
    def _n_features_out(self):
        return len(self.components_)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
