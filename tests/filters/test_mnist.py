"""The main job at its real size, where the data are at hand."""

import numpy as np
import pytest
from comparisons import needs
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import (
    LinearDiscriminantAnalysis,
    QuadraticDiscriminantAnalysis,
)

from skgeom import SQFA, KernelDiscriminantAnalysis
from skgeom.datasets import fetch_mnist

pytestmark = [pytest.mark.exhaustive, needs("mnist.npz")]


def images():
    """Images as vectors, their labels, and the number of images for training."""
    digits = fetch_mnist(download_if_missing=False)
    return digits.data, digits.target, digits.n_train


def test_sqfa_is_above_lda_and_lda_above_pca():
    """The order of figure 5 of the paper, at a regularisation that suits MNIST."""
    X, y, n_train = images()
    scale = X[:n_train].std()
    X = (X / scale).astype(np.float32)
    X -= X[:n_train].mean(axis=0)
    train, test = slice(None, n_train), slice(n_train, None)

    def accuracy(transformer):
        features = transformer.fit(X[train], y[train]).transform(X)[:, :9]
        classifier = QuadraticDiscriminantAnalysis(reg_param=1e-5, tol=0)
        classifier.fit(features[train], y[train])
        return classifier.score(features[test], y[test])

    pca = accuracy(PCA(9, random_state=0))
    lda = accuracy(LinearDiscriminantAnalysis(solver="eigen", shrinkage=0.5))
    sqfa = SQFA(9, regularization=10, covariance_estimator=None, random_state=0)
    assert accuracy(sqfa) > 0.912 > lda > pca
    assert sqfa.objective_ == pytest.approx(2.96730, abs=1e-4)


def test_kernel_discriminants_with_landmarks():
    """All images, in single precision; 4000 landmarks give 0.982."""
    X, y, n_train = images()
    X = X.astype(np.float32) / 255
    kda = KernelDiscriminantAnalysis(gamma=0.025, n_landmarks=1000, random_state=0)
    kda.set_params(penalty="kernel", regularization=1e-6).fit(X[:n_train], y[:n_train])
    assert kda.solver_ == "nystroem"
    assert kda.score(X[n_train:], y[n_train:]) > 0.970
