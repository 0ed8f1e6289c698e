"""Predictions of classifiers by the posterior probabilities of the classes."""

from sklearn.base import ClassifierMixin

from skgeom.utils.array_api import namespace, take_labels
from skgeom.utils.estimator import estimator_method


class PosteriorClassifierMixin(ClassifierMixin):
    """The predictions of a classifier that computes joint log-likelihoods.

    A subclass sets ``classes_`` and ``_fitted_array``, the name of a fitted array, and
    defines ``_joint_log_likelihood(X)``: the logarithms of prior times density,
    (n_samples, n_classes), up to a term that the classes share.
    """

    @estimator_method
    def decision_function(self, X):
        """Logarithms of prior times density, up to a term that the classes share.

        Parameters
        ----------
        X : array-like of shape (n_samples, ...)
            The samples, as in ``fit``.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            For two classes, the log-odds of ``classes_[1]``.
        """
        joint = self._joint_log_likelihood(X)
        return joint[:, 1] - joint[:, 0] if joint.shape[1] == 2 else joint

    @estimator_method
    def predict(self, X):
        """The most probable class of each sample.

        Parameters
        ----------
        X : array-like of shape (n_samples, ...)
            The samples, as in ``fit``.

        Returns
        -------
        ndarray of shape (n_samples,)
            Labels from ``classes_``.
        """
        joint = self._joint_log_likelihood(X)
        return take_labels(self.classes_, namespace(joint).argmax(joint, axis=1))

    @estimator_method
    def predict_log_proba(self, X):
        """Logarithms of the probabilities of the classes.

        Parameters
        ----------
        X : array-like of shape (n_samples, ...)
            The samples, as in ``fit``.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            In the order of ``classes_``.
        """
        return log_softmax(self._joint_log_likelihood(X))

    @estimator_method
    def predict_proba(self, X):
        """Probabilities of the classes.

        Parameters
        ----------
        X : array-like of shape (n_samples, ...)
            The samples, as in ``fit``.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            In the order of ``classes_``.
        """
        logarithms = log_softmax(self._joint_log_likelihood(X))
        return namespace(logarithms).exp(logarithms)

    @estimator_method
    def score(self, X, y, sample_weight=None):
        """Accuracy of the predicted classes.

        Parameters
        ----------
        X : array-like of shape (n_samples, ...)
            The samples, as in ``fit``.
        y : array-like of shape (n_samples,)
            Their true classes.
        sample_weight : array-like of shape (n_samples,), default=None
            Their weights.

        Returns
        -------
        float
            The share of the samples whose class is predicted correctly.
        """
        return super().score(X, y, sample_weight)


def log_softmax(scores):
    """Logarithms of probabilities that are proportional to the exponentials."""
    xp = namespace(scores)
    scores = scores - xp.max(scores, axis=1, keepdims=True)
    return scores - xp.log(xp.sum(xp.exp(scores), axis=1, keepdims=True))
