"""Public methods that estimators share: projections, and predictions of classes."""

import numpy as np
from sklearn.base import (
    ClassifierMixin,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
)
from sklearn.metrics import accuracy_score

from skgeom.utils._dask import score_by_blocks
from skgeom.utils.array_api import like, namespace, take_labels
from skgeom.utils.estimator import BaseEstimator
from skgeom.utils.methods import predict_method
from skgeom.utils.validation import validate_data


class FittedArrayMixin:
    """An estimator is fitted if it has the attribute ``_fitted_array``."""

    def __sklearn_is_fitted__(self):
        return hasattr(self, self._fitted_array)


class LinearProjection(
    FittedArrayMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator
):
    """Base class of projections onto ``components_`` learned from labeled samples."""

    _fitted_array = "components_"

    @predict_method
    def transform(self, X):
        """Project samples onto the components.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples, in the array namespace of ``components_``. They may be sparse
            if ``fit`` accepts sparse samples.

        Returns
        -------
        ndarray of shape (n_samples, n_components)
            The products ``X @ components_.T``, without centering. They have the dtype
            float32 if X has the dtype float32, and float64 otherwise.
        """
        options = {"accept_sparse": self._accepts_sparse, "any_library": True}
        X = validate_data(self, X, reset=False, **options)
        return X @ like(self.components_, X, X.dtype).T

    @property
    def _n_features_out(self):
        return self.components_.shape[0]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


class PosteriorClassifierMixin(FittedArrayMixin, ClassifierMixin):
    """Predictions of a classifier that computes joint log-likelihoods.

    A subclass sets ``classes_`` and ``_fitted_array``, the name of a fitted array, and
    defines ``_joint_log_likelihood(X)``, which returns the logarithms of prior times
    density, (n_samples, n_classes), up to a term that all classes share.
    """

    @predict_method
    def decision_function(self, X):
        """Compute the class scores.

        Parameters
        ----------
        X : array-like of shape (n_samples, ...)
            The samples, as in ``fit``.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            Logarithms of the class probabilities, in the order of ``classes_``. For two
            classes, the result is the log-odds of the second class. If the estimator
            has ``label_noise_``, these are the probabilities without random labels.
        """
        return log_odds(self._joint_log_likelihood(X))

    @predict_method
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

    @score_by_blocks
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

    @predict_method
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
        return self._log_posteriors(self._joint_log_likelihood(X))

    @predict_method
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
        logarithms = self._log_posteriors(self._joint_log_likelihood(X))
        return namespace(logarithms).exp(logarithms)

    def _log_posteriors(self, joint):
        """Logarithms of the class probabilities, from joint log-likelihoods."""
        return log_softmax(joint)


def noisy_log_posteriors(joint, noise, priors):
    """Logarithms of the class probabilities, if labels are random with a probability.

    Random labels are drawn from the priors.
    """
    posteriors = log_softmax(joint)
    if not noise:
        return posteriors
    xp = namespace(joint)
    with np.errstate(divide="ignore"):  # classes without samples
        return xp.log((1 - noise) * xp.exp(posteriors) + noise * priors)


def log_odds(scores):
    """Logarithms of the class probabilities; of two classes, their difference.

    A term that the scores of all classes share is removed. It would dominate the scores
    if it differed between samples, and CalibratedClassifierCV, which calibrates each
    class separately, would calibrate the term.
    """
    two = scores.shape[1] == 2
    return scores[:, 1] - scores[:, 0] if two else log_softmax(scores)


def log_softmax(scores):
    """Logarithms of the softmax of each row."""
    xp = namespace(scores)
    scores = scores - xp.max(scores, axis=1, keepdims=True)
    return scores - xp.log(xp.sum(xp.exp(scores), axis=1, keepdims=True))
