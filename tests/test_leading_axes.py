"""Statistics in the leading axes of the data, and filters learnt from them."""

import pickle

import numpy as np
import pytest
from comparisons import assert_same_statistics
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.decomposition import PCA

from skgeom import SQFA, ClassStatistics


@pytest.fixture(scope="module")
def blocks(digits):
    X, y = digits
    return [(X[i : i + 200], y[i : i + 200]) for i in range(0, len(X), 200)]


@pytest.fixture(scope="module")
def statistics(blocks):
    return ClassStatistics.from_blocks(blocks, n_axes=20)


def test_axes_are_principal_components(digits, statistics):
    X, y = digits
    pca = PCA(20, svd_solver="full").fit(X)
    signs = np.sign(np.sum(pca.components_ * statistics.axes, axis=1))
    assert_allclose(statistics.axes, pca.components_ * signs[:, None], atol=1e-9)
    assert_same_statistics(
        statistics, ClassStatistics.from_data(X @ statistics.axes.T, y)
    )
    assert repr(statistics) == (
        "ClassStatistics(10 classes, 20 axes of 64 features, 1797 samples)"
    )


def test_every_source_gives_the_same(digits, blocks, statistics):
    X, y = digits
    again = ClassStatistics.from_blocks(lambda: iter(blocks), n_axes=20)
    assert_array_equal(again.covariances, statistics.covariances)
    in_memory = ClassStatistics.from_data(X, y, n_axes=20)
    assert_allclose(in_memory.axes, statistics.axes, atol=1e-10)
    assert_same_statistics(in_memory, statistics, 1e-10)
    single = ClassStatistics.from_data(X.astype(np.float32), y, n_axes=20)
    assert_same_statistics(single, in_memory)  # pixels are small whole numbers
    da = pytest.importorskip("dask.array")
    lazy = ClassStatistics.from_data(
        da.from_array(X, chunks=(200, 30)), da.from_array(y, chunks=200), n_axes=20
    )
    assert_allclose(lazy.axes, statistics.axes, atol=1e-12)
    assert_allclose(lazy.covariances, statistics.covariances, atol=1e-10)


def test_filters_are_of_all_features(digits, statistics):
    X, y = digits
    model = SQFA(4, random_state=0).fit_statistics(statistics)
    assert model.n_features_in_ == 64
    inner = ClassStatistics.from_data(X @ statistics.axes.T, y)
    expected = SQFA(4, random_state=0).fit_statistics(inner)
    assert_allclose(model.objective_, expected.objective_, rtol=1e-5)
    assert_allclose(np.linalg.norm(model.components_, axis=1), 1)
    features = statistics.project(model.components_)
    assert features.axes is None
    assert_same_statistics(features, model.statistics_, 1e-10)
    assert_same_statistics(
        features, ClassStatistics.from_data(model.transform(X), y), 1e-10
    )
    largest = np.abs(model.components_).argmax(axis=1)
    assert (model.components_[np.arange(4), largest] > 0).all()


def test_statistics_keep_their_axes(digits, statistics):
    X, y = digits
    half = ClassStatistics.from_blocks([(X[:900], y[:900])], n_axes=20)
    axes = half.axes
    for whole in (
        pickle.loads(pickle.dumps(half)).update(X[900:], y[900:]),
        half + pickle.loads(pickle.dumps(half)).update(X[900:], y[900:]),
    ):
        assert_array_equal(whole.axes, axes)
    whole = half.update(X[900:], y[900:])
    assert_same_statistics(whole, ClassStatistics.from_data(X @ axes.T, y))
    assert_array_equal(whole.shrunk().axes, axes)
    assert_array_equal(sum([whole]).axes, axes)
    plain = ClassStatistics.from_data(X[:, :20], y)
    for other in (statistics, plain):
        with pytest.raises(ValueError, match="only if their axes are equal"):
            whole + other
    with pytest.raises(ValueError, match="X must have 64 features, like the axes"):
        whole.update(X[:, :20], y)


def test_filters_outside_of_the_axes_are_refused(statistics):
    filters = np.vstack([statistics.axes[:1], np.eye(1, 64)])
    with pytest.raises(ValueError, match="Row 1 of components is not in the span"):
        statistics.project(filters)
    with pytest.raises(ValueError, match="components must have 64 columns"):
        statistics.project(np.eye(20))
    single = statistics.axes[:2].astype(np.float32)
    assert statistics.project(single).n_features == 2


def test_two_passes(digits, blocks):
    with pytest.raises(ValueError, match=r"needs two passes .* a function that"):
        ClassStatistics.from_blocks(iter(blocks), n_axes=3)
    passes = iter([blocks, blocks[:-1]])
    with pytest.raises(ValueError, match="1797 samples in the first pass and 1600"):
        ClassStatistics.from_blocks(lambda: next(passes), n_axes=3)
    for n_axes in (0, 2.5, "all"):
        with pytest.raises(ValueError, match="n_axes must be None or at least 1"):
            ClassStatistics.from_blocks(blocks, n_axes=n_axes)
    with pytest.raises(ValueError, match=r"^n_axes=65 must not exceed"):
        ClassStatistics.from_blocks(blocks, n_axes=65)
    with pytest.raises(ValueError, match=r"^n_axes=65 must not exceed"):
        ClassStatistics.from_data(*digits, n_axes=65)
    with pytest.raises(ValueError, match="with n_axes need sample covariances"):
        ClassStatistics.from_data(*digits, "oas", n_axes=3)
    statistics = ClassStatistics.from_blocks(blocks, n_axes=3)
    with pytest.raises(ValueError, match=r"n_components=4 must not exceed .* n_axes=3"):
        SQFA(4).fit_statistics(statistics)


def test_more_than_the_memory_is_refused_before(digits, blocks, monkeypatch):
    monkeypatch.setattr("skgeom.utils.memory.memory", lambda: 500_000)
    message = r"10 classes of 64 features need 0.000655 GB.* n_axes=27, which need 5.8"
    with pytest.raises(MemoryError, match=message):
        ClassStatistics.from_blocks(blocks)
    assert ClassStatistics.from_blocks(blocks, n_axes=16).n_features == 16
