"""Public methods of several estimators: predictions and linear projections."""

import numpy as np
from sklearn.base import (
    ClassifierMixin,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
)
from sklearn.metrics import accuracy_score

from skgeom.utils._dask import check_not_dask
from skgeom.utils.array_api import (
    astype,
    check_library,
    float_dtypes,
    largest_size,
    namespace,
    take_labels,
)
from skgeom.utils.estimator import BaseEstimator, estimator_method, validate_data
from skgeom.utils.validation import check_two_classes, checked_labels, raise_too_large


class PosteriorClassifierMixin(ClassifierMixin):
    """Predictions of a classifier that computes joint log-likelihoods.

    A subclass sets ``classes_`` and ``_fitted_array``, the name of a fitted array, and
    defines ``_joint_log_likelihood(X)``, which returns the logarithms of prior times
    density, (n_samples, n_classes), up to a term that all classes share.
    """

    @estimator_method
    def decision_function(self, X):
        """Compute the class scores.

        Parameters
        ----------
        X : array-like of shape (n_samples, ...)
            The samples, as in ``fit``.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            Scores in the order of ``classes_``. The predicted class has the largest
            score. For two classes, the result is the score of the second class minus
            the score of the first class. If the classifier computes probabilities, the
            scores are the logarithms of the class probabilities, up to a term that all
            classes share.
        """
        scores = self._joint_log_likelihood(X)
        return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores

    @estimator_method
    def predict(self, X):
        """Predict the class with the largest score.

        Parameters
        ----------
        X : array-like of shape (n_samples, ...)
            The samples, as in ``fit``.

        Returns
        -------
        ndarray of shape (n_samples,)
            The predicted class labels.
        """
        scores = self._joint_log_likelihood(X)
        return take_labels(self.classes_, namespace(scores).argmax(scores, axis=1))

    @estimator_method
    def score(self, X, y, sample_weight=None):
        """Compute the accuracy of the predicted classes.

        Parameters
        ----------
        X : array-like of shape (n_samples, ...)
            The samples, as in ``fit``.
        y : array-like of shape (n_samples,)
            True class labels of the samples.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the samples.

        Returns
        -------
        float
            The fraction of correctly classified samples.
        """
        predicted = self.predict(X)
        return accuracy_score(y, predicted, sample_weight=sample_weight)

    @estimator_method
    def predict_log_proba(self, X):
        """Compute the logarithms of the class probabilities.

        Parameters
        ----------
        X : array-like of shape (n_samples, ...)
            The samples, as in ``fit``.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Logarithms of the class probabilities, in the order of ``classes_``.
        """
        return log_softmax(self._joint_log_likelihood(X))

    @estimator_method
    def predict_proba(self, X):
        """Compute the class probabilities.

        Parameters
        ----------
        X : array-like of shape (n_samples, ...)
            The samples, as in ``fit``.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Class probabilities, in the order of ``classes_``.
        """
        logarithms = log_softmax(self._joint_log_likelihood(X))
        return namespace(logarithms).exp(logarithms)


def log_softmax(scores):
    """Logarithms of the softmax of each row."""
    xp = namespace(scores)
    scores = scores - xp.max(scores, axis=1, keepdims=True)
    return scores - xp.log(xp.sum(xp.exp(scores), axis=1, keepdims=True))


class LinearProjection(
    ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator
):
    """Base class of projections onto ``components_`` learned from labeled samples."""

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
            The products ``X @ components_.T``, without centering. They have the dtype
            float32 if X has the dtype float32, and float64 otherwise.
        """
        X = validate_data(self, X, dtype=float_dtypes(X), reset=False)
        return X @ astype(self.components_, X.dtype).T

    def _validate(self, X, y):
        """Validated X in double precision, and class indices. Sets ``classes_``."""
        check_not_dask(self, X, "Fit it to a sample of the rows")
        check_library(X, self)
        X = validate_data(self, X, dtype=float_dtypes(X)[0])
        largest = largest_size(X)
        if not np.isfinite(2 * X.shape[0] * largest):
            raise_too_large(largest)
        self.classes_, codes = np.unique(checked_labels(y, X), return_inverse=True)
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
