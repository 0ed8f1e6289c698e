"""A classifier whose probabilities are given."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import make_blobs


class Identity(ClassifierMixin, BaseEstimator):
    """Its probabilities are the samples themselves."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, X):
        return np.asarray(X)


@pytest.fixture
def given():
    """A classifier whose probabilities are the samples."""
    return Identity()


@pytest.fixture
def blobs():
    """Three classes that overlap."""
    return make_blobs(150, centers=3, cluster_std=3.0, random_state=0)
