"""A threshold for each domain, with the classes that the user guide combines."""

import numpy as np
import pytest
from sklearn.frozen import FrozenEstimator
from sklearn.naive_bayes import GaussianNB

from skgeom import RejectionClassifier


def test_each_domain_has_its_own_rate(blobs, rng):
    """Samples of the second domain are noisier, and lie in front of all others."""
    X, y = blobs
    classifier = FrozenEstimator(GaussianNB().fit(X, y))
    X, y = np.concatenate([X, X / 4 + rng.normal(size=X.shape)]), np.tile(y, 2)
    domain, models = np.repeat(["a", "b"], 150), {}
    for name in np.unique(domain):
        model = RejectionClassifier(classifier, rejection_rate=0.2)
        models[name] = model.fit(X[domain == name], y[domain == name])
    common = RejectionClassifier(classifier, rejection_rate=0.2).fit(X, y)
    rates = []
    for name, model in models.items():
        samples = X[domain == name]
        confidences = np.sort(classifier.predict_proba(samples).max(axis=1))
        assert confidences[29] < model.threshold_ <= confidences[30]
        assert (model.predict(samples) == -1).mean() == pytest.approx(0.2)
        rates.append((common.predict(samples) == -1).mean())
    assert rates[1] > rates[0] + 0.1
