"""What the page "Coming from other packages" says is the same, is the same."""

import numpy as np
import pytest
import sklearn
from scipy.optimize import linear_sum_assignment
from sklearn.covariance import EmpiricalCovariance
from sklearn.discriminant_analysis import (
    LinearDiscriminantAnalysis,
    QuadraticDiscriminantAnalysis,
)
from sklearn.utils.fixes import parse_version

from skgeom import SQFA, ClassStatistics, GaussianClassifier


def same_filters(one, other, atol):
    """Compare filters up to their order and signs."""
    cosines = np.abs(one @ other.T)
    rows, columns = linear_sum_assignment(-cosines)
    np.testing.assert_allclose(cosines[rows, columns], 1, atol=atol)


def test_sqfa(iris):
    peer = pytest.importorskip("sqfa")
    torch = pytest.importorskip("torch")
    X, y = iris
    model = peer.model.SQFA(n_dim=4, n_filters=2, feature_noise=0.1)
    model.fit(torch.tensor(X).float(), torch.tensor(y), show_progress=False)
    peers = model.filters.detach().numpy()
    ours = SQFA(2, regularization=0.1, covariance_estimator=None, random_state=0)
    statistics = ClassStatistics.from_data(X, y)
    ours.fit_statistics(statistics)
    same_filters(ours.components_, peers, atol=1e-4)


def test_discriminant_analysis(iris):
    X, y = iris
    # The default solvers divide by different numbers of samples in different versions.
    likelihood = {"covariance_estimator": EmpiricalCovariance()}
    peers = {"shared": LinearDiscriminantAnalysis("lsqr", **likelihood)}
    if parse_version(sklearn.__version__) >= parse_version("1.8"):
        peers["full"] = QuadraticDiscriminantAnalysis(solver="eigen", **likelihood)
    for covariance, peer in peers.items():
        ours = GaussianClassifier(covariance, regularization=0).fit(X, y)
        theirs = peer.fit(X, y).predict_proba(X)
        np.testing.assert_allclose(ours.predict_proba(X), theirs, atol=1e-9)


def test_a_direction_of_linear_discriminant_analysis(iris):
    X, y = iris
    X, y = X[50:], y[50:]  # as many samples each
    ours = SQFA(1, distance="mahalanobis", regularization=0, covariance_estimator=None)
    peer = LinearDiscriminantAnalysis(solver="eigen").fit(X, y).scalings_[:, :1].T
    same_filters(ours.fit(X, y).components_, peer / np.linalg.norm(peer), atol=1e-6)
