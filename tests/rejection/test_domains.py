"""Thresholds for domains, with the classes that the user guide combines."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn import config_context
from sklearn.frozen import FrozenEstimator
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline

from skgeom import Recentering, RejectionClassifier, TransferDiscriminantAnalysis
from skgeom.datasets import make_spd_classes


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


@pytest.mark.parametrize("rule", [{"threshold": 0.8}, {"rejection_rate": 0.2}])
@pytest.mark.parametrize("enabled", [False, True])
def test_domains_are_for_a_step_before(rule, enabled):
    """Predictions with rejection have no domain: a fit would be useless."""
    X, y = make_spd_classes(2, 30, 3, random_state=0)
    domain = np.arange(60) // 2 % 2
    X[domain == 1] *= 9
    classifier = TransferDiscriminantAnalysis(shrinkage=0.5)
    model = RejectionClassifier(classifier, **rule)
    piped = RejectionClassifier(make_pipeline(Recentering(), GaussianNB()), **rule)
    name = "domain" if enabled else "recentering__domain"
    with config_context(enable_metadata_routing=enabled):
        message = r"domain cannot be passed to RejectionClassifier.*Place Recentering"
        with pytest.raises(ValueError, match=message):
            model.fit(X, y, domain=domain)
        with pytest.raises(ValueError, match=message):
            piped.fit(X, y, **{name: domain})
    if not enabled:
        return
    with config_context(enable_metadata_routing=True):  # what the message advises
        classifier.set_fit_request(domain=False)
        steps = Recentering(), RejectionClassifier(classifier, **rule)
        found = make_pipeline(*steps).fit(X, y, domain=domain)
        found = found.predict(X, domain=domain)
    Z = Recentering().fit_transform(X, domain=domain)
    assert_array_equal(found, model.fit(Z, y).predict(Z))
    assert (found == y).mean() > 0.7
