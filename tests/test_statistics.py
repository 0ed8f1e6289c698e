"""Class statistics against numpy, scikit-learn and pyriemann."""

import numpy as np
import pytest
from comparisons import assert_same_statistics, peak_memory
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from pyriemann.geometry.covariance import covariances as pyriemann_covariances
from threadpoolctl import threadpool_limits

from skgeom import (
    RSLVQ,
    SQFA,
    ClassStatistics,
    GaussianClassifier,
    RejectionClassifier,
    _sample_moments,
)

NAMED_ESTIMATORS = ["cov", "lwf", "mcd", "oas", "sch", "scm"]

# pyriemann 0.12 calls a function that newer versions of array_api_extra deprecate.
ignore_expand_dims = pytest.mark.filterwarnings(
    "ignore:.*expand_dims.*:DeprecationWarning"
)


@pytest.fixture
def data(rng):
    """Samples of three classes that differ in count, mean and covariance."""
    y = rng.permutation(np.repeat([0, 1, 2], [20, 31, 9]))
    shapes = rng.normal(size=(3, 4, 4)) + 2 * np.eye(4)
    X = (rng.normal(size=(60, 1, 4)) @ shapes[y])[:, 0] + 3 * rng.normal(size=(3, 4))[y]
    return X, y


@pytest.fixture
def statistics(data):
    return ClassStatistics.from_data(*data)


def arguments_of(statistics, **changes):
    """Arguments that construct the same statistics, with changes."""
    names = ("classes", "counts", "means", "covariances")
    return {name: getattr(statistics, name) for name in names} | changes


# From data


def test_from_data_agrees_with_numpy(data):
    X, y = data
    statistics = ClassStatistics.from_data(X, y)
    assert np.array_equal(statistics.classes, [0, 1, 2])
    assert np.array_equal(statistics.counts, [20, 31, 9])
    assert statistics.n_features == 4
    for k in range(3):
        assert_allclose(statistics.means[k], X[y == k].mean(axis=0), rtol=1e-13)
        expected = np.cov(X[y == k].T)
        assert_allclose(statistics.covariances[k], expected, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("rows", [3, 4096])
@pytest.mark.parametrize("offset", [0.0, 1e4])
def test_float32_is_accumulated_in_float64(offset, rows, data, monkeypatch):
    monkeypatch.setattr(_sample_moments, "ROWS_PER_BLOCK", rows)
    X = (data[0] + offset).astype(np.float32)
    statistics = ClassStatistics.from_data(X, data[1])
    exact = ClassStatistics.from_data(X.astype(np.float64), data[1])
    assert statistics.means.dtype == statistics.covariances.dtype == np.float64
    # Sums of squares without centring would lose eight of the sixteen digits.
    assert_same_statistics(statistics, exact, rtol=1e-13)


LABELS = [
    np.array(["b", "aaa", "cc"]),
    np.array(["b", "aaa", "cc"], dtype=object),
    np.array([-1.0, 5.0, 2.0]),
    np.array([127, -128, 0], dtype=np.int8),
    np.array([40_001, 3, -25_535], dtype=">i4"),
    np.array([2**64 - 1, 2**60, 2**60 + 1], dtype=np.uint64),
    np.array([2**63 - 1, 0, -(2**63)]),
    np.array([7, -5, 300], dtype=object),
]


@pytest.mark.parametrize("labels", LABELS)
def test_labels_of_any_kind_are_sorted(labels, data, statistics):
    X, y = data
    expected = ClassStatistics(**arguments_of(statistics, classes=labels))
    assert np.array_equal(expected.classes, np.sort(labels))
    assert np.array_equal(expected.means, statistics.means[np.argsort(labels)])
    assert_same_statistics(ClassStatistics.from_data(X, labels[y]), expected)


@pytest.mark.parametrize("order", ["C", "F"])
def test_extra_memory_is_below_the_size_of_the_data(order, rng):
    X = rng.normal(size=(40_000, 25)).astype(np.float32, order=order)
    y = rng.integers(2, size=40_000)
    assert peak_memory(lambda: ClassStatistics.from_data(X, y)) < X.nbytes


def test_covariances_of_many_classes_are_stored_once(rng):
    X, y = rng.normal(size=(320, 256)), np.arange(320) % 40
    size = 8 * 40 * 256**2
    assert peak_memory(lambda: ClassStatistics.from_data(X, y)) < 1.2 * size


@pytest.mark.parametrize("weighted", [False, True])
def test_few_samples_replace_their_covariances(weighted, rng):
    X, y = rng.normal(size=(60, 128)), np.arange(60) % 20
    weights = rng.integers(1, 4, size=60) if weighted else None
    statistics = ClassStatistics.from_data(X, y, sample_weight=weights)
    filters = rng.normal(size=(5, 128))
    both = statistics, ClassStatistics(**arguments_of(statistics))
    first, second = (s.project(filters).covariances for s in both)
    assert_allclose(first, second, rtol=0, atol=1e-12)
    for pooled in zip(*(s.pooled_covariances() for s in both), strict=True):
        assert_allclose(*pooled, rtol=0, atol=1e-12)
    for k in range(20):
        options = {} if weights is None else {"fweights": weights[y == k]}
        expected = np.cov(X[y == k].T, **options)
        assert_allclose(statistics.covariances[k], expected, rtol=0, atol=1e-12)
    some = ClassStatistics.from_data(X, y, sample_weight=weights)
    assert peak_memory(lambda: some.of_classes([3, 7, 9])) < 8 * 128**2
    found = some.of_classes([9, 3, 7]).covariances
    np.testing.assert_array_equal(found, statistics.covariances[[3, 7, 9]])


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        (np.ones((4, 2)), [0, 1, 0], "4 samples, but y has 3 labels"),
        (np.ones(4), [0, 1, 0, 1], "Expected 2D array"),
        (np.full((4, 2), np.nan), [0, 1, 0, 1], "Input X contains NaN"),
        (np.ones((4, 2)), [0.1, 0.2, 0.3, 0.4], "Unknown label type"),
        (np.ones((4, 2)), [0, 1, 0, np.nan], "1 missing label"),
        (np.ones((4, 2)), None, "y is None"),
    ],
)
def test_malformed_data_are_refused(X, y, message):
    with pytest.raises(ValueError, match=message):
        ClassStatistics.from_data(X, y)


# Estimators of the covariance


@ignore_expand_dims
@pytest.mark.parametrize("name", NAMED_ESTIMATORS)
def test_named_estimator_is_that_of_pyriemann(name, data):
    X, y = data[0].astype(np.float32), data[1]
    statistics = ClassStatistics.from_data(X, y, covariance_estimator=name)
    options = {"random_state": 0} if name == "mcd" else {}
    for k in range(3):
        samples = X[y == k].astype(np.float64)
        expected = pyriemann_covariances(samples.T, estimator=name, **options)
        assert_allclose(statistics.covariances[k], expected, rtol=1e-13)
        assert_allclose(statistics.means[k], samples.mean(axis=0), rtol=1e-13)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # of the estimator itself
def test_estimators_that_fail_are_named(data):
    X, y = data
    with pytest.raises(ValueError, match=r"'oas'.*got 'corr'"):
        ClassStatistics.from_data(X, y, covariance_estimator="corr")
    y = np.where(np.arange(60) == 17, 3, y)
    with pytest.raises(ValueError, match=r"'cov' fails for class 3.* 1 sample: .*NaN"):
        ClassStatistics.from_data(X, y, covariance_estimator="cov")


# Construction from arrays


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"classes": [0, 1, 1]}, "^classes must hold 3 distinct labels"),
        ({"classes": [0, 1, 2, 3]}, "^classes must hold 3 distinct labels"),
        ({"counts": [20, 31]}, "^counts must hold .* each of the 3 classes"),
        ({"counts": [20, 0, 9]}, "^counts must hold .* at least 1"),
        ({"counts": [20, np.nan, 9]}, "^counts must hold .* of their weights"),
        ({"means": np.full((3, 4), np.nan)}, "Input means contains NaN"),
        ({"means": np.ones((3, 5))}, r"^covariances must have shape \(3, 5, 5\)"),
        ({"covariances": np.full((3, 4, 4), np.inf)}, "Input covariances contains inf"),
        (
            {"covariances": np.stack([np.eye(4), np.diag([1, 1, 1, -0.1]), np.eye(4)])},
            r"covariances\[1\] .*negative eigenvalue -0.1",
        ),
    ],
)
def test_malformed_arrays_are_refused(changes, message, statistics):
    with pytest.raises(ValueError, match=message):
        ClassStatistics(**arguments_of(statistics, **changes))


# Merging


def test_merging_does_not_modify_the_pieces(data):
    X, y = data[0], np.array(["a", "bbb", "cc"])[data[1]]
    first, second = (ClassStatistics.from_data(X[k::2], y[k::2]) for k in range(2))
    copies = [ClassStatistics.from_data(X[k::2], y[k::2]) for k in range(2)]
    first + second
    sum([first]).update(X[1::2], y[1::2])
    for same in (first + ClassStatistics.empty(), sum([first]), first.decay(1.0)):
        same.means[:] = same.counts[:] = 0
    assert_same_statistics(first, copies[0], rtol=0)
    assert_same_statistics(second, copies[1], rtol=0)


# What follows from the statistics


@pytest.mark.parametrize("n_components", [1, 6])
def test_project_agrees_with_the_statistics_of_projected_data(n_components, data, rng):
    X, y = data
    components = rng.normal(size=(n_components, 4))
    projected = ClassStatistics.from_data(X, y).project(components)
    assert projected.n_features == n_components
    assert_same_statistics(projected, ClassStatistics.from_data(X @ components.T, y))
    assert np.array_equal(projected.covariances, projected.covariances.mT)
    # A projection can go on growing.
    more = ClassStatistics.from_data(X, y).project(components)
    expected = projected + projected
    assert more.update(X @ components.T, y) is more
    assert_same_statistics(more, expected)


def test_pooled_covariances_decompose_the_total_covariance(data, statistics):
    r"""The class covariances are unbiased, so the total is not quite ``np.cov``.

    With weights w_k = n_k / n, the biased total covariance is the sum of
    w_k (n_k - 1) / n_k C_k and of the covariance of the means. ``total`` has C_k
    where that has (n_k - 1) / n_k C_k, which makes it larger by the sum of C_k / n.
    """
    X, _ = data
    within, total = statistics.pooled_covariances()
    expected = np.average(statistics.covariances, axis=0, weights=statistics.counts)
    assert_allclose(within, expected, rtol=1e-13)
    excess = statistics.covariances.sum(axis=0) / len(X)
    expected = np.cov(X.T, bias=True) + excess
    assert_allclose(total, expected, rtol=1e-12, atol=1e-13)


# Weights


@pytest.mark.parametrize("weighted", [False, True])
def test_means_do_not_depend_on_the_threads_of_blas(weighted, rng):
    X, y = rng.normal(size=(2048, 300)), np.zeros(2048, dtype=int)
    weights = rng.uniform(1, 2, size=2048) if weighted else None
    results = []
    for n_threads in (1, 2):
        with threadpool_limits(n_threads):
            results.append(ClassStatistics.from_data(X, y, sample_weight=weights))
    first, second = results
    assert np.array_equal(first.means, second.means)


def test_bad_weights(data):
    X, y = data
    with pytest.raises(ValueError, match="at least one non-zero number"):
        ClassStatistics.from_data(X, y, sample_weight=np.zeros(len(y)))
    with pytest.raises(ValueError, match="Negative values"):
        ClassStatistics.from_data(X, y, sample_weight=np.full(len(y), -1))
    with pytest.raises(ValueError, match="sample_weight needs sample covariances"):
        ClassStatistics.from_data(X, y, "oas", sample_weight=np.ones(len(y)))
    with pytest.raises(ValueError, match=r"values up to 1e\+308, .* Divide"):
        ClassStatistics.from_data(X, y, sample_weight=np.full(len(y), 1e308))


@pytest.mark.parametrize("total", [1e-9, 0.9, 1.001, 1.999, 2, 3.5, 100])
def test_covariances_of_classes_of_small_weights(total, data):
    """The divisor is the sum of the weights minus 1, but at least half of the sum."""
    X, y = data
    own = X[y == 2]
    weights = np.arange(1.0, len(own) + 1)
    weights *= total / weights.sum()
    of_all = np.ones(len(y))
    of_all[y == 2] = weights
    statistics = ClassStatistics.from_data(X, y, sample_weight=of_all)
    factor = total / (total - 1) if total > 2 else 2
    expected = factor * np.cov(own.T, aweights=weights, bias=True)
    np.testing.assert_allclose(statistics.covariances[2], expected, rtol=1e-9)
    halves = [
        ClassStatistics.from_data(X[k::2], y[k::2], sample_weight=of_all[k::2])
        for k in range(2)
    ]
    assert_same_statistics(halves[0] + halves[1], statistics)
    # The sum of the weights of a class does not change its covariance.
    model = GaussianClassifier(priors="uniform", regularization=1e-3)
    expected = model.fit(X, y, np.where(y == 2, 1, 5)).predict_proba(X)
    even = np.where(y == 2, total / len(own), 5)
    np.testing.assert_allclose(model.fit(X, y, even).predict_proba(X), expected)


# Shrinkage towards the pooled covariance.


def plain_shrinkage(X, y):
    """The estimate of the docstring."""
    classes, counts = np.unique(y, return_counts=True)
    sums = [np.cov(X[y == k].T, bias=True) for k in classes] * counts[:, None, None]
    free = counts - 1
    own, total = sums / np.maximum(free, 1)[:, None, None], free.sum()
    pooled = sums.sum(axis=0) / total
    error = np.trace(pooled @ pooled) + np.trace(pooled) ** 2
    between = free @ np.square(own - pooled).sum(axis=(1, 2))
    divisor = total - free @ free / total
    scatter = (between - (len(counts) - 1) * error) / divisor
    q = min(error / scatter, total) if scatter > 0 else total
    return (sums + q * pooled) / (free + q)[:, None, None]


@pytest.mark.parametrize("counts", [[50, 50], [400, 20, 3], [30, 1, 2, 10]])
def test_shrunk_as_by_hand(counts, rng):
    y = np.repeat(np.arange(len(counts)), counts)
    X = rng.normal(size=(len(y), 6)) * (1 + y)[:, None] + y[:, None]
    statistics = ClassStatistics.from_data(X, y)
    shrunk = statistics.shrunk()
    expected = plain_shrinkage(X, y)
    np.testing.assert_allclose(shrunk.covariances, expected, rtol=1e-10)
    np.testing.assert_array_equal(shrunk.means, statistics.means)
    np.testing.assert_array_equal(shrunk.counts, statistics.counts)


def test_classes_of_less_than_one_sample_do_not_change_the_pooled_covariance(rng):
    y = [0] * 10 + [1] * 10 + [2, 3, 4, 5]
    X, weights = rng.normal(size=(24, 3)), [1] * 20 + [0.3] * 4
    statistics = ClassStatistics.from_data(X, y, sample_weight=weights)
    pooled = statistics.covariances[:2].mean(axis=0)
    np.testing.assert_allclose(statistics.shrunk(1).covariances[5], pooled)
    model = GaussianClassifier().fit_statistics(statistics)
    assert model.class_shrinkages_.max() <= 1


@pytest.mark.parametrize("total", [0.8, 1e-6])
def test_shrunk_classes_whose_weights_have_small_sums(total, rng):
    """The pooled covariance is a mean, and the user learns of the small weights."""
    X, y = rng.normal(size=(40, 3)), np.repeat([0, 1], [30, 10])
    X[y == 1] *= 3
    weights = np.full(40, total / 30)
    statistics = ClassStatistics.from_data(X, y, sample_weight=weights)
    with pytest.warns(UserWarning, match="add up to at most .* larger number"):
        shrunk = statistics.shrunk()
    own = [2 * np.cov(X[y == k].T, bias=True) for k in range(2)]
    pooled = 0.75 * own[0] + 0.25 * own[1]
    assert_allclose(shrunk.covariances, [pooled] * 2)
    assert_allclose(statistics.shrunk(1).covariances, [pooled] * 2)


@pytest.mark.parametrize("about_origin", [False, True])
def test_moments_without_samples_are_finite(about_origin, statistics):
    moments = statistics.moments
    moments = moments.second_moments() if about_origin else moments
    for empty in (moments - moments, moments.scaled(0.0)):
        assert not empty.counts.any() and not empty.scatters().any()
        assert_allclose(empty.covariances.values, 0, atol=1e-15)
        again = empty + moments
        assert_allclose(again.means, moments.means)
        assert_allclose(again.covariances.values, moments.covariances.values)
    if not about_origin:
        second = moments.scaled(0.0).second_moments()
        assert np.isfinite(second.covariances.values).all()


def test_shrunk_by_given_intensities(rng):
    y = np.repeat([0, 1], [30, 8])
    statistics = ClassStatistics.from_data(rng.normal(size=(38, 3)), y)
    S, W = statistics.covariances, statistics.shrunk(1).covariances[0]
    np.testing.assert_allclose(W, (29 * S[0] + 7 * S[1]) / 36)
    by_class = statistics.shrunk([0, 0.3]).covariances
    np.testing.assert_allclose(by_class, [S[0], 0.7 * S[1] + 0.3 * W])
    for wrong in (1.5, -0.1, np.nan, [0.1, 0.2, 0.3]):
        with pytest.raises(ValueError, match="each of the 2 classes"):
            statistics.shrunk(wrong)


def test_what_cannot_be_shrunk(rng):
    for counts in ([1, 1], [3, 1]):
        still = ClassStatistics([0, 1], counts, np.eye(2), np.zeros((2, 2, 2)))
        np.testing.assert_array_equal(still.shrunk().covariances, 0)
    X, y = rng.normal(size=(20, 3)), np.repeat([0, 1], 10)
    statistics = ClassStatistics.from_data(X, y)
    with pytest.raises(ValueError, match=r"can be added only if .*'shrunk'"):
        statistics + statistics.shrunk()
    with pytest.raises(ValueError, match=r"can be shrunk only if .*'oas'"):
        ClassStatistics.from_data(X, y, covariance_estimator="oas").shrunk()
    moments = ClassStatistics.from_second_moments([0, 1], [2, 2], [np.eye(2)] * 2)
    with pytest.raises(ValueError, match="second moments only cannot be shrunk"):
        moments.shrunk()


def test_samples_update_second_moments(rng):
    X = rng.normal(size=(2, 20, 3))
    moments = ClassStatistics.from_second_moments([0, 1], [9, 9], _moments(X[:, :9]))
    moments.update(X[:, 9:].reshape(-1, 3), np.repeat([0, 1], 11))
    assert_allclose(moments.second_moments, _moments(X), rtol=1e-12)


def _moments(X):
    return X.mT @ X / X.shape[1]


# Labels and names of features


LARGE = 2**60
EXTENSIONS = ["UInt64", "int64[pyarrow]", "category"]


@pytest.mark.parametrize("dtypes", [("int64", "uint64"), ("uint64", "int64")])
def test_large_integers_of_two_dtypes_stay_exact(dtypes, rng):
    X = rng.normal(size=(8, 2))
    first, second = (np.array([LARGE, LARGE + 1] * 4, dtype=d) for d in dtypes)
    second[0] += 5
    expected = [LARGE, LARGE + 1, LARGE + 5]
    blocks = ClassStatistics.from_blocks([(X, first), (X, second)])
    total = ClassStatistics.from_data(X, first) + ClassStatistics.from_data(X, second)
    model = GaussianClassifier().partial_fit(X, first).partial_fit(X, second)
    for classes in (blocks.classes, total.classes, model.classes_):
        assert classes.tolist() == expected
        assert classes.dtype.kind in "iu"
    np.testing.assert_allclose(model.priors_, [7 / 16, 8 / 16, 1 / 16])
    online = GaussianClassifier().partial_fit(X, first, classes=np.array(second))
    assert online.classes_.tolist() == expected


def test_labels_that_no_dtype_holds_raise(rng):
    X = rng.normal(size=(4, 2))
    integers = ClassStatistics.from_data(X, np.array([LARGE, LARGE + 1] * 2))
    floats = ClassStatistics.from_data(X, np.array([1.0, 2.0] * 2))
    with pytest.raises(ValueError, match="No dtype holds the labels"):
        integers + floats
    negative = ClassStatistics.from_data(X, np.array([-1, 1] * 2))
    largest = ClassStatistics.from_data(X, np.array([0, 2**64 - 1] * 2, dtype="uint64"))
    with pytest.raises(ValueError, match="No dtype holds the labels"):
        negative + largest
    flags = ClassStatistics.from_data(X, np.array([True, False] * 2, dtype=object))
    with pytest.raises(ValueError, match="labels have the same type"):
        negative + flags


def test_names_of_features_are_kept_and_compared(rng):
    pd = pytest.importorskip("pandas")
    X, y = pd.DataFrame(rng.normal(size=(20, 2)), columns=["a", "b"]), np.arange(20) % 2
    statistics = ClassStatistics.from_data(X, y)
    names = ["a", "b"]
    assert ClassStatistics.from_data(X.to_numpy(), y).feature_names_in_ is None
    for same in (
        statistics + statistics,
        statistics.shrunk(),
        ClassStatistics.from_blocks([(X, y)]),
        ClassStatistics.from_blocks([(X, y)], n_axes=1),
        GaussianClassifier().fit_statistics(statistics),
        SQFA(1).fit_statistics(statistics),
    ):
        assert same.feature_names_in_.tolist() == names
    assert statistics.project([[1, 0]]).feature_names_in_ is None
    other = X[["b", "a"]]
    for add in (
        lambda: statistics + ClassStatistics.from_data(other, y),
        lambda: statistics.update(other, y),
        lambda: ClassStatistics.from_blocks([(X, y), (other, y)]),
    ):
        with pytest.raises(ValueError, match=r"order .* feature 0 is 'a' .* X\[names"):
            add()
    renamed = ClassStatistics.from_data(X.rename(columns={"b": "c"}), y)
    with pytest.raises(ValueError, match=r"names .* feature 1 is 'b' .* and 'c'"):
        statistics + renamed


@pytest.mark.parametrize("missing", [None, float("nan")])
def test_missing_labels_of_a_list_are_counted(missing, rng):
    y = ["a", "b"] * 5 + [missing, "a"]
    for fit in (ClassStatistics.from_data, GaussianClassifier().fit, RSLVQ().fit):
        with pytest.raises(ValueError, match=r"1 missing label.* row 10\."):
            fit(rng.normal(size=(12, 2)), y)


@pytest.mark.filterwarnings("ignore:The predictions of held-out samples are not")
def test_labels_of_pandas_and_pyarrow_stay_exact(rng):
    pa, pd = pytest.importorskip("pyarrow"), pytest.importorskip("pandas")
    X, text, flags = rng.normal(size=(12, 2)), ["a", "b"] * 6, [True, False] * 6
    large = [LARGE, LARGE + 1] * 6
    encoded = pa.array(large).dictionary_encode()
    for y, kind, found in (
        (text, "OU", [pa.array(text), pa.chunked_array([text[:4], text[4:]])]),
        (text, "OU", [pd.Series(text, dtype="category"), pd.Categorical(text)]),
        (large, "iu", [encoded, *(pd.Series(large, dtype=d) for d in EXTENSIONS)]),
        (flags, "b", [pa.array(flags), pd.Series(flags, dtype="boolean")]),
    ):
        expected = ClassStatistics.from_data(X, np.array(y))
        for labels in found:
            parts = (ClassStatistics.from_data(X[i::2], labels[i::2]) for i in (0, 1))
            for same in (ClassStatistics.from_data(X, labels), sum(parts)):
                assert same.classes.dtype.kind in kind
                assert same.classes.tolist() == expected.classes.tolist()
            model = GaussianClassifier().fit(X, labels)
            assert model.classes_.tolist() == sorted(set(y))
    model = RejectionClassifier(GaussianClassifier()).fit(X, pa.array(text))
    assert model.classes_.tolist() == ["a", "b"]
    weights = np.arange(1.0, 13)
    expected = ClassStatistics.from_data(X, text, sample_weight=weights)
    same = ClassStatistics.from_data(X, text, sample_weight=pa.array(weights))
    np.testing.assert_array_equal(same.means, expected.means)


def test_labels_and_groups_of_polars(rng):
    pl = pytest.importorskip("polars")
    X, text, flags = rng.normal(size=(12, 2)), ["a", "b"] * 6, [True, False] * 6
    message = "contains 1 missing label, the first one in row 10"
    for y in (text, flags, [0, 1] * 6):
        expected = ClassStatistics.from_data(X, np.array(y))
        labels = pl.Series(y)
        for same in (labels, pl.DataFrame({"y": labels})):
            found = ClassStatistics.from_data(X, same)
            assert found.classes.tolist() == expected.classes.tolist()
        labels[10] = None
        for missing in (labels, pl.DataFrame({"y": labels})):
            with pytest.raises(ValueError, match=f"y {message}"):
                ClassStatistics.from_data(X, missing)
        with pytest.raises(ValueError, match=f"groups {message}"):
            GaussianClassifier().fit(X, pl.Series(text), groups=labels)


class Duck:
    """Estimates a covariance, and is no estimator of scikit-learn."""

    def fit(self, X):
        self.covariance_ = np.cov(X.T)


def test_estimator_with_fit_and_covariance_only(rng):
    X, y, duck = rng.normal(size=(12, 2)), np.arange(12) % 2, Duck()
    found = ClassStatistics.from_data(X, y, duck)
    expected = ClassStatistics.from_data(X, y)
    np.testing.assert_allclose(found.covariances, expected.covariances)
    assert not hasattr(duck, "covariance_")
    GaussianClassifier(covariance_estimator=duck).fit(X, y)


# Parts, storage and decay


def same_bits(first, second):
    """Whether all labels and moments are equal in all bits."""
    names = "counts", "means", "remainders", "about_origin"
    pairs = [(first.classes, second.classes)]
    pairs += [[getattr(s.moments, name) for s in (first, second)] for name in names]
    pairs += [[s.moments.covariances.values for s in (first, second)]]
    return all(np.array_equal(*pair) for pair in pairs)


@given(
    owners=st.lists(st.integers(0, 4), min_size=12, max_size=12),
    powers=st.lists(st.integers(-9, 3), min_size=12, max_size=12),
    offset=st.sampled_from([0.0, 1.0, 2.0**27]),
)
def test_parts_of_any_weights_merge_to_the_whole(owners, powers, offset):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(12, 3)).round(3) + offset, np.arange(12) % 3
    powers, owners = np.array(powers), np.array(owners)
    weights = np.where(powers == -9, 0, 2.0**powers)
    weights[0] = 1
    parts = [
        ClassStatistics.from_blocks([(X[k], y[k], weights[k])])
        for k in (np.flatnonzero(owners == number) for number in range(5))
    ]
    whole = ClassStatistics.from_data(X, y, sample_weight=weights)
    empty = ClassStatistics.empty()
    for merged in (
        ClassStatistics.merge(parts),
        sum(parts[::-1], empty),
        (parts[0] + parts[1]) + (parts[2] + (parts[3] + parts[4])),
    ):
        assert np.array_equal(merged.classes, whole.classes)
        assert_allclose(merged.counts, whole.counts, rtol=1e-12)
        assert_allclose(merged.means, whole.means, rtol=1e-12, atol=1e-14)
        found, expected = (s.moments.covariances.values for s in (merged, whole))
        assert_allclose(found, expected, rtol=0, atol=1e-12 * np.abs(expected).max())
    assert same_bits(whole + empty, whole)
    assert same_bits(empty + whole, whole)


def test_statistics_of_no_samples(data):
    X, y = data
    empty = ClassStatistics.empty()
    for same in (
        ClassStatistics.merge([]),
        ClassStatistics.from_blocks([]),
        ClassStatistics.from_data(X[:0], y[:0]),
        ClassStatistics.from_blocks([(X[:0], y[:0])], n_axes=2),
        empty + empty,
    ):
        assert same_bits(same, empty)
    for model in (SQFA(2), GaussianClassifier()):
        with pytest.raises(ValueError, match="statistics contains 0 classes"):
            model.fit_statistics(empty)


def test_merging_a_single_part_that_is_not_in_a_list(data):
    with pytest.raises(TypeError, match=r"^parts must be .* list, got ClassStatistics"):
        ClassStatistics.merge(ClassStatistics.from_data(*data))


def exact_covariance(X):
    """By arithmetic of integers; the numbers of X are multiples of 2^-30."""
    n, unit = len(X), 2**30
    integers = (X.astype(float) * unit).astype(np.int64).astype(object)
    sums, divisor = integers.sum(axis=0), n * (n - 1) * unit**2
    products = n * integers.T @ integers - np.outer(sums, sums)
    return (products / divisor).astype(float)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(
    "n_parts", [10**4, pytest.param(10**6, marks=pytest.mark.exhaustive)]
)
def test_many_parts_far_from_the_origin_lose_no_digits(n_parts, dtype, rng):
    scale = 1 if dtype == np.float64 else 100  # next to rounding in single precision
    X = (2.0**27 + scale * rng.normal(size=(500, 2))).astype(dtype)
    parts = [ClassStatistics.from_data(row[None], [0]) for row in X]
    rows = np.arange(n_parts) % len(X)
    found = ClassStatistics.merge(parts[k] for k in rows).covariances[0]
    exact = exact_covariance(X[rows])
    assert np.linalg.norm(found - exact) < 1e-10 * np.linalg.norm(exact)


@pytest.mark.parametrize("labels", LABELS[:-1])
def test_stored_arguments_restore_all_bits(labels, data, tmp_path):
    X, y = data
    statistics = ClassStatistics.from_data(X, labels[y])
    classes = statistics.classes
    classes = classes.astype(str) if classes.dtype == object else classes
    np.savez(tmp_path / "s.npz", **arguments_of(statistics, classes=classes))
    again = ClassStatistics(**np.load(tmp_path / "s.npz"))
    for name in arguments_of(statistics):
        assert np.array_equal(getattr(again, name), getattr(statistics, name))
    assert_same_statistics(again + again, statistics + statistics)


def test_decayed_statistics_have_smaller_weights(data):
    X, y = data
    first, second = slice(0, 30), slice(30, 60)
    total = ClassStatistics.from_data(X[first], y[first]).decay(0.25)
    total = total + ClassStatistics.from_data(X[second], y[second])
    weights = np.repeat([0.25, 1.0], 30)
    assert_same_statistics(
        total, ClassStatistics.from_data(X, y, sample_weight=weights)
    )
    for factor in (0, 1.5, np.nan, "a", None, np.array([0.5, 0.5])):
        with pytest.raises(ValueError, match="factor must be a number in"):
            total.decay(factor)


def test_statistics_of_a_stream_forget(rng):
    """The drifting stream of the gallery, whose class 2 has no samples at the end."""
    every = recent = ClassStatistics.empty()
    for angle in np.linspace(0, np.pi / 2, 100):
        y = rng.integers(3 if angle < 0.5 else 2, size=300)
        X = rng.normal(size=(300, 6))
        X[np.arange(300), y] *= 5
        cos, sin = np.cos(angle) * np.eye(3), np.sin(angle) * np.eye(3)
        X = X @ np.block([[cos, sin], [-sin, cos]])
        batch = ClassStatistics.from_data(X, y)
        recent, every = recent.decay(0.9) + batch, every + batch
    assert recent.counts[2] < 1
    # A class without recent samples keeps its mean, and its covariance is bounded.
    scatter = recent.moments.scatters()[2] / recent.counts[2]
    for old in (recent, recent.decay(0.5)):
        assert_allclose(old.means[2], recent.means[2])
        assert_allclose(old.covariances[2], 2 * scatter)
    variances = [s.of_classes([1, 0]).covariances[0, 3, 3] for s in (recent, every)]
    assert variances[0] > 22 > 15 > variances[1]  # 25 at the end
    assert same_bits(recent.decay(1e-300) + batch, batch)
    with pytest.raises(ValueError, match=r"labels that are not in .* Remove"):
        batch.of_classes([0, 7])
