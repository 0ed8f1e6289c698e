"""Recentering, beside pyriemann's and written out."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from pyriemann.geometry.geodesic import geodesic_riemann
from pyriemann.geometry.mean import mean_euclid, mean_logeuclid, mean_riemann
from pyriemann.transfer import TLCenter, encode_domains
from sklearn.base import clone

from skgeom import Recentering, TransferDiscriminantAnalysis
from skgeom.datasets import make_spd_classes
from skgeom.geometry import distance_affine_invariant, expm

MEANS = {"riemann": mean_riemann, "logeuclid": mean_logeuclid, "euclid": mean_euclid}
BY_DOMAIN = Recentering(), TransferDiscriminantAnalysis(shrinkage=0.5)


@pytest.fixture
def people(rng, make_signals, make_symmetric):
    """Covariances of three classes, of three people with sensors of their own."""
    X, y = make_signals(per_class=24)
    domain = rng.permutation(np.repeat(["ann", "bo", "cy"], 24))
    mixing = expm(0.7 * make_symmetric((3,), 4))  # no rotation, which remains
    mixing = mixing[np.unique(domain, return_inverse=True)[1]]
    return mixing @ X @ mixing.mT, y, domain


@pytest.mark.parametrize("metric", MEANS)
def test_is_the_centring_of_pyriemann(people, metric):
    X, y, domain = people
    _, encoded = encode_domains(X, y, domain)
    theirs = TLCenter(target_domain="cy", metric=metric)
    expected = theirs.fit_transform(X, encoded)
    ours = Recentering(metric=metric)
    assert_allclose(ours.fit_transform(X, domain=domain), expected, atol=1e-6)
    for label, mean in ours.means_.items():
        assert_allclose(mean, MEANS[metric](X[domain == label]), rtol=1e-6)
    new = X[domain == "cy"][:5]
    assert_allclose(ours.transform(new, domain="cy"), theirs.transform(new), atol=1e-6)


@pytest.mark.parametrize("amplitude", [1e-7, 1e-10])
def test_channels_of_different_amplitudes(amplitude, rng):
    """The eigenvalues of the mean differ by more than double precision."""
    signals = rng.normal(size=(8, 8)) @ rng.normal(size=(60, 8, 200))
    signals[:, 3] = amplitude * rng.normal(size=(60, 200))
    Z = Recentering().fit_transform(signals @ signals.mT / 200)
    assert_allclose(mean_riemann(Z), np.eye(8), atol=1e-7)


def test_a_domain_of_one_matrix_is_refused(people):
    """Its mean would be the matrix itself."""
    X, _, domain = people
    alone = np.where(np.arange(len(X)) == 5, "dan", domain)
    with pytest.raises(ValueError, match=r"'dan' has one sample.*partial_fit"):
        Recentering().fit(X, domain=alone)
    with pytest.raises(ValueError, match=r"^X has one sample"):
        Recentering().fit(X[:1])
    model = Recentering().partial_fit(X[:1], domain=["dan"])  # online, it is a start
    assert model.counts_ == {"dan": 1}


def test_labels_of_domains_may_be_numbers_or_text_or_dates_or_none(people):
    X, _, domain = people
    codes = np.unique(domain, return_inverse=True)[1]
    mixed = np.where(domain == "ann", 1, domain.astype(object))
    expected = Recentering().fit_transform(X, domain=domain)
    for labels in (codes.tolist(), codes.astype(float), domain.astype(object), mixed):
        Z = Recentering().fit_transform(X, domain=labels)
        assert_allclose(Z, expected, rtol=1e-12, atol=1e-12)
    dates = np.datetime64("2026-01-01") + codes
    for unit in ("D", "s", "ns"):
        model = Recentering().fit(X, domain=dates.astype(f"M8[{unit}]"))
        Z = model.transform(X, domain=dates.astype("M8[ns]"))
        assert_allclose(Z, expected, rtol=1e-12, atol=1e-12)
    one = Recentering().fit(X)
    assert list(one.means_) == [None] and one.counts_ == {None: len(X)}
    zeros = np.zeros(len(X), int)
    same = Recentering().fit(X, domain=zeros)
    assert_array_equal(one.transform(X), same.transform(X, domain=zeros))
    assert_allclose(one.reference_, one.means_[None], rtol=1e-10)


def test_a_new_domain_is_recentered_by_its_own_mean(people):
    X, _, domain = people
    new = domain == "cy"
    model = Recentering().fit(X[~new], domain=domain[~new])
    Z = model.transform(X, domain=domain)
    assert_allclose(Z, Recentering().fit_transform(X, domain=domain), atol=1e-12)
    assert set(model.means_) == {"ann", "bo"}  # it is not kept


@pytest.mark.parametrize("metric", MEANS)
def test_running_mean(people, metric):
    """Steps along the geodesic, written out; exact for the flat metrics."""
    X, _, domain = people
    online = Recentering(metric=metric)
    for x, label in zip(X, domain, strict=True):
        online.partial_fit(x[None], domain=[label])
    for label in np.unique(domain):
        own = X[domain == label]
        if metric == "riemann":
            mean = own[0]
            for count, x in enumerate(own[1:], start=2):
                mean = geodesic_riemann(mean, x, 1 / count)
            assert_allclose(online.means_[label], mean, rtol=1e-6)
            distance = distance_affine_invariant(mean, mean_riemann(own))
            assert distance < 0.3
        else:
            assert_allclose(online.means_[label], MEANS[metric](own), rtol=1e-8)
    at_once = Recentering(metric=metric).partial_fit(X, domain=domain)
    found, expected = (m.transform(X, domain=domain) for m in (at_once, online))
    assert_allclose(found, expected)


def test_a_new_domain_starts_from_the_reference(people):
    X, _, domain = people
    new = X[domain == "cy"]
    model = Recentering().fit(X[domain != "cy"], domain=domain[domain != "cy"])
    means = [model.means_[label] for label in ("ann", "bo")]
    assert_allclose(model.reference_, mean_riemann(np.stack(means)), rtol=1e-6)
    mean = model.reference_
    for count, x in enumerate(new[:3], start=2):
        model.partial_fit(x[None], domain=["cy"])
        mean = geodesic_riemann(mean, x, 1 / count)
        assert_allclose(model.means_["cy"], mean, rtol=1e-6)
        assert model.counts_["cy"] == count


@pytest.mark.filterwarnings("ignore:Convergence not reached")
def test_window_forgets(people):
    X, _, _ = people
    before, after = X[:30], 50 * X[30:60]
    model = Recentering(window=5).partial_fit(before).partial_fit(after)
    distances = [
        distance_affine_invariant(model.means_[None], mean_riemann(part))
        for part in (before, after)
    ]
    assert distances[1] < 0.3 * distances[0]
    two = Recentering(window=2).partial_fit(X[-9:])
    before = Recentering(window=2).partial_fit(X[-9:-1]).means_[None]
    expected = geodesic_riemann(before, X[-1], 0.5)
    assert_allclose(two.means_[None], expected, rtol=1e-6)


def test_missing_domains_are_errors(people):
    X, _, domain = people
    dates = np.where(domain == "bo", np.datetime64("NaT"), np.datetime64("2026-01-01"))
    missing = {
        "None": np.where(domain == "bo", None, domain),
        "list": [float("nan") if label == "bo" else label for label in domain],
        "pd.NA": pd.Series(domain, dtype="string").replace("bo", pd.NA),
        "NaT": dates,
        "objects": pd.Series(dates).astype(object).to_numpy(),
    }
    first, count = np.argmax(domain == "bo"), np.count_nonzero(domain == "bo")
    for labels in missing.values():
        message = f"domain contains {count} missing labels, the first .* row {first}."
        with pytest.raises(ValueError, match=message):
            Recentering().fit(X, domain=labels)


@pytest.mark.parametrize("estimator", BY_DOMAIN)
def test_domains_of_one_class_warn(people, estimator):
    X, y, domain = people
    rest = (domain != "bo") | (y == 1)
    message = r"The domain 'bo' contains only the class 1 \(.*: 1 of 3\).*Remove its"
    with pytest.warns(UserWarning, match=message):
        estimator.fit(X[rest], y[rest], domain=domain[rest])
    estimator.fit(X, y, domain=domain)
    Recentering().fit(X[y == 1], y[y == 1], domain=domain[y == 1])


def test_encoded_domains_are_not_classes(people):
    X, y, domain = people
    _, encoded = encode_domains(X, y, domain)
    for estimator in BY_DOMAIN:
        with pytest.raises(ValueError, match=r"'ann/0', contain .*decode_dom"):
            estimator.fit(X, encoded, domain=domain)
    # Labels with a slash that are classes of each domain, such as events of MNE.
    events = np.array(["aud/l", "aud/r", "vis/l", "vis/r"])[np.arange(len(y)) % 4]
    # Recentering does not use y, so it may contain any objects.
    lists = np.empty(len(y), dtype=object)
    lists[:] = [[label] for label in y]
    for labels in (events, "go/" + y.astype(str), lists):
        Recentering().fit(X, labels, domain=domain)
        Recentering().fit(X, labels)


def test_large_numbers_of_domains_are_exact(people):
    X, _, domain = people
    numbers = 2**53 + np.unique(domain, return_inverse=True)[1]
    model = Recentering().fit(X, domain=pd.array(numbers, dtype="Int64"))
    assert set(model.means_) == set(numbers.tolist())


@pytest.mark.parametrize("label", ["s3", 3, np.int64(3), np.datetime64("2026-01-01")])
def test_one_label_for_all_matrices(people, label):
    X, y, _ = people
    new = Recentering().fit(X, domain=label)
    assert list(new.means_) == list(Recentering().fit(X, domain=[label] * 72).means_)
    once, repeated = (new.transform(X[:5], domain=d) for d in (label, [label] * 5))
    assert_array_equal(once, repeated)
    model = TransferDiscriminantAnalysis(shrinkage=0.5).fit(X, y).adapt(X, domain=label)
    once, repeated = (model.predict(X, domain=d) for d in (label, [label] * 72))
    assert_array_equal(once, repeated)
    with pytest.raises(ValueError, match="domain contains NaN"):
        Recentering().fit(X, domain=np.nan)


def test_errors(people):
    X, _, domain = people
    model = Recentering().fit(X, domain=domain)
    with pytest.raises(ValueError, match=r"Pass domain.*enable_metadata_routing"):
        model.transform(X)
    with pytest.raises(ValueError, match=r"'dan' has one sample.*partial_fit"):
        model.transform(X[:2], domain=["ann", "dan"])
    with pytest.raises(ValueError, match=r"one label per sample, 72 .* \(71,\)"):
        model.fit(X, domain=domain[1:])
    with pytest.raises(ValueError, match="domain contains NaN"):
        model.fit(X, domain=np.where(domain == "ann", np.nan, 1.0))
    with pytest.raises(ValueError, match=r"domain must .* got shape \(72, 2\)"):
        model.fit(X, domain=np.c_[domain, domain])
    bad = X.copy()
    bad[3] = -np.eye(4)
    before = dict(model.means_)
    for method in (model.fit, model.partial_fit):
        with pytest.raises(ValueError, match=r"X\[3\] is not positive definite"):
            method(bad, domain=domain)
    assert all(model.means_[label] is mean for label, mean in before.items())


@pytest.mark.parametrize("metric", ["riemann", "logeuclid", "euclid"])
def test_weights_are_copies_in_each_domain(metric):
    X, _ = make_spd_classes(2, 10, 3, random_state=0)
    domain, weights = np.repeat(["a", "b", "unused"], [8, 8, 4]), np.arange(20) % 4
    weights[16:] = 0
    model = Recentering(metric=metric).fit(X, domain=domain, sample_weight=weights)
    copies = X.repeat(weights, axis=0)
    again = Recentering(metric=metric).fit(copies, domain=domain.repeat(weights))
    assert model.counts_ == again.counts_ == {"a": 12, "b": 12}
    for label, mean in again.means_.items():
        assert_allclose(model.means_[label], mean, rtol=1e-9)
    assert_allclose(model.reference_, again.reference_, rtol=1e-9)


@pytest.mark.parametrize("estimator", BY_DOMAIN)
def test_domains_are_passed_by_name(people, estimator):
    """The second argument would be y in some methods, and the domain in others."""
    X, y, domain = people
    model = clone(estimator).fit(X, y, domain=domain)
    calls = {"fit": (X, y), "partial_fit": (X, y), "fit_transform": (X, y)}
    calls |= {"score": (X, y)}
    methods = "transform adapt partial_adapt predict predict_proba predict_log_proba"
    calls |= dict.fromkeys([*methods.split(), "decision_function"], (X,))
    for name, arguments in calls.items():
        if hasattr(model, name):
            with pytest.raises(TypeError, match=rf"{name}\(\) takes .* positional"):
                getattr(model, name)(*arguments, domain)


def test_all_calls_have_labels_or_none(people):
    X, y, domain = people
    alone, several = (Recentering().fit(X, domain=d) for d in (None, domain))
    for method in (alone.transform, alone.partial_fit):
        with pytest.raises(ValueError, match=r"contains .new., but .* domain=.train."):
            method(X, domain="new")
    online = Recentering().partial_fit(X[:9], domain="today")
    for method in (several.transform, several.partial_fit, online.partial_fit):
        with pytest.raises(ValueError, match=r"Pass domain.*best_estimator_\.predict"):
            method(X)
    assert list(online.means_) == ["today"] and online.counts_ == {"today": 9}
    model = TransferDiscriminantAnalysis(shrinkage=0.5).fit(X, y, domain=domain)
    for method in (model.adapt(X).predict, model.partial_adapt):
        with pytest.raises(ValueError, match="fit or adapt used matrices without"):
            method(X, domain="new")
    model.partial_adapt(X[:9])
    # Target matrices have no label, and belong to training domains that have labels.
    known = Recentering().fit(X, domain=domain, X_target_unlabeled=X)
    for label in (None, domain, "new"):
        known.transform(X, domain=label)


def test_the_number_and_the_text_of_a_domain_are_not_two_domains(people):
    X, _, _ = people
    numbers = np.arange(len(X)) % 3
    model = Recentering().fit(X, domain=numbers)
    message = r"contains '0' \(str\), but the known domain is 0 \(int\)"
    for method in (model.transform, model.partial_fit):
        with pytest.raises(ValueError, match=message):
            method(X, domain=numbers.astype(str))
    with pytest.raises(ValueError, match=r"contains 0 \(int\), but .* '0' \(str\)"):
        Recentering().fit(X, domain=numbers.astype(str)).transform(X, domain=numbers)
    model.transform(X, domain=numbers.astype(float))
    model.transform(X, domain="new")
