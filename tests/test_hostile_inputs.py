"""Bad and odd inputs, one table for all estimators: a clear error, or a right result.

Each cell fits an estimator to data that something was done to. ``REFUSED`` says what
the error has to say, and ``TAKEN`` are changes that leave the result as it is; ``ODD``
may be either, but no warning of numpy's and no number that is not finite.
"""

import re
import warnings
from functools import cache
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import public_estimators as public
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import FitFailedWarning
from sklearn.utils import get_tags
from sklearn.utils.validation import has_fit_parameter

from skgeom import CovarianceHessianProjection, GaussianClassifier, RejectionClassifier
from skgeom.datasets import make_spd_classes
from skgeom.utils.memory import memory

# Those that learn from y, and variants with other code for the input.
ESTIMATORS = {
    name: case.make()
    for name, case in public.ESTIMATORS.items()
    if public.NAMES in case.holds and "," not in name
} | {
    # LinearDiscriminantAnalysis of scikit-learn does not stand such inputs.
    "CovarianceHessianProjection": CovarianceHessianProjection(GaussianClassifier()),
    "RejectionClassifier": RejectionClassifier(GaussianClassifier()),
}
VARIANTS = ["GaussianClassifier, shared", "RSLVQ, sgd"]
VARIANTS += ["PLRSQ, tangent", "PLRSQ, mahalanobis", "PLRSQ, sgd"]
ESTIMATORS |= {name: public.VARIANTS[name].make() for name in VARIANTS}
DATA = {name: public.ESTIMATORS[name.split(",")[0]].data for name in ESTIMATORS}
VECTORS = [name for name in ESTIMATORS if DATA[name] == "vectors"]
MATRICES = [name for name in ESTIMATORS if DATA[name] == "matrices"]


def vectors():
    X, y = load_iris(return_X_y=True)
    rows = np.r_[0:25, 50:75, 100:125]
    return X[rows], y[rows]


def matrices():
    return make_spd_classes(3, 20, 4, random_state=0)


def with_entry(A, value):
    A = np.array(A, dtype=object if isinstance(value, str) else float)
    A[(5,) + (0,) * (A.ndim - 1)] = value
    return A


def with_matrix(X, matrix):
    X = X.copy()
    X[5] = matrix
    return X


def flat(X):
    return X.reshape(len(X), -1)


def labels(y, names):
    return np.array(names, dtype=object)[y]


def with_label(y, label):
    y = y.astype(object)
    y[3] = label
    return y


def unit(X):
    """What changes the location of samples."""
    return 1 if X.ndim == 2 else np.eye(X.shape[1])


def scaled(X, factor):
    """The samples with the first feature in another unit."""
    factors = np.array([factor] + [1] * (X.shape[1] - 1))
    return X * factors if X.ndim == 2 else X * np.sqrt(np.outer(factors, factors))


def of_single(X, size):
    return (X / np.abs(X).max() * size).astype(np.float32)


# What is done to X and y, and what the error says.
REFUSED = {
    "text in X": (lambda X, y: (np.full(X.shape, "a"), y), "string to float"),
    "X is None": (lambda X, y: (None, y), "2D array|SPD matrices|NoneType"),
    "X is ragged": (lambda X, y: ([[1], [1, 2]], [0, 1]), "inhomogeneous"),
    "NaN in y": (lambda X, y: (X, with_entry(y, np.nan)), "Input y contains NaN"),
    "NA in y": (lambda X, y: (X, pd.Series(with_label(y, pd.NA))), "missing label"),
    "y is a number": (lambda X, y: (X, 1), "1d array|at least 1 dim"),
    "y has two axes": (lambda X, y: (X, np.c_[y, y]), "1d array"),
    "mixed y": (lambda X, y: (X, labels(y, [0, "a", 2.5])), "Unknown label type"),
}
# Of vectors, scikit-learn's checks test these (test_estimator_checks.py). The adapter
# of estimators of matrices refuses such vectors before it makes matrices of them.
REFUSED_MATRICES = {
    "NaN in X": (lambda X, y: (with_entry(X, np.nan), y), "NaN"),
    "X is complex": (lambda X, y: (X + 1j, y), "Complex data not|not Hermitian"),
    "X has one axis": (lambda X, y: (X.ravel()[: len(y)], y), "SPD matrices"),
    "no samples": (lambda X, y: (X[:0], y[:0]), "0 sample"),
    "no features": (lambda X, y: (X[..., :0], y), "empty|square matrices"),
    "text in an object": (lambda X, y: (with_entry(X, "x"), y), "to float"),
    "sparse X": (lambda X, y: (sparse.csr_array(flat(X)), y), "dense|SPD matrices"),
    "one class": (lambda X, y: (X, y * 0), "at least 2 classes"),
    "y is None": (lambda X, y: (X, None), "y to be passed|1d array"),
    "continuous y": (lambda X, y: (X, y + np.linspace(0, 0.5, len(y))), "continuous"),
    "y is short": (lambda X, y: (X, y[:-1]), "inconsistent|but y has"),
    "one sample": (lambda X, y: (X[:1], y[:1]), "at least 2 classes|1 sample"),
    "asymmetric": (
        lambda X, y: (with_matrix(X, np.eye(4) + np.eye(4, k=1)), y),
        r"X\[5\] is not symmetric",
    ),
    "indefinite": (
        lambda X, y: (with_matrix(X, np.diag([1, 1, 1, -1])), y),
        r"X\[5\] is not positive definite",
    ),
    "singular": (
        lambda X, y: (with_matrix(X, np.ones((4, 4))), y),
        r"X\[5\] is not positive definite",
    ),
    "signals": (lambda X, y: (X[:, :3], y), "square matrices"),
    "vectors": (lambda X, y: (X[:, 0], y), "SPD matrices"),
    "one matrix": (lambda X, y: (X[0], y[:4]), "SPD matrices"),
}
TAKEN = {
    "lists": lambda X, y: (X.tolist(), y.tolist()),
    "Fortran order": lambda X, y: (np.asfortranarray(X), y),
    "read-only": lambda X, y: (np.frombuffer(X.tobytes()).reshape(X.shape), y),
    "strided": lambda X, y: (np.repeat(X, 2, axis=0)[::2], np.repeat(y, 2)[::2]),
    "big-endian": lambda X, y: (X.astype(">f8"), y),
    "objects": lambda X, y: (X.astype(object), y),
    "masked": lambda X, y: (np.ma.masked_array(X, False), y),
    "y of text": lambda X, y: (X, labels(y, ["a", "b", "c"])),
    "y of floats": lambda X, y: (X, y.astype(float)),
    "y of large integers": lambda X, y: (X, y.astype(np.int64) + 2**60),
    "y of a masked array": lambda X, y: (X, np.ma.masked_array(y, False)),
    "y of categories": lambda X, y: (X, pd.Categorical(labels(y, ["a", "b", "c"]))),
}
# Refused, or taken, by what the estimator needs.
ODD = {
    "whole numbers of 64 bits": lambda X, y: (
        np.where(X > np.median(X), 2**63 - 1, -(2**63)),
        y,
    ),
    "whole numbers of 8 bits": lambda X, y: ((10 * X).astype(np.uint8), y),
    "zeros": lambda X, y: (0 * X, y),
    "all samples alike": lambda X, y: (np.repeat(X[:1], len(X), axis=0), y),
    "classes alike": lambda X, y: (np.repeat(X[:20], 3, axis=0), np.arange(60) % 3),
    "one sample a class": lambda X, y: (X[[0, 30, 59]], np.arange(3)),
    "a class of one": lambda X, y: (X, np.where(np.arange(len(y)) == 0, 9, y)),
    "one feature": lambda X, y: (X[:, :1] if X.ndim == 2 else X[:, :1, :1], y),
    "a large offset": lambda X, y: (X + 1e16 * unit(X), y),
    "one large number": lambda X, y: (with_entry(X, 1e200 if X.ndim == 2 else 1e12), y),
    "one large feature": lambda X, y: (scaled(X, 1e120), y),
    "one small feature": lambda X, y: (scaled(X, 1e-120), y),
    "a constant feature": lambda X, y: (np.insert(X, 0, 7, axis=1), y),
    "a feature twice": lambda X, y: (np.repeat(X, 2, axis=1), y),
    "numbers of 16 bits": lambda X, y: (X.astype(np.float16), y),
    "near the largest of 32 bits": lambda X, y: (of_single(X, 1e38), y),
}
# Powers of ten that X is multiplied with: the same result, or an error that says so.
SCALES = (-300, -150, -20, 20, 150, 300)
TOO_LARGE_OR_SMALL = (
    "too large|too small|NaN or infinite|same to the kernel|scale|Scale"
)


# What the error says if a matrix of all pairs of features or samples needs more memory
# than there is.
OF_PAIRS = {
    **dict.fromkeys(["SQFA", "AMAGauss", "GaussianClassifier"], "with n_axes="),
    "GaussianRegressor": "with n_axes=",
    "GMLVQ": "TruncatedSVD",
    "CovarianceHessianProjection": "Reduce the number of features of X",
    "KernelDiscriminantAnalysis": "Use solver=.nystroem",
    "LandmarkKernelPCA": "Reduce n_landmarks",
    "LocalFisherDiscriminantAnalysis": "Use fewer samples of X",
    **dict.fromkeys(MATRICES, "Use fewer samples, or smaller matrices"),
}

# These run in the fast tier: one for vectors and one for matrices.
SAMPLE = {"GaussianClassifier", "mdrm"}
TAKE_SPARSE = [name for name in VECTORS if get_tags(ESTIMATORS[name]).input_tags.sparse]
TAKEN_CELLS = [*product(ESTIMATORS, TAKEN), *product(TAKE_SPARSE, ["sparse"])]
OF_VECTORS = product(VECTORS, REFUSED)
OF_MATRICES = product(MATRICES, REFUSED | REFUSED_MATRICES)


def data_for(name):
    return vectors() if name in VECTORS else matrices()


def outcome(estimator, X, y):
    """What a fitted estimator says of X, up to the signs of features."""
    fitted = clone(estimator).fit(X, y)
    if hasattr(fitted, "predict"):
        classes = np.unique(np.asarray(y, dtype=object).astype(str))
        return np.searchsorted(classes, np.asarray(fitted.predict(X)).astype(str))
    return np.abs(fitted.transform(X))


@cache
def expected_of(name):
    return outcome(ESTIMATORS[name], *data_for(name))


def cells(cases):
    """Cells of the table; all but those of ``SAMPLE`` are exhaustive."""
    return [
        pytest.param(name, case, marks=() if name in SAMPLE else pytest.mark.exhaustive)
        for name, case in cases
    ]


@pytest.mark.parametrize("name, case", cells([*OF_VECTORS, *OF_MATRICES]))
def test_refused(name, case):
    """The error says what it has to, and names the argument."""
    change, message = (REFUSED | REFUSED_MATRICES)[case]
    with pytest.raises((ValueError, TypeError), match=message) as error:
        clone(ESTIMATORS[name]).fit(*change(*data_for(name)))
    assert re.search(r"\b(X|y|classes)\b", str(error.value))


@pytest.mark.parametrize("name, case", cells(TAKEN_CELLS))
def test_taken(name, case):
    """The result is that of the data as they were."""
    change = TAKEN.get(case, lambda X, y: (sparse.csc_array(X), y))
    found = outcome(ESTIMATORS[name], *change(*data_for(name)))
    np.testing.assert_allclose(found, expected_of(name), rtol=1e-5)


@pytest.mark.parametrize("name, case", cells(product(ESTIMATORS, ODD)))
def test_odd(name, case):
    """An odd input is taken, or the error says something."""
    X, y = ODD[case](*data_for(name))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        warnings.simplefilter("error", RuntimeWarning)
        warnings.simplefilter("ignore", FitFailedWarning)
        try:
            fitted = clone(ESTIMATORS[name]).fit(X, y)
        except np.linalg.LinAlgError as error:
            raise AssertionError("an error of numpy's") from error
        except (ValueError, TypeError) as error:
            assert len(str(error)) > 20
            return
        if hasattr(fitted, "predict"):
            rejected = getattr(fitted, "reject_label_", None)
            assert np.isin(fitted.predict(X), [*y, rejected]).all()
        else:
            assert np.isfinite(fitted.transform(X)).all()


@pytest.mark.parametrize("name, remedy", OF_PAIRS.items())
def test_matrices_that_need_more_memory_than_there_is(name, remedy, monkeypatch):
    data = matrices() if name in MATRICES else vectors()
    monkeypatch.setattr("skgeom.utils.memory.memory", lambda: 200)
    with pytest.raises(MemoryError, match=f"need .* GB, but there are .*{remedy}"):
        (public.VARIANTS | public.ESTIMATORS)[name].make().fit(*data)


@pytest.mark.parametrize("name, power", cells(product(ESTIMATORS, SCALES)))
def test_scales(name, power):
    """Data of another scale give the same result, or an error that says so."""
    estimator, expected = ESTIMATORS[name], expected_of(name)
    X, y = data_for(name)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            found = outcome(estimator, X * 10.0**power, y)
        except (ValueError, UserWarning) as error:
            assert re.search(TOO_LARGE_OR_SMALL, str(error))
            return
    if hasattr(estimator, "predict"):
        np.testing.assert_array_equal(found, expected)
    else:
        scale = np.abs(found).max() / np.abs(expected).max()
        np.testing.assert_allclose(found, expected * scale, rtol=1e-3, atol=1e-3)


SENSITIVE = ["SQFA", "SecondMomentSQFA", "AMAGauss", "CovarianceHessianProjection"]
SENSITIVE += ["GaussianClassifier", "KernelDiscriminantAnalysis", "RSLVQ", "GMLVQ"]


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("name", SENSITIVE)
def test_outlier_warns(name, make):
    """One sample that causes nearly the whole variance, unless its weight is zero."""
    X, y = load_iris(return_X_y=True)
    X[90] *= 1e6
    estimator = clone(ESTIMATORS[name])
    if name in ("SecondMomentSQFA", "AMAGauss"):  # otherwise, they select as SQFA does
        estimator.set_params(regularization=1.0)
    if make is not np.asarray and not get_tags(estimator).input_tags.sparse:
        pytest.skip("does not accept sparse samples")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        estimator.fit(make(X), y)
        if has_fit_parameter(estimator, "sample_weight"):
            estimator.fit(make(X), y, sample_weight=np.arange(150) != 90)
        estimator.fit(make(np.delete(X, 90, axis=0)), np.delete(y, 90))
    (message,) = {str(w.message) for w in caught if "is so far" in str(w.message)}
    assert message.startswith("Sample 90 ") and "decrease by 100.00 %" in message


@pytest.mark.parametrize("name", sorted(SAMPLE))
def test_masked_values_are_missing(name):
    X, y = data_for(name)
    mask = np.arange(len(y)) == 3
    with pytest.raises(ValueError, match=r"y contains 1 missing label.* row 3"):
        clone(ESTIMATORS[name]).fit(X, np.ma.masked_array(y, mask))
    mask = mask.reshape(-1, *[1] * (X.ndim - 1)) & np.ones(X.shape, bool)
    with pytest.raises(ValueError, match="X contains masked values"):
        clone(ESTIMATORS[name]).fit(np.ma.masked_array(X, mask), y)


def in_pieces(X):
    """The samples in a sparse array whose entries are repeated and not sorted."""
    kept = sparse.csr_array(X)
    rows = [slice(*ends) for ends in zip(kept.indptr, kept.indptr[1:], strict=False)]
    # Each value is the sum of two halves; the second halves are in reverse order.
    columns = [np.r_[kept.indices[row], kept.indices[row][::-1]] for row in rows]
    halves = [np.r_[kept.data[row], kept.data[row][::-1]] / 2 for row in rows]
    parts = np.concatenate(halves), np.concatenate(columns), 2 * kept.indptr
    return sparse.csr_array(parts, shape=X.shape)


SINGLE = [name for name in public.ESTIMATORS if "," not in name]
WITH_OTHER_SPARSE_CODE = ["KernelDiscriminantAnalysis, nystroem", "RSLVQ, sgd"]


@pytest.mark.parametrize("name", SINGLE + WITH_OTHER_SPARSE_CODE)
def test_samples_are_read_only(name):
    """As the memory maps of parallel meta-estimators are."""
    case = (public.ESTIMATORS | public.VARIANTS)[name]
    model = case.make()
    if "max_iter" in model.get_params():
        case = case._replace(estimator=model.set_params(max_iter=2))
    X, y = public.data_of(case, seed=0, n_per_class=8)
    dense = np.asfortranarray(X)
    pairs, parts = [(dense, X)], [dense]
    if get_tags(model).input_tags.sparse:
        X = np.where(X > 1, X, 0)
        pieces = in_pieces(X)
        pairs.append((pieces, sparse.csr_array(X)))
        parts += [pieces.data, pieces.indices, pieces.indptr]
    before = [part.copy() for part in parts]
    for part in parts:
        part.flags.writeable = False
    for given, plain in pairs:
        found = public.outcome(public.fitted(case, given, y), given)
        expected = public.outcome(public.fitted(case, plain, y), plain)
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-8)
    for part, old in zip(parts, before, strict=True):
        np.testing.assert_array_equal(part, old)


@pytest.mark.parametrize("version", [1, 2])
def test_memory_limit_of_a_container(version, monkeypatch, tmp_path):
    """Docker sets the limit in a file of control groups, of version 1 or 2."""
    names = ["memory/memory.limit_in_bytes", "memory.max"]
    limits = [tmp_path / name for name in names]
    limits[0].parent.mkdir()
    limits[version - 1].write_text("123456\n")
    read = Path.read_text
    root = "/sys/fs/cgroup/"

    def read_text(path):
        text = str(path)
        inside = text.startswith(root)
        return read(tmp_path / text[len(root) :] if inside else path)

    monkeypatch.setattr(Path, "read_text", read_text)
    assert memory() == 123456
