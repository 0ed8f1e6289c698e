"""Learning vector quantisation of SPD matrices and vectors."""

from collections import Counter

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from numpydoc.docscrape import ClassDoc
from pyriemann.geometry.distance import distance_riemann
from pyriemann.geometry.tangentspace import exp_map_riemann, log_map_riemann
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from skgeom import GLRSQ, GMLVQ, PLRSQ, RSLVQ

METRICS = ["riemann", "logeuclid", "euclid"]
quiet = pytest.mark.filterwarnings(
    "ignore::sklearn.exceptions.ConvergenceWarning", "ignore:The predictions of held"
)


def plain_loop(X, y, W, labels, rates, coefficients, weights=1.0, rng=None):
    """Riemannian stochastic steps in so many words; without rng, samples in order."""
    W, weights = list(W), np.broadcast_to(weights, len(y))
    for epoch, rate in enumerate(rates, start=1):
        order = range(len(y)) if rng is None else rng.permutation(len(y))
        for x, label, weight in zip(X[order], y[order], weights[order], strict=True):
            squared = np.array([distance_riemann(x, w) ** 2 for w in W])
            steps = weight * rate * coefficients(squared, labels == label, epoch)
            for j, w in enumerate(W):
                tangent = steps[j] * log_map_riemann(x[None], w)
                W[j] = exp_map_riemann(tangent, w)[0]
    return np.stack(W)


def start_of(X, y, n_prototypes):
    return np.concatenate([X[y == label][:n_prototypes] for label in range(3)])


@pytest.fixture(scope="module")
def class_means(spd):
    X, y = spd
    return np.stack([X[y == label].mean(axis=0) for label in range(3)])


Q = np.linalg.qr(np.random.default_rng(10).normal(size=(4, 4)))[0]
SINGULAR = (Q * [1, 1, 1, 3e-17]) @ Q.T  # its Cholesky decomposition fails


def still(init, **options):
    """Prototypes that stay where they start."""
    steps = {"solver": "sgd", "learning_rate": 1e-300, "max_iter": 1}
    return PLRSQ(init=init, sigma2=1.0, **steps, **options)


def test_sgd_is_algorithm_1(spd):
    X, y = spd
    start, labels = start_of(X, y, 2), np.repeat(range(3), 2)

    def coefficients(squared, own, epoch):  # of equation 24, with sigma2 = 1.5
        terms = np.exp(-squared / 3)
        return (own * terms / terms[own].sum() - terms / terms.sum()) / 1.5

    rates = 4 * 2 / 100 * 0.01 ** (np.arange(1, 4) / 3)
    rng = np.random.RandomState(0)
    expected = plain_loop(X, y, start, labels, rates, coefficients, rng=rng)
    options = {"metric": "riemann", "solver": "sgd", "random_state": 0, "max_iter": 3}
    model = PLRSQ(2, sigma2=1.5, init=start, **options).fit(X, y)
    assert_allclose(model.prototypes_, expected, rtol=1e-7)
    assert isinstance(model.loss_curve_, np.ndarray)
    model.set_params(random_state=1).fit(X, y)
    assert np.abs(model.prototypes_ - expected).max() > 1e-4


@pytest.mark.parametrize("sizes", [(6, 2), (3, 3), (18, 1)])
def test_first_samples_of_a_stream_have_shrunk_class_proportions(sizes, spd):
    """Algorithm 1 with the priors of Hausser and Strimmer (2009), equation 8."""
    X, y = spd
    X = np.concatenate([X[y == k][:size] for k, size in enumerate(sizes)])
    labels = np.repeat([0, 1], sizes)
    start, n = np.stack([X[0], X[-1]]), len(X)
    shares = np.array(sizes) / n
    ends = (1 - np.sum(shares**2)), (n - 1) * np.sum((0.5 - shares) ** 2)
    shrinkage = 1.0 if ends[0] >= ends[1] else ends[0] / ends[1]
    priors, losses = shrinkage / 2 + (1 - shrinkage) * shares, []

    def coefficients(squared, own, epoch):
        terms = priors * np.exp(-squared / 2)
        losses.append(-np.log(terms[own].sum() / terms.sum()))
        return own - terms / terms.sum()

    rates = [4 / 100 * 0.01 ** (min(n / 8, 1) / 100)]  # 8 rows of prototypes
    expected = plain_loop(X, labels, start, np.arange(2), rates, coefficients)
    model = PLRSQ(metric="riemann", sigma2=1.0, init=start)
    assert_allclose(model.partial_fit(X, labels).prototypes_, expected, rtol=1e-7)
    assert_allclose(model.loss_curve_, [sum(losses)], rtol=1e-7)


def test_generalised_sgd_is_the_authors_rule(spd):
    X, y = spd
    start, labels = start_of(X, y, 2), np.repeat(range(3), 2)

    def coefficients(squared, own, epoch):
        j = np.flatnonzero(own)[squared[own].argmin()]
        k = np.flatnonzero(~own)[squared[~own].argmin()]
        total = squared[j] + squared[k]
        phi = 1 / (1 + np.exp(-epoch * (squared[j] - squared[k]) / total))
        steps = np.zeros(6)
        steps[j] = 4 * phi * (1 - phi) * squared[k] / total**2
        steps[k] = -4 * phi * (1 - phi) * squared[j] / total**2
        return steps

    rates = 4 / 100 * 0.01 ** (np.arange(1, 4) / 3)
    options = {"metric": "riemann", "solver": "sgd", "max_iter": 3}
    model = GLRSQ(2, init=start, random_state=0, **options)
    for weights in (np.ones(60), np.tile([0.5, 1.5], 30)):  # one on average
        rng = np.random.RandomState(0)
        args = X, y, start, labels, rates, coefficients, weights, rng
        model.fit(X, y, sample_weight=weights)
        assert_allclose(model.prototypes_, plain_loop(*args), rtol=1e-7)


@pytest.mark.parametrize("metric", METRICS)
def test_one_sample_takes_no_prototype_far(spd, metric):
    X, y = spd
    start = start_of(X, y, 1)
    before = still(start, metric=metric).partial_fit(X, y)
    for i in range(0, len(y), 7):
        after = PLRSQ(metric=metric, sigma2=1e3, init=start, learning_rate=1e6)
        after.partial_fit(X[[i]], y[[i]], classes=[0, 1, 2])
        ratio = after.transform(X[[i]])[0] / (before.transform(X[[i]])[0] + 1e-9)
        own = y[i] == np.arange(3)
        assert ratio[own] < 1e-3  # the rate is so high that all bounds act
        assert (ratio[~own] <= 1.25).all()
        assert ratio.max() > 1.2


def test_numbers_of_prototypes_by_class(spd):
    model = PLRSQ([1, 3, 2], random_state=0).fit(*spd)
    assert model.score(*spd) > 0.9
    assert_array_equal(model.prototype_labels_, [0, 1, 1, 1, 2, 2])
    assert (np.linalg.eigvalsh(model.prototypes_) > 0).all()


def test_learnt_sigma2_lowers_the_cost(spd):
    X, y = spd
    fixed = PLRSQ(representability=0.1, tol=1e-6).fit(X, y)
    learnt = PLRSQ(representability=0.1, sigma2="learn", tol=1e-6).fit(X, y)
    assert learnt.loss_curve_[0] == pytest.approx(fixed.loss_curve_[0])
    assert learnt.loss_curve_[-1] < fixed.loss_curve_[-1]
    assert learnt.sigma2_ != fixed.sigma2_


def test_matrices_of_one_channel_are_numbers(spd):
    """With their logarithms as coordinates, whether or not sigma2 is learnt."""
    X, y = spd[0][:, :1, :1], spd[1]
    for sigma2 in ("auto", "learn"):
        model = PLRSQ(representability=0.1, sigma2=sigma2, tol=1e-9)
        found, expected = (
            clone(model).set_params(metric=metric).fit(X, y).predict_proba(X)
            for metric in ("riemann", "logeuclid")
        )
        assert_allclose(found, expected, rtol=1e-4)


def test_without_a_tolerance_an_idle_iteration_is_the_last(spd):
    model = PLRSQ(metric="riemann", representability=1, tol=0).fit(*spd)
    assert (np.diff(model.loss_curve_)[:-1] < 0).all()


def test_probabilities_are_equation_17_with_priors(spd, class_means):
    X, y = spd
    model = still(class_means, metric="riemann", temperature=1.0).fit(X, y)
    assert_allclose(model.prototypes_, class_means)
    squared = distance_riemann(X[:, None], class_means[None]) ** 2
    assert_allclose(model.transform(X), np.sqrt(squared))
    assert_allclose(model.score_samples(X), -np.sqrt(squared.min(axis=1)))
    assert_array_equal(model.predict(X), squared.argmin(axis=1))
    for priors in ([1, 1, 1], [0.25, 0.25, 0.5]):
        terms = np.exp(-squared / 2) * priors
        priors = "uniform" if priors == [1, 1, 1] else priors
        model.set_params(priors=priors).fit(X, y)
        expected = terms / terms.sum(axis=1, keepdims=True)
        assert_allclose(model.predict_proba(X), expected)


def test_prototypes_share_the_prior_of_their_class(spd, class_means):
    """With the same prototype twice, or once, the probabilities are the same."""
    single = still(class_means, temperature=1.0).fit(*spd)
    double = still(class_means[[0, 1, 1, 2]], n_prototypes=[1, 2, 1], temperature=1.0)
    double.fit(*spd)
    assert_allclose(double.predict_proba(spd[0]), single.predict_proba(spd[0]))


def test_prototypes_stay_regular_where_steps_would_make_them_singular():
    """Beyond a condition of 1e15, factors can exist and mean nothing."""
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], 20)
    A = rng.normal(size=(60, 2, 2))
    stretch = np.exp(3 * rng.normal(size=(3, 1, 2)))[y] * np.eye(2)
    X = stretch @ (A @ A.mT / 2 + np.eye(2) / 10) @ stretch
    options = {"representability": 0, "tol": 1e-12, "random_state": 0}
    model = PLRSQ(2, metric="riemann", **options)
    with pytest.warns(ConvergenceWarning):
        model.fit(X, y)
    assert np.isfinite(model.predict_proba(X)).all()
    np.linalg.cholesky(model.prototypes_)


@pytest.mark.parametrize("unit", [2.0**-40, 2.0**20])
@pytest.mark.parametrize(
    "estimator", [GLRSQ(metric="euclid", max_iter=10), RSLVQ()], ids=repr
)
def test_the_unit_of_the_samples_does_not_matter(spd, estimator, unit):
    X, y = spd
    X = X.reshape(60, 16) if isinstance(estimator, RSLVQ) else X
    estimator.set_params(n_prototypes=2, random_state=0)
    for method, n_calls in ("fit", 1), ("partial_fit", 2):
        model, moved = (clone(estimator) for _ in range(2))
        for _ in range(n_calls):
            getattr(model, method)(X, y)
            getattr(moved, method)(unit * X, y)
        assert_allclose(moved.loss_curve_, model.loss_curve_, rtol=1e-6)
        assert_allclose(moved.prototypes_, unit * model.prototypes_, rtol=1e-6)


@pytest.mark.parametrize("solver", ["sgd", "lbfgs"])
@quiet
def test_ill_conditioned_matrices_of_all_orientations(solver):
    rng = np.random.default_rng(0)
    y = np.arange(30) % 2
    rotations = np.linalg.qr(rng.normal(size=(30, 4, 4)))[0]
    eigenvalues = np.logspace(0, -12, 4)
    X = (rotations * eigenvalues) @ rotations.mT
    X = (X + X.mT) / 2 * np.where(y, 1.0, 3.0)[:, None, None]
    model = PLRSQ(solver=solver, max_iter=2, random_state=0).fit(X, y)
    assert np.isfinite(model.predict_proba(X)).all()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"n_prototypes": 21}, "Class 0 has 20 samples"),
        ({"n_prototypes": [1, 2]}, "3 integers"),
        ({"n_prototypes": [1, 0, 2]}, "class 1"),
        ({"n_prototypes": {0: 1, 1: 2}}, r"dict. Use \[n_prototypes\[label\] for"),
        ({"priors": {0: 0.1, 1: 0.9}}, r"list .* dict. Use \[priors\[label\] for"),
        ({"priors": "balanced"}, "priors"),
        ({"sigma2": 0}, "sigma2"),
        ({"sigma2": "learn", "solver": "sgd"}, "'lbfgs', but .*'sgd' .* number or"),
        ({"sigma2": "learn", "metric": "euclid"}, "with the Euclidean metric uses"),
        ({"metric": "euclid", "solver": "lbfgs"}, "positive definite"),
        ({"metric": "riemann", "init": [np.diag([1, 1, 1, 1e-15])] * 3}, "too close"),
        ({"metric": "riemann", "init": [SINGULAR] * 3}, "too close|init.0. is not"),
        ({"n_components": 5}, "n_components"),
        ({"init": np.ones((3, 4))}, r"init must have shape \(3, 4, 4\).*got \(3, 4\)"),
        ({"init": -np.ones((3, 4, 4))}, "init"),
        ({"priors": [1, 2]}, "priors"),
        ({"metric": "cosine"}, "'metric' .* among .*'tangent'.* Got 'cosine'"),
    ],
)
def test_bad_parameters(spd, changes, message):
    with pytest.raises(ValueError, match=message):
        PLRSQ(**changes).fit(*spd)


def test_bad_samples_at_prediction(spd, iris):
    model = PLRSQ(solver="sgd", max_iter=1).fit(*spd)
    with pytest.raises(ValueError, match=r"3 features.*expecting 4"):
        model.predict(np.eye(3)[None])
    vectors = RSLVQ(solver="sgd", max_iter=1).fit(*iris)
    with pytest.raises(ValueError, match="fitted on samples of 1 dimensions"):
        vectors.predict(np.eye(4)[None])
    matrices = RSLVQ(max_iter=1).fit(*spd)
    with pytest.raises(ValueError, match=r"One sample is X\[None\]"):
        matrices.predict(np.eye(4))


@quiet
def test_values_too_large_to_be_squared(spd):
    model = GLRSQ(metric="euclid", max_iter=1).fit(*spd)
    for method in (model.predict, lambda X: model.fit(X, spd[1])):
        with pytest.raises(ValueError, match=r"X has values up to .*e\+20\d, too lar"):
            method(1e200 * spd[0])


def test_priors_of_partial_fit_count_the_samples_of_all_calls(spd):
    X, y = spd
    init = np.stack([X[y == label][0] for label in range(3)])
    model = PLRSQ(init=init, sigma2=1.0, priors=None)
    model.partial_fit(X[:30], y[:30], classes=[0, 1, 2])
    assert_allclose(model.priors_, np.full(3, 1 / 3))  # class 2 has yet to come
    model.partial_fit(X[30:50], y[30:50])
    assert_allclose(model.priors_, [0.4, 0.4, 0.2])
    given = PLRSQ(priors=[0.2, 0.3, 0.5]).fit(X, y).partial_fit(X[:30], y[:30])
    assert_allclose(given.priors_, [0.2, 0.3, 0.5])


def test_relevance_finds_the_informative_feature():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 100)
    X = rng.normal(size=(200, 5))
    X[:, 3] += 3 * y
    model = GMLVQ().fit(X, y)
    assert model.relevances_[3] > 0.5
    wide = GMLVQ().fit(np.pad(X, [(0, 0), (0, 20)], constant_values=0.1), y)
    assert_allclose(wide.transform(np.pad(X, [(0, 0), (0, 20)])), model.transform(X))


@pytest.mark.filterwarnings("ignore:GMLVQ did not converge")
def test_relevance_learning_is_invariant_under_large_offsets():
    rng = np.random.default_rng(1)
    y = np.repeat([0, 1, 2], 50)
    # Rounded, so that the offset changes no digit of the samples.
    X = np.round((rng.normal(size=(150, 4)) + y[:, None]) * 2**16) / 2**16
    expected = GMLVQ(max_iter=5, tol=0).fit(X, y)
    model = GMLVQ(max_iter=5, tol=0).fit(X + 2.0**30, y)  # few steps: errors add up
    relevances = [m.omega_.T @ m.omega_ for m in (model, expected)]
    assert_allclose(*relevances, atol=1e-5)
    assert_allclose(model.transform(X + 2.0**30), expected.transform(X), atol=1e-5)


def test_verbose_prints(spd, capsys):
    PLRSQ(solver="sgd", max_iter=2, verbose=1).fit(*spd)
    assert "[PLRSQ] epoch 2: loss" in capsys.readouterr().out
    GMLVQ(verbose=2).fit(spd[0][:, 0], spd[1])
    assert "[GMLVQ] training without fold 4" in capsys.readouterr().out
    model = RSLVQ(verbose=1).fit(spd[0][:, 0], spd[1])
    line = f"representability {model.representability_:.3g} selected"
    assert capsys.readouterr().out.count(line) == 1
    PLRSQ(verbose=0).fit(*spd)
    assert capsys.readouterr().out == ""


def test_defaults_agree_or_the_docstring_says_why():
    found = {}
    for cls in (PLRSQ, RSLVQ, GLRSQ, GMLVQ):
        texts = {p.name: " ".join(p.desc) for p in ClassDoc(cls)["Parameters"]}
        for name, value in cls().get_params().items():
            found.setdefault(name, []).append((value, texts[name]))
    for name, several in found.items():
        usual, _ = Counter(value for value, _ in several).most_common(1)[0]
        for value, text in several:
            assert value == usual or "default differs" in text, (name, value)


@pytest.mark.parametrize("estimator", [PLRSQ(), GLRSQ(), GMLVQ()], ids=repr)
@quiet
def test_classes_with_the_same_samples(spd, estimator):
    y, equal = np.repeat([0, 1], 20), "initial prototypes of all classes are equal"
    with pytest.warns(UserWarning, match=equal), pytest.warns(match="than chance"):
        clone(estimator).fit(spd[0][np.tile(np.arange(20), 2)], y)
    with pytest.warns(UserWarning, match=equal):
        clone(estimator).set_params(n_prototypes=2).fit(spd[0][[0] * 40], y)


@quiet
@pytest.mark.parametrize("n_components", [2, 25, None])
def test_gmlvq_in_the_span_of_few_samples(n_components):
    # A given start may be outside of the span. Only the minimum is the same.
    rng = np.random.default_rng(0)
    X, y, weights = 3 + rng.normal(size=(18, 30)), np.arange(18) % 3, np.arange(1, 19)
    X[:, :2] += 2 * np.eye(3)[y, :2]
    X[1] = X[4]  # a direction less
    start = [np.average(X[y == c], axis=0, weights=weights[y == c]) for c in range(3)]
    model = GMLVQ(n_components=n_components, slope=2, max_iter=40, tol=0)
    full = clone(model).set_params(init=start).fit(X, y, sample_weight=weights)
    model.fit(X, y, sample_weight=weights)
    assert model.omega_.shape == full.omega_.shape == (n_components or 16, 30)
    assert_allclose(np.linalg.norm(model.omega_), 1)
    assert_allclose(model.loss_curve_[0], full.loss_curve_[0], rtol=1e-9)
    assert_allclose(model.loss_curve_[-1], full.loss_curve_[-1], rtol=0.02)
    # The loss, by what was found.
    squared = model.transform(X) ** 2
    own = squared[np.arange(18), y]
    other = np.where(y[:, None] == np.arange(3), np.inf, squared).min(axis=1)
    losses = 1 / (1 + np.exp(-2 * (own - other) / (own + other)))
    assert_allclose(weights @ losses, model.loss_curve_[-1], rtol=1e-8)
    # Nothing is outside of the span.
    axes = np.linalg.svd(X - X.mean(axis=0))[2]
    assert_allclose(model.omega_ @ axes[16:].T, 0, atol=1e-12)
    assert_allclose((model.prototypes_ - X.mean(axis=0)) @ axes[16:].T, 0, atol=1e-12)


def test_gmlvq_of_very_many_features():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(12, 100_000)), np.arange(12) % 2
    X[y == 1, :50] += 2
    model = GMLVQ().fit(X, y)
    assert model.omega_.shape == (11, 100_000)
    assert model.score(X, y) == 1


@quiet
def test_gmlvq_with_given_prototypes_leaves_the_span_of_few_samples():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(2, 12, 20)), np.arange(12) % 2
    model = GMLVQ(n_components=3).fit(X[0], y)
    model.set_params(init=model.prototypes_, max_iter=1, tol=1.0).fit(X[1], y)
    outside = np.linalg.svd(X[1] - X[1].mean(axis=0))[2][11:]
    assert np.abs((model.prototypes_ - X[1].mean(axis=0)) @ outside.T).max() > 0.1
