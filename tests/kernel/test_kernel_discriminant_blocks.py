"""Landmarks on the blocks of Dask arrays and frames: the model is that of memory."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_digits, load_wine

from skgeom import KernelDiscriminantAnalysis

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")


def KDA(**settings):
    settings = {"n_landmarks": 60, "random_state": 0, **settings}
    return KernelDiscriminantAnalysis(solver="nystroem", **settings)


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return X / 16, y


def minimum(a, b):
    return np.minimum(a[:, None], b).sum(axis=2)


# Uneven blocks, one of which is empty, and one of a single sample.
ROWS = (350, 0, 1, 198, 350)


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"gamma": 0.1},
        {"penalty": "identity", "criterion": "total"},
        {"kernel": "chi2", "gamma": None, "calibration": None},
        {"kernel": minimum, "n_landmarks": 20, "regularization": 1e-3},
        {"priors": "uniform", "regularization": 1e-4},
    ],
)
def test_blocks_give_the_model_of_memory(digits, settings):
    X, y = (values[::2] for values in digits)
    expected = KDA(**settings).fit(X, y)
    blocks = da.from_array(X, chunks=(ROWS, 30))
    model = KDA(**settings).fit(blocks, y)
    assert model.regularization_ == expected.regularization_
    assert_allclose(model.gamma_ or 0, expected.gamma_ or 0, rtol=1e-12)
    Z = expected.transform(X)
    assert_allclose(model.transform(X), Z, rtol=0, atol=1e-8 * np.abs(Z).max())
    assert_allclose(model.predict_proba(X), expected.predict_proba(X), atol=1e-8)
    assert model.n_features_in_ == 64


def test_frames_with_text_labels():
    frame = load_wine(as_frame=True).frame
    X, y = frame.drop(columns="target"), frame["target"].map({0: "a", 1: "b", 2: "c"})
    X = (X - X.mean()) / X.std()
    expected = KDA().fit(X, y)
    lazy = dd.from_pandas(X.assign(kind=y), npartitions=3)
    samples, labels = lazy.drop(columns="kind"), lazy["kind"]
    model = KDA().fit(samples, labels)
    assert_array_equal(model.classes_, expected.classes_)
    assert_array_equal(model.feature_names_in_, X.columns)
    predicted = model.predict(samples)
    assert is_lazy(predicted)
    assert_array_equal(predicted.compute(), expected.predict(X))
    features = model.transform(samples)
    names = ["kerneldiscriminantanalysis0", "kerneldiscriminantanalysis1"]
    assert list(features.columns) == names
    assert_allclose(features.compute(), expected.transform(X), atol=1e-8)
    unknown = samples.to_dask_array()  # of blocks of unknown length
    again = KDA().fit(unknown, labels)
    assert_allclose(again.transform(X.to_numpy()), expected.transform(X), atol=1e-8)


def is_lazy(data):
    return hasattr(data, "compute")


def unreadable(shape):
    def fail(block):
        raise AssertionError("X was read")

    empty = np.empty((0, shape[1]))
    return da.zeros(shape, chunks=(10, -1)).map_blocks(fail, dtype=float, meta=empty)


@pytest.mark.parametrize("solver", ["cholesky", "eigen"])
def test_exact_solvers_name_the_one_that_works(solver):
    X, y = unreadable((40, 3)), np.arange(40) % 2
    with pytest.raises(TypeError, match=r"Dask Array\. Use solver='nystroem'"):
        KernelDiscriminantAnalysis(solver=solver).fit(X, y)
    with pytest.raises(TypeError, match="with samples, not a precomputed kernel"):
        KDA(kernel="precomputed").fit(X, y)


def test_few_samples_are_solved_exactly_in_memory(digits):
    X, y = digits[0][:300], digits[1][:300]
    weights = np.arange(len(y)) % 3 + 1.0
    expected = KernelDiscriminantAnalysis().fit(X, y, weights)
    blocks = da.from_array(X, chunks=(70, -1))
    model = KernelDiscriminantAnalysis().fit(blocks, da.from_array(y), weights)
    assert model.solver_ == "cholesky"
    # Rounding errors are amplified by one over the selected regularization.
    assert_allclose(model.transform(X), expected.transform(X), rtol=1e-9, atol=1e-9)
    # Few distinct samples:
    model.fit(*(da.from_array(np.repeat(values, 40, axis=0)) for values in (X, y)))
    assert model.gamma_ == pytest.approx(KDA().fit(X, y).gamma_)


def test_errors_name_the_block_and_change_nothing(digits):
    X, y = digits[0].copy(), digits[1]
    model = KDA(calibration=None, regularization=1e-4).fit(X, y)
    before = vars(model).copy()
    X[700, 3] = np.nan
    with pytest.raises(ValueError, match=r"^Block 2: .*NaN"):
        model.fit(da.from_array(X, chunks=(300, -1)), y)
    assert vars(model) == before
    blocks = da.from_array(digits[0], chunks=(300, -1))
    with pytest.raises(ValueError, match="1797 samples, but y has 1700 values"):
        KDA().fit(blocks, y[:1700])
    with pytest.raises(ValueError, match=r"n_components=12 exceeds n_classes - 1 = 9"):
        KDA(n_components=12).fit(blocks, y)
    with pytest.raises(ValueError, match="There are no samples"):
        KDA().fit(da.zeros((0, 3), chunks=(1, 3)), np.empty(0))
    with pytest.raises(ValueError, match="y contains 1 class"):
        KDA().fit(blocks, np.zeros(len(y)))
