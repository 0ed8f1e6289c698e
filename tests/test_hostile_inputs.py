"""Bad and odd inputs, one table for all estimators: a clear error, or a right result.

Each cell fits an estimator to data that something was done to. ``REFUSED`` says what
the error has to say, and ``TAKEN`` are changes that leave the result as it is.
"""

import warnings
from functools import cache

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.utils import get_tags

from skgeom import (
    GLRSQ,
    GMLVQ,
    PLRSQ,
    RSLVQ,
    SQFA,
    SQFACV,
    AMAGauss,
    AMAGaussCV,
    GaussianClassifier,
    KernelDiscriminantAnalysis,
    KernelDiscriminantAnalysisCV,
    RejectionClassifier,
    SecondMomentSQFA,
    baselines,
)
from skgeom.datasets import make_spd_classes

VECTORS = {
    "SQFA": SQFA(2, random_state=0),
    "SecondMomentSQFA": SecondMomentSQFA(2, random_state=0),
    "SQFACV": SQFACV(2, regularizations=3, cv=3, random_state=0),
    "AMAGauss": AMAGauss(2, random_state=0),
    "AMAGaussCV": AMAGaussCV(2, regularizations=3, cv=3, random_state=0),
    "KernelDiscriminantAnalysis": KernelDiscriminantAnalysis(),
    "KernelDiscriminantAnalysisCV": KernelDiscriminantAnalysisCV(cv=3),
    "GaussianClassifier": GaussianClassifier(),
    "GaussianClassifier, shared": GaussianClassifier("shared"),
    "RSLVQ": RSLVQ(random_state=0),
    "GMLVQ": GMLVQ(random_state=0),
    "RejectionClassifier": RejectionClassifier(GaussianClassifier()),
    "LOL": baselines.LOL(),
    "GeneralizedEigenvectors": baselines.GeneralizedEigenvectors(2),
    "LocalFisherDiscriminantAnalysis": baselines.LocalFisherDiscriminantAnalysis(2),
    "SupervisedPCA": baselines.SupervisedPCA(2),
}
MATRICES = {
    "PLRSQ": PLRSQ(random_state=0),
    "PLRSQ, tangent": PLRSQ(metric="tangent", random_state=0),
    "PLRSQ, mahalanobis": PLRSQ(metric="mahalanobis", random_state=0),
    "PLRSQ, sgd": PLRSQ(solver="sgd", max_iter=5, random_state=0),
    "GLRSQ": GLRSQ(random_state=0),
    "mdrm": baselines.mdrm(),
    "tslda": baselines.tslda(),
    "tangent_space_svm": baselines.tangent_space_svm(),
    "log_euclidean_svm": baselines.log_euclidean_svm(),
}


def vectors():
    X, y = load_iris(return_X_y=True)
    rows = np.r_[0:25, 50:75, 100:125]
    return X[rows], y[rows]


def matrices():
    return make_spd_classes(3, 20, 4, random_state=0)


def with_entry(A, value):
    A = np.array(A, dtype=float)
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


# What is done to X and y, and what the error says.
REFUSED = {
    "NaN in X": (lambda X, y: (with_entry(X, np.nan), y), "NaN"),
    "infinity in X": (lambda X, y: (with_entry(X, -np.inf), y), "infinity"),
    "text in X": (lambda X, y: (np.full(X.shape, "a"), y), "string to float"),
    "X is None": (lambda X, y: (None, y), "2D array|SPD matrices|is None"),
    "X is complex": (lambda X, y: (X + 1j, y), "Complex data not supported"),
    "X has one axis": (lambda X, y: (X.ravel()[: len(y)], y), "2D array|SPD matrices"),
    "X has four axes": (lambda X, y: (np.ones((len(y), 2, 2, 2)), y), "dim 4|SPD matr"),
    "no samples": (lambda X, y: (X[:0], y[:0]), "0 sample"),
    "no features": (lambda X, y: (X[..., :0], y), "0 feature|empty|square matrices"),
    "X is ragged": (lambda X, y: ([[1], [1, 2]], [0, 1]), "inhomogeneous"),
    "sparse X": (lambda X, y: (sparse.csr_array(flat(X)), y), "dense|SPD matrices"),
    "one class": (lambda X, y: (X, y * 0), "at least 2 classes"),
    "NaN in y": (lambda X, y: (X, with_entry(y, np.nan)), "Input y contains NaN"),
    "y is None": (lambda X, y: (X, None), "y to be passed|1d array"),
    "continuous y": (lambda X, y: (X, y + np.linspace(0, 0.5, len(y))), "continuous"),
    "y is short": (lambda X, y: (X, y[:-1]), "inconsistent|but y has"),
    "y has two axes": (
        lambda X, y: (X, np.c_[y, y]),
        "1d array|one class label a sample",
    ),
    "mixed y": (lambda X, y: (X, labels(y, [0, "a", 2.5])), "Unknown label type"),
    "one sample": (lambda X, y: (X[:1], y[:1]), "at least 2 classes|1 sample"),
}
REFUSED_MATRICES = {
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
    "zero": (
        lambda X, y: (with_matrix(X, 0), y),
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
    "longdouble": lambda X, y: (X.astype(np.longdouble), y),
    "masked": lambda X, y: (np.ma.masked_array(X, False), y),
    "y of text": lambda X, y: (X, labels(y, ["a", "b", "c"])),
    "y of floats": lambda X, y: (X, y.astype(float)),
    "y of small integers": lambda X, y: (X, y.astype(np.int8)),
}
# Powers of ten that X is multiplied with: the same result, or an error that says so.
SCALES = (-300, -200, -150, -100, -20, 20, 100, 150, 200, 300)
TOO_LARGE_OR_SMALL = (
    "too large|too small|NaN or infinite|same to the kernel|scale|Scale"
)


ESTIMATORS = VECTORS | MATRICES
TAKE_SPARSE = [
    name for name, model in VECTORS.items() if get_tags(model).input_tags.sparse
]
OF_VECTORS = [
    (name, case)
    for name in VECTORS
    for case in REFUSED
    if not (case == "sparse X" and name in TAKE_SPARSE)
]
OF_MATRICES = [(name, case) for name in MATRICES for case in REFUSED | REFUSED_MATRICES]


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


@pytest.mark.parametrize("name, case", OF_VECTORS + OF_MATRICES)
def test_refused(name, case):
    change, message = (REFUSED | REFUSED_MATRICES)[case]
    with pytest.raises((ValueError, TypeError), match=message):
        clone(ESTIMATORS[name]).fit(*change(*data_for(name)))


@pytest.mark.parametrize("case", TAKEN)
@pytest.mark.parametrize("name", ESTIMATORS)
def test_taken(name, case):
    found = outcome(ESTIMATORS[name], *TAKEN[case](*data_for(name)))
    np.testing.assert_allclose(found, expected_of(name), rtol=1e-5)


@pytest.mark.parametrize("name", TAKE_SPARSE)
def test_sparse_is_taken(name):
    X, y = data_for(name)
    fitted = clone(ESTIMATORS[name]).fit(sparse.csr_array(X), y)
    found = np.abs(fitted.transform(sparse.csr_array(X)))
    np.testing.assert_allclose(found, expected_of(name), rtol=1e-5)


@pytest.mark.parametrize("power", SCALES)
@pytest.mark.parametrize("name", ESTIMATORS)
def test_scales(name, power):
    estimator, expected = ESTIMATORS[name], expected_of(name)
    X, y = data_for(name)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            found = outcome(estimator, X * 10.0**power, y)
        except (ValueError, UserWarning) as error:
            assert any(words in str(error) for words in TOO_LARGE_OR_SMALL)
            return
    if hasattr(estimator, "predict"):
        np.testing.assert_array_equal(found, expected)
    else:
        scale = np.abs(found).max() / np.abs(expected).max()
        np.testing.assert_allclose(found, expected * scale, rtol=1e-3, atol=1e-3)
