"""Dask arrays and data frames give what the same data in memory give."""

import weakref
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from comparisons import assert_same_statistics
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import load_digits, load_wine
from sklearn.preprocessing import StandardScaler

from skgeom import (
    GLRSQ,
    GMLVQ,
    PLRSQ,
    RSLVQ,
    SQFA,
    AMAGauss,
    ClassStatistics,
    GaussianClassifier,
    GaussianRegressor,
    KernelDiscriminantAnalysis,
    Recentering,
    SecondMomentSQFA,
    _held_out,
)
from skgeom._filters._auto import class_intensities
from skgeom.baselines import LOL, mdrm
from skgeom.datasets import make_spd_classes

da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")


@pytest.fixture
def wine():
    frame = load_wine(as_frame=True).frame
    return frame.drop(columns="target"), frame["target"]


# Statistics


@st.composite
def chunks(draw, n_samples):
    """Lengths of blocks, some of which may be 0."""
    cuts = draw(st.lists(st.integers(0, n_samples), max_size=30))
    return tuple(np.diff([0, *sorted(cuts), n_samples]).tolist())


@settings(max_examples=10, deadline=None)
@given(rows=chunks(1797), columns=st.integers(1, 64))
def test_any_blocks(rows, columns):
    X, y = load_digits(return_X_y=True)
    expected = ClassStatistics.from_data(X, y)
    blocks = da.from_array(X, chunks=(rows, columns))
    assert_same_statistics(ClassStatistics.from_data(blocks, y), expected)
    edges = np.cumsum((0, *rows))
    pairs = [(X[a:b], y[a:b]) for a, b in pairwise(edges)]
    assert_same_statistics(ClassStatistics.from_blocks(pairs[::-1]), expected)


def test_blocks_of_unknown_length(digits):
    X, y = digits
    blocks, labels = da.from_array(X, chunks=(500, -1)), da.from_array(y, chunks=500)
    some = labels < 4
    statistics = ClassStatistics.from_data(blocks[some], labels[some])
    assert_same_statistics(statistics, ClassStatistics.from_data(X[y < 4], y[y < 4]))
    with pytest.raises(ValueError, match="the lengths of the blocks of X are not"):
        ClassStatistics.from_data(blocks[some], y[y < 4])
    with pytest.raises(ValueError, match=r"X has 4 blocks, but y has 9.*compute_chunk"):
        other = da.from_array(y, chunks=200)
        ClassStatistics.from_data(blocks[some], other[other < 4])


def test_frames_with_text_and_categories(wine):
    X, y = wine
    names = y.map({0: "barolo", 1: "grignolino", 2: "barbera"})
    expected = GaussianClassifier().fit(X, names)
    for labels in (names, names.astype("category")):
        frame = dd.from_pandas(X.assign(kind=labels), npartitions=4)
        model = GaussianClassifier().fit(frame.drop(columns="kind"), frame["kind"])
        assert_array_equal(model.classes_, expected.classes_)
        assert_array_equal(model.feature_names_in_, X.columns)
        predicted = model.predict(frame.drop(columns="kind"))
        assert_array_equal(predicted.compute(), expected.predict(X))


def test_errors_name_the_block(digits):
    X, y = digits[0].copy(), digits[1]
    X[700, 3] = np.nan
    blocks = da.from_array(X, chunks=(300, -1))
    with pytest.raises(ValueError, match=r"^Block 2: .*NaN"):
        ClassStatistics.from_data(blocks, y)
    pairs = ((X[i : i + 300], y[i : i + 300]) for i in range(0, len(X), 300))
    with pytest.raises(ValueError, match=r"^Block 2: .*NaN"):
        ClassStatistics.from_blocks(pairs)
    model = GaussianClassifier().fit(*load_wine(return_X_y=True))
    before = vars(model).copy()
    with pytest.raises(ValueError, match=r"^Block 2: "):
        model.fit(blocks, y)
    assert vars(model) == before


def test_blocks_that_do_not_fit(digits):
    X, y = digits
    blocks = da.from_array(X, chunks=(300, -1))
    with pytest.raises(ValueError, match="1797 samples, but y has 1700 values"):
        ClassStatistics.from_data(blocks, y[:1700])
    with pytest.raises(ValueError, match="y must have one value per sample"):
        ClassStatistics.from_data(blocks, blocks)
    with pytest.raises(ValueError, match="with n_axes need sample"):
        ClassStatistics.from_data(blocks, y, "oas")
    assert not len(ClassStatistics.from_data(blocks[:0], y[:0]).classes)
    for model in (
        GaussianClassifier(),
        GaussianClassifier(regularization=1.0),
        SQFA(2),
    ):
        with pytest.raises(ValueError, match=r"no samples|y contains 0 classes"):
            model.fit(blocks[:0], y[:0])
    with pytest.raises(ValueError, match=r"^Block 1: .*of features, got 64 and 5"):
        ClassStatistics.from_blocks([(X, y), (X[:, :5], y)])
    with pytest.raises(ValueError, match=r"^Block 2: .* labels have the same type"):
        ClassStatistics.from_blocks([(X, y), (X, y), (X, y.astype(str))])


@pytest.mark.parametrize(
    "model", [GaussianClassifier(), SQFA(2), KernelDiscriminantAnalysis()], ids=repr
)
def test_weights_that_do_not_fit(model, wine):
    X, y = wine[0].to_numpy(), wine[1].to_numpy()
    blocks, zero = da.from_array(X, chunks=(70, -1)), np.zeros(len(y))
    for weights, message in (
        (zero, "^sample_weight must have at least one non-zero number"),
        (da.from_array(zero, chunks=70), "^sample_weight must have at least one non-z"),
        (3.0, r"^sample_weight must have one value per sample, but is 3\.0\. Use"),
        (np.ones((len(y), 2)), r"^sample_weight must .* but has the shape \(178, 2\)"),
    ):
        with pytest.raises(ValueError, match=message):
            model.fit(blocks, y, sample_weight=weights)


def test_weights_of_a_block_may_be_less_than_one_sample(wine):
    X, y = wine[0].to_numpy(), wine[1].to_numpy()
    weights = np.where(np.arange(len(y)) % 50 < 40, 0.3, 0.1)
    weights[:18] = 0  # blocks without weight
    expected = ClassStatistics.from_data(X, y, sample_weight=weights)
    rows = [slice(i, i + 9) for i in range(0, len(y), 9)]
    triples = ((X[i], y[i], weights[i]) for i in rows)
    blocks = da.from_array(X, chunks=(9, -1))
    for statistics in (
        ClassStatistics.from_blocks(triples),
        ClassStatistics.from_data(
            blocks,
            da.from_array(y, chunks=50),
            sample_weight=da.from_array(weights, chunks=70),
        ),
    ):
        assert_allclose(statistics.counts, expected.counts)
        assert_allclose(statistics.means, expected.means)
        assert_allclose(statistics.covariances, expected.covariances, atol=1e-9)


def test_from_blocks_says_what_it_takes(digits):
    X, y = digits
    with pytest.raises(ValueError, match=r"^blocks must yield pairs.* block 0 is of"):
        ClassStatistics.from_blocks((X, y))
    with pytest.raises(ValueError, match=r"block 1 is of type tuple of length 1"):
        ClassStatistics.from_blocks([(X, y), (X,)])
    with pytest.raises(ValueError, match=r"^Block 1: "):
        ClassStatistics.from_blocks([(X, y), (X[:0], y)])


def test_from_blocks_holds_one_block_at_a_time(rng):
    read_before = []

    def read():
        assert all(block() is None for block in read_before)
        X = rng.normal(size=(10, 3))
        read_before.append(weakref.ref(X))
        return X, np.arange(10) % 2

    assert ClassStatistics.from_blocks(read() for _ in range(4)).counts.sum() == 40


# Lazy predictions


def test_one_task_a_block_reads_it_once(digits):
    X, y = digits
    read = []

    def block(part, block_id):
        read.append(block_id[0])
        return part

    blocks = da.from_array(X, chunks=(300, -1)).map_blocks(block, meta=X[:0])
    SQFA(2, random_state=0).fit(blocks, y)
    assert sorted(read) == [0, 1, 2, 3, 4, 5]
    read.clear()
    model = GaussianClassifier("shared").fit(blocks, y)
    assert sorted(read) == [0, 1, 2, 3, 4, 5]
    lazy = model.predict(blocks)
    assert len(read) == 6
    lazy.compute()
    assert len(read) == 12


@pytest.mark.parametrize("dtype", [int, object])
def test_few_samples_of_each_class_of_a_block_do_not_warn(dtype, rng):
    y = np.arange(300) % 30
    X = rng.normal(size=(300, 3)) + y[:, None]
    y = y.astype(str).astype(object) if dtype is object else y.astype(dtype)
    # Of more than twenty samples, scikit-learn warns of many labels.
    samples, labels = da.from_array(X, chunks=(40, -1)), da.from_array(y, chunks=40)
    found = ClassStatistics.from_data(samples, labels)
    SQFA(2, random_state=0, max_iter=5, tol=1).fit(samples, labels)
    assert_array_equal(found.classes, np.unique(y))


@pytest.fixture(scope="module")
def parquet(tmp_path_factory):
    """A frame of many small files, of which Dask merges those of few columns."""
    folder = tmp_path_factory.mktemp("parquet")
    rng = np.random.default_rng(0)
    names = [f"f{k}" for k in range(30)]
    for number in range(20):
        part = pd.DataFrame(rng.normal(size=(20, 30)), columns=names)
        part["label"] = np.where(part["f0"] > 0, "up", "down")
        part["weight"] = 1.0 + number % 2
        part.to_parquet(folder / f"{number:02}.parquet")
    return dd.read_parquet(folder), names


@pytest.mark.parametrize(
    "model",
    [
        AMAGauss(2, regularization=0.1, max_iter=1, tol=1e-2),
        KernelDiscriminantAnalysis(solver="nystroem", n_landmarks=10),
        RSLVQ(solver="sgd", max_iter=2),
    ],
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore:The 2 filters span")
def test_files_whose_blocks_dask_merges(model, parquet):
    frame, names = parquet
    X, y = frame[names], frame["label"]
    model = clone(model).fit(X, y)
    assert_array_equal(model.classes_, ["down", "up"])
    if hasattr(model, "predict"):
        assert model.score(X, y) == model.score(X.compute(), y.compute()) > 0.6


def test_columns_of_other_lengths_say_what_to_do(wine):
    X = dd.from_pandas(wine[0], npartitions=3)
    other = dd.from_pandas(wine[1][:100], npartitions=3)
    with pytest.raises(ValueError, match=r"A block has \d+ samples in X.*persist"):
        ClassStatistics.from_data(X, other)


@pytest.mark.parametrize("as_frame", [False, True])
def test_accuracy_of_blocks(as_frame, wine):
    X, y = wine
    weights = np.arange(len(y)) % 3.0
    model = GaussianClassifier().fit(X[["alcohol", "ash"]], y)
    expected = model.score(X[["alcohol", "ash"]], y, weights)
    frame = dd.from_pandas(X.assign(y=y, weight=weights), npartitions=4)
    parts = [frame[["alcohol", "ash"]], frame["y"], frame["weight"]]
    if not as_frame:
        parts = [part.to_dask_array(lengths=True) for part in parts]
        model.fit(X[["alcohol", "ash"]].to_numpy(), y)
    assert model.score(*parts) == pytest.approx(expected, rel=1e-12)
    with pytest.raises(ValueError, match="no samples"):
        model.score(*(part[:0] if not as_frame else part.loc[[]] for part in parts))


@pytest.mark.parametrize(("missing", "dtype"), [(None, object), (pd.NA, "string")])
def test_missing_labels_of_a_block(missing, dtype, wine):
    X, y = wine[0], wine[1].map(str).astype(object)
    y[150] = missing
    frame = dd.from_pandas(X.assign(y=y.astype(dtype)), npartitions=2)
    message = "Block 1: y contains 1 missing label, the first one in row 61"
    for model in (SQFA(2), RSLVQ(solver="sgd")):
        with pytest.raises(ValueError, match=message):
            model.fit(frame[list(X)], frame["y"])
    with pytest.raises(ValueError, match=r"1 missing label.* 150"):
        ClassStatistics.from_blocks([(X, y.astype(dtype))])


def test_containers_in_memory_are_refused(wine):
    X, y = wine
    model = SQFA(regularization=1.0).fit(X, y).set_output(transform="pandas")
    for blocks in (dd.from_pandas(X, npartitions=2), da.from_array(X.to_numpy())):
        with pytest.raises(TypeError, match="would gather all of X in memory"):
            model.transform(blocks)
    assert list(model.transform(X).columns) == ["sqfa0", "sqfa1"]


# Filters


@pytest.mark.parametrize("cls", [SQFA, SecondMomentSQFA])
def test_filters_of_blocks_are_those_of_the_statistics(cls, digits):
    X, y = digits
    blocks, labels = da.from_array(X, chunks=(250, 20)), da.from_array(y, chunks=250)
    options = {"regularization": 1.0, "random_state": 0}
    model = cls(3, **options).fit(blocks, labels)
    statistics = ClassStatistics.from_data(X, y)
    intensities = class_intensities(model.shrinkage_, statistics.counts)
    expected = cls(3, **options).fit_statistics(statistics.shrunk(intensities))
    assert_allclose(model.components_, expected.components_, atol=1e-7)
    stream = cls(3, **options)
    for part in (slice(None, 750), slice(750, None)):
        stream.partial_fit(blocks[part], labels[part])
    expected.fit_statistics(statistics.shrunk())  # nothing is held out
    assert_allclose(stream.objective_, expected.objective_, rtol=1e-4)


@pytest.mark.parametrize(
    ("estimator", "most"),
    [(SQFA(2), 100), (SecondMomentSQFA(2), 10_000), (AMAGauss(2, max_iter=5), 100)],
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_automatic_noise_is_that_of_samples_in_memory(
    estimator, most, wine, monkeypatch
):
    """Of more samples than are scored, the same ones are."""
    X, y = StandardScaler().fit_transform(wine[0]), wine[1].to_numpy()
    monkeypatch.setattr(_held_out, "MOST_SAMPLES", most)
    order = np.random.default_rng(0).permutation(len(y))
    estimator.set_params(random_state=0)
    model = clone(estimator).fit(X[order], y[order])
    blocks = da.from_array(X[order], chunks=((20, 0, 90, 68), 5))
    same = clone(estimator).fit(blocks, y[order])
    assert_allclose(same.regularization_, model.regularization_, rtol=1e-9)
    if not isinstance(model, AMAGauss):  # each block is a step of it
        assert_allclose(same.components_, model.components_, atol=1e-7)


def test_samples_of_blocks_of_unknown_length(wine, monkeypatch):
    """They are those of positive weight that are drawn in memory."""
    monkeypatch.setattr(_held_out, "MOST_SAMPLES", 90)
    X, y = wine[0] / wine[0].std(), wine[1].astype("category")
    weights = 0 * wine[1] + np.arange(len(y)) % 3
    frame = dd.from_pandas(X.assign(kind=y, weight=weights), npartitions=3)
    empty = frame[frame["alcohol"] > 99]
    frame = dd.concat([frame, empty, empty])
    columns = frame[list(X)], frame["kind"], frame["weight"]
    model = SQFA(2, random_state=0).fit(*columns)
    whole = SQFA(2, random_state=0).fit(X, y, sample_weight=weights)
    assert_allclose(model.regularization_, whole.regularization_, rtol=1e-9)


# Other estimators


METHODS = "transform predict predict_proba decision_function score_samples".split()


@pytest.mark.parametrize(
    "estimator",
    [
        LOL(2),
        GMLVQ(random_state=0),
        KernelDiscriminantAnalysis(solver="cholesky"),
        GaussianClassifier("shared"),
        PLRSQ(),
        PLRSQ(solver="lbfgs"),
    ],
    ids=repr,
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_fitted_in_memory_and_applied_to_blocks(estimator, wine):
    X, y = StandardScaler().fit_transform(wine[0]), wine[1].to_numpy()
    refused = "needs all of X in memory, but X is a Dask"
    if isinstance(estimator, PLRSQ):
        (X, y), refused = make_spd_classes(2, 60, 3, random_state=0), "Set solver='sgd'"
    model = estimator.fit(X, y)
    for dtype in (np.float64, np.float32):
        Z = X.astype(dtype)
        blocks = da.from_array(Z, chunks=((50, 0, len(X) - 50), 2, 2)[: X.ndim])
        for name in (name for name in METHODS if hasattr(model, name)):
            lazy, expected = getattr(model, name)(blocks), getattr(model, name)(Z)
            assert isinstance(lazy, da.Array)
            assert lazy.shape == expected.shape
            assert lazy.dtype == expected.dtype
            rtol, atol = (1e-9, 1e-12) if dtype == np.float64 else (1e-6, 1e-6)
            assert_allclose(lazy.compute(), expected, rtol=rtol, atol=atol)
    if isinstance(model, GaussianClassifier):
        lazy, expected = model.predict_proba(blocks), model.predict_proba(Z)
        model.fit(X[:, ::-1], y)  # what was asked for before stays what it was
        assert_allclose(lazy.compute(), expected, rtol=1e-6)
        return
    with pytest.raises(TypeError, match=refused):
        model.fit(blocks, da.from_array(y, chunks=50))


@pytest.mark.parametrize("estimator", [GaussianRegressor(), Recentering(), mdrm()])
def test_all_others_do_not_read_all_blocks_silently(estimator):
    X, y = make_spd_classes(2, 60, 3, random_state=0)
    X = X[:, 0] if isinstance(estimator, GaussianRegressor) else X
    blocks = da.from_array(X, chunks=(20, *X.shape[1:]))
    with pytest.raises(TypeError, match="needs all of X in memory"):
        estimator.fit(blocks, y)


@pytest.mark.parametrize("cls", [PLRSQ, RSLVQ, GLRSQ])
def test_prototypes_learn_blocks(cls, wine):
    if cls is RSLVQ:
        X, y = StandardScaler().fit_transform(wine[0]), wine[1].to_numpy()
    else:
        X, y = make_spd_classes(3, 60, 3, random_state=0)
    order = np.random.default_rng(0).permutation(len(y))
    X, y = X[order], y[order]
    blocks = da.from_array(X, chunks=((0, 60, 60, len(y) - 120), *X.shape[1:]))
    model = cls(solver="sgd", max_iter=7, random_state=0).fit(blocks, y)
    expected, rng = cls(max_iter=7), np.random.RandomState(0)
    for _ in range(3):  # as often as it takes for seven blocks
        for part in np.split(np.arange(len(y)), [60, 120]):
            part = part[rng.permutation(len(part))]
            expected.partial_fit(X[part], y[part], classes=np.unique(y))
    assert_allclose(model.prototypes_, expected.prototypes_, rtol=1e-9)
    assert model.n_iter_ == 9
    assert (model.predict(blocks) == y).mean().compute() > 0.85
    # A second fit is a new one, and a failing one leaves the last.
    before, again = model.prototypes_, model.fit(blocks, y).prototypes_
    assert_array_equal(again, before)
    X[70] = np.nan
    broken = da.from_array(X, chunks=blocks.chunks)
    with pytest.raises(ValueError, match=r"^Block 2: .*NaN"):
        model.fit(broken, y)
    assert model.prototypes_ is again
    for some, weights, message in (
        (blocks[:0], None, "all blocks of X are empty"),
        (blocks, np.zeros(len(y)), "sample_weight must have at least one non-zero"),
    ):
        with pytest.raises(ValueError, match=message):
            model.fit(some, y[: len(some)], sample_weight=weights)
    assert model.prototypes_ is again


@pytest.mark.parametrize(
    "model",
    [
        RSLVQ(solver="sgd", max_iter=4, random_state=0),
        KernelDiscriminantAnalysis(solver="nystroem"),
    ],
)
def test_blocks_of_weight_zero_and_classes_of_weight_zero(model, wine):
    X, y = StandardScaler().fit_transform(wine[0]), wine[1].to_numpy()
    order = np.random.default_rng(0).permutation(len(y))
    X, y = X[order], y[order]
    blocks = da.from_array(X, chunks=(60, -1))
    weights = np.where(np.arange(len(y)) < 120, y < 2, 0.0)
    kept = weights > 0
    parts = kept[:60].sum(), kept[60:].sum()
    expected = clone(model).fit(da.from_array(X[kept], chunks=(parts, -1)), y[kept])
    fitted = clone(model).fit(blocks, y, sample_weight=weights)
    assert_array_equal(fitted.classes_, [0, 1])
    assert_allclose(fitted.predict_proba(X), expected.predict_proba(X), rtol=1e-6)


def test_fit_of_blocks_ends_callbacks_and_keeps_attributes(wine):
    pytest.importorskip("sklearn.callback", reason="callbacks need scikit-learn 1.9")

    class Log:
        def setup(self, estimator, context):
            log.append("setup")

        def on_fit_task_begin(self, estimator, context):
            log.append("begin")

        def on_fit_task_end(self, estimator, context, **_):
            log.append("end")

        def teardown(self, estimator, context):
            log.append("teardown")

    log, order = [], np.random.default_rng(0).permutation(len(wine[1]))
    X = StandardScaler().fit_transform(wine[0])[order]
    blocks = da.from_array(X, chunks=(60, -1))
    y = wine[1].to_numpy()[order]
    model = RSLVQ(solver="sgd", max_iter=3, random_state=0).set_callbacks(Log())
    model.note = "of the user"
    model.fit(blocks, y)
    assert log[0] == "setup"
    assert log[-1] == "teardown"
    assert log.count("begin") == log.count("end") > 3
    assert model.note == "of the user"


@pytest.mark.parametrize("n_samples", [500, 12_000])  # all are held out, or a part
@pytest.mark.parametrize("weighted", [False, True])
def test_shrinkage_is_selected_by_the_same_samples(n_samples, weighted, rng):
    y = np.arange(n_samples) % 3
    X = rng.normal(size=(n_samples, 4)) * (1 + y)[:, None]
    weights = np.arange(n_samples) % 4 if weighted else None
    expected = GaussianClassifier().fit(X, y, weights)
    blocks = da.from_array(X, chunks=(n_samples // 7, 2))
    model = GaussianClassifier().fit(blocks, y, weights)
    assert model.selection_ is not None
    assert_allclose(model.class_shrinkages_, expected.class_shrinkages_, rtol=1e-9)
    assert_allclose(model.predict_proba(X), expected.predict_proba(X), atol=1e-9)


@pytest.mark.parametrize(
    "estimator",
    [
        SQFA(2, random_state=0),
        GaussianClassifier(),
        KernelDiscriminantAnalysis(solver="nystroem", random_state=0),
        RSLVQ(solver="sgd", max_iter=4, random_state=0),
        AMAGauss(2, max_iter=3, tol=1e-2, random_state=0),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
@pytest.mark.parametrize("as_frame", [False, True])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_small_weights_are_scaled_by_all_blocks(estimator, as_frame, wine):
    """Not block by block: the weights of the first blocks are larger."""
    X, y = pd.DataFrame(StandardScaler().fit_transform(wine[0])), wine[1]
    order = np.random.default_rng(0).permutation(len(y))
    weights = np.linspace(2, 0.1, len(y))
    weights[::7] = 0
    weights *= np.count_nonzero(weights) / weights.sum()
    frame = X.set_axis([f"f{k}" for k in X], axis=1).assign(
        y=y.to_numpy(), weight=weights, small=1e-6 * weights
    )
    frame = dd.from_pandas(frame.iloc[order].reset_index(drop=True), npartitions=4)
    columns = frame[[f"f{k}" for k in X]], frame["y"], frame["weight"], frame["small"]
    if not as_frame:
        columns = [column.to_dask_array(lengths=True) for column in columns]
    X, y, weights, small = columns
    expected = clone(estimator).fit(X, y, sample_weight=weights)
    model = clone(estimator).fit(X, y, sample_weight=small)
    name = "predict_proba" if hasattr(model, "predict_proba") else "transform"
    found, expected = (getattr(m, name)(X).compute() for m in (model, expected))
    assert_allclose(found, expected, atol=1e-5)


BY_GROUPS = {"class_weight": "balanced", "group_size": 1}


@pytest.mark.parametrize("options", [{}, BY_GROUPS])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_filters_for_samples_in_blocks(options, wine):
    X, y = StandardScaler().fit_transform(wine[0]), wine[1].to_numpy()
    order = np.random.default_rng(0).permutation(len(y))
    X, y = X[order], y[order]
    blocks = da.from_array(X, chunks=(60, 5))
    model = AMAGauss(2, random_state=0, max_iter=15, **options).fit(blocks, y)
    features = model.transform(blocks)
    assert features.shape == (178, 2)
    short = AMAGauss(2, random_state=0, max_iter=4, **options)
    weights = np.arange(178) % 3
    sums = tuple(np.add.reduceat(weights, np.arange(0, 178, 60)).tolist())
    copies = da.from_array(X.repeat(weights, axis=0), chunks=(sums, 5))
    twice = clone(short).fit(blocks, y, sample_weight=weights)
    again = clone(short).fit(copies, y.repeat(weights))
    assert_allclose(twice.components_, again.components_, atol=1e-6)
    expected = AMAGauss(
        2, regularization=model.regularization_, random_state=0, **options
    ).fit(X, y)
    assert model.objective_ > expected.objective_ - 0.01
