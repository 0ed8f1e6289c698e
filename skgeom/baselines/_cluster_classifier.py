"""A classifier that assigns a class label to each cluster of a clusterer."""

import numpy as np
from sklearn.base import ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.metrics.cluster import contingency_matrix
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from skgeom.utils._sklearn import HasMethods
from skgeom.utils.errors import naming
from skgeom.utils.estimator import BaseEstimator
from skgeom.utils.methods import fit_method
from skgeom.utils.validation import check_array, checked_labels, validate_data


class ClusterClassifier(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):
    """Classify samples by the most frequent class of their cluster.

    Parameters
    ----------
    clusterer : estimator
        A clusterer with ``fit`` and ``predict``, for matrices or for vectors. ``fit``
        of the clusterer does not receive the labels.

    Attributes
    ----------
    clusterer_ : estimator
        The fitted clusterer.
    clusters_ : ndarray of shape (n_clusters,)
        The indices of the clusters that contain training samples, in ascending order.
    cluster_labels_ : ndarray of shape (n_clusters,)
        The most frequent class in each cluster. If several classes are equally
        frequent, the first class is used. For new samples in a cluster without training
        samples, ``predict`` returns the most frequent class of all training samples.
    classes_ : ndarray of shape (n_classes,)
        The class labels.
    n_features_in_ : int
        Length of the second axis of X.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, if X is a data frame whose column names are all strings.

    Examples
    --------
    >>> from sklearn.cluster import KMeans
    >>> from sklearn.datasets import load_iris
    >>> from skgeom.baselines import ClusterClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = ClusterClassifier(KMeans(5, n_init=10, random_state=0)).fit(X, y)
    >>> model.cluster_labels_.shape
    (5,)
    >>> bool(model.score(X, y) > 0.85)
    True
    """

    _parameter_constraints = {"clusterer": [HasMethods(["fit", "predict"])]}

    def __init__(self, clusterer):
        self.clusterer = clusterer

    @fit_method(nested_validation=True)
    def fit(self, X, y):
        """Cluster the samples, and determine the most frequent class of each cluster.

        Parameters
        ----------
        X : array-like of shape (n_samples, ...)
            Samples of any shape that the clusterer accepts.
        y : array-like of shape (n_samples,)
            Class labels of the samples.

        Returns
        -------
        self
            The fitted estimator.

        Raises
        ------
        ValueError
            If y is malformed, or if the clusterer does not accept X.
        """
        samples = check_array(
            X, input_name="X", dtype=np.float64, ensure_2d=False, allow_nd=True
        )
        validate_data(self, X, skip_check_array=True)
        labels = checked_labels(y, samples)
        self.classes_, codes = np.unique(labels, return_inverse=True)
        with naming("X"):
            self.clusterer_ = clone(self.clusterer).fit(samples)
        clusters = self.clusterer_.predict(samples)
        self.clusters_, positions = np.unique(clusters, return_inverse=True)
        counts = contingency_matrix(positions, codes)
        self.cluster_labels_ = self.classes_[counts.argmax(axis=1)]
        self._most_frequent = self.classes_[counts.sum(axis=0).argmax()]
        return self

    def predict(self, X):
        """Predict class labels.

        Parameters
        ----------
        X : array-like of shape (n_samples, ...)
            Samples of any shape that the clusterer accepts.

        Returns
        -------
        ndarray of shape (n_samples,)
            The class labels of the clusters that contain the samples.
        """
        check_is_fitted(self)
        samples = check_array(
            X, input_name="X", dtype=np.float64, ensure_2d=False, allow_nd=True
        )
        with naming("X"):
            clusters = self.clusterer_.predict(samples)
        validate_data(self, X, skip_check_array=True, reset=False)
        positions = np.searchsorted(self.clusters_, clusters)
        positions = positions.clip(max=len(self.clusters_) - 1)
        known = self.clusters_[positions] == clusters
        return np.where(known, self.cluster_labels_[positions], self._most_frequent)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags = get_tags(self.clusterer).input_tags
        tags.input_tags.sparse = False
        return tags
