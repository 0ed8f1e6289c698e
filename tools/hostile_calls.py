"""Call every public estimator with invalid values, and check the errors.

    python tools/hostile_calls.py [NAME ...]

The script calls each estimator of ``tests/public_estimators.py``, or the estimators
that are named. Each value of a fixed list replaces each parameter, each argument of
``fit`` and ``partial_fit``, and the samples of each further method. A call passes if it
returns, or raises a MemoryError, or a ValueError or TypeError whose message names an
argument or a parameter. A call fails if the process dies, if it takes more than 10 s of
processor time, or if it raises a different error. If a call fails, the script prints
the failure, and the exit status is 1.

``score`` is not called, because it consists of ``predict`` and a metric of
scikit-learn. The script runs on Linux and macOS, and takes about 10 minutes for all
estimators on one core.
"""

import decimal
import fractions
import inspect
import os
import re
import resource
import signal
import sys
import time
import warnings
from functools import partial
from itertools import islice
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.exceptions import NotFittedError

from skgeom import (
    CovarianceHessianProjection,
    GaussianClassifier,
    RejectionClassifier,
    baselines,
)

sys.path.append(str(Path(__file__).parents[1] / "tests"))
import public_estimators as table

SECONDS = 10
MAKERS = {
    name: case.make for name, case in table.ESTIMATORS.items() if "," not in name
} | {
    # LinearDiscriminantAnalysis of scikit-learn fails for such inputs.
    "CovarianceHessianProjection": lambda: CovarianceHessianProjection(
        GaussianClassifier()
    ),
    "RejectionClassifier": lambda: RejectionClassifier(GaussianClassifier()),
}
LEFT_OUT = "fit.*|partial_fit|score|[gs]et_.*|_.*"

VALUES = [None, ..., NotImplemented, True, False, 0, 1, -1, 2, 3, 7, -(10**9)]
VALUES += [10**9, 2**63, -(2**63), 10**30, 0.0, -0.0, 0.5, 1.0, -1.0, 1e-300, 1e300]
VALUES += [1e308, np.inf, -np.inf, np.nan, 1j, "", "2", "auto", "no such name"]
VALUES += ["x" * 10_000, b"auto", (), [], {}, set(), [None], [1, 2], [np.nan], ["a"]]
VALUES += [{0: value} for value in (1.0, -1.0, np.nan, "a")]
VALUES += [{"a": 1}, {None: 1}, [[1.0, 2.0]]]
VALUES += [np.array([]), np.array(1.0), np.arange(3.0), np.full((4, 4), np.nan)]
VALUES += [np.eye(4), np.ones((2, 3, 4, 5)), np.float32(0.5), np.int8(2)]
VALUES += [np.str_("auto"), decimal.Decimal(2), fractions.Fraction(1, 2), range(3)]
VALUES += [pd.NA, pd.NaT, pd.Series([1, 2]), slice(2), object(), object, float]
VALUES += [np.ndarray, np.random.RandomState, len, lambda *arguments: np.nan]


def with_entry(array, value, dtype=float):
    array = np.array(array, dtype=dtype)
    array[(5,) + (0,) * (array.ndim - 1)] = value
    return array


def samples(X):
    """Values in place of X."""
    n, flat, nested = len(X), X.reshape(len(X), -1), []
    nested.append(nested)
    yield from [None, ..., 1, 1.5, True, "abc", b"abc", object(), object, len]
    yield from [np.ndarray, [], [[]], [[[]]], {}, {0: 1}, {1, 2}, iter([1]), range(5)]
    yield from [nested, [[1], [1, 2]], [[[1, 2], [3]], [[1]]], [None] * n, ["a"] * n]
    yield from [[{}] * n, [[1, "a"]] * n, [[10**400] * 4] * n, list(X)]
    yield from [[[decimal.Decimal(1)] * 4] * n, memoryview(np.ascontiguousarray(X))]
    yield from map(np.empty, [(), 0, (0, 0), (0, 0, 0), (2,) * 5])
    entries = np.nan, np.inf, 1e200, -1e200, 1e308
    yield from (with_entry(X, value) for value in entries)
    yield from (with_entry(X, value, object) for value in (None, "a"))
    yield from (X * factor for factor in (np.nan, np.inf, 1e300, 1e-300, 0, -1))
    filled = 1, 1e308, -1e308, 5e-324, 2**63 - 1, "a"
    yield from (np.full(X.shape, value) for value in filled)
    types = bool, str, "S", object, np.uint8, np.float16, np.longdouble, complex
    yield from (X.astype(dtype) for dtype in types)
    yield from (np.zeros(X.shape, dtype) for dtype in ("M8[s]", "m8[s]", "V4"))
    yield from [X + 1j, X.ravel(), X[0], X[None], X[:0], X[:1], X[:2], X[..., :0]]
    yield from [X[:, :1], X[..., :1], flat, np.zeros(n, "f8,f8")]
    yield from [sparse.csr_array(flat), sparse.csr_matrix(flat), np.asmatrix(flat)]
    yield from [sparse.coo_array(flat * np.nan), np.ma.masked_array(X, True)]
    yield from [np.broadcast_to(X[:1], X.shape), np.zeros(n, "f8,f8").view(np.recarray)]
    yield np.broadcast_to(np.zeros(1), (100_000, *X.shape[1:]))
    if X.ndim == 2:
        yield np.broadcast_to(np.zeros(1), (n, 100_000))
    yield from [pd.Series(range(n)), pd.Categorical(["a"] * n), pd.DataFrame()]
    yield from (pd.DataFrame({"a": [value] * n}) for value in ("x", pd.NA))
    yield pd.DataFrame(flat[:, :2], columns=["a", 1])


def targets(y):
    """Values in place of y, which holds the numbers from 0 to 2."""
    n, whole = len(y), y.astype(np.int64)
    yield from [None, ..., 1, "abc", object(), np.ndarray, [], {}, {1, 2}, iter([1])]
    yield from [np.array(1), y[:-1], np.r_[y, 0], np.c_[y, y], y[:, None, None]]
    yield from [
        y[:, None],
        y * 0,
        ["a"] * n,
        [""] * n,
        np.arange(n),
        [*map(str, range(n))],
    ]
    yield from [y * np.nan, y * 1e-308, (y + 1.0) * 8e307, y + np.linspace(0, 0.5, n)]
    yield from (with_entry(y, value) for value in (np.nan, np.inf))
    yield from ([value] * n for value in (None, {}, [1], (0, 1), {1}))
    yield from [
        pd.array([pd.NA] * n),
        pd.Series([pd.NaT] * n),
        [[1], [1, 2]] * (n // 2),
    ]
    yield from (np.array(labels, object)[y] for labels in ([0, "a", 2.5], [0, "a", 1]))
    yield from [y + 1j, y > 0, whole + 2**62, y.astype(np.uint64) + np.uint64(2**63)]
    yield from [np.full(n, -(2**63)), [10**30 * int(label) for label in y]]
    yield from (y.astype(dtype) for dtype in ("M8[D]", "m8[D]", np.float16))
    yield from [np.zeros(n, "f8,f8"), np.zeros(n, "V4"), np.ma.masked_array(y, True)]
    yield from [np.eye(3)[y], sparse.csr_array(np.eye(3)[y]), pd.DataFrame(np.c_[y, y])]
    yield from [[decimal.Decimal(int(label)) for label in y], pd.cut(pd.Series(y), 3)]
    yield from (
        np.array(c)[y] for c in ([b"a", b"b", b"c"], ["a\0", "a", "b"], [0.0, -0.0, 1])
    )
    yield from [np.where(np.arange(n) == 0, 9, y), ["a" * 10_000, "b"] * (n // 2)]


def weights(n):
    """Values in place of sample_weight, groups and domain."""
    ones = np.ones(n)
    yield from ["abc", -1, 0, np.nan, 1j, True, object(), np.ndarray, [], {}, iter([1])]
    yield from [
        ones[1:],
        np.ones((n, 2)),
        np.ones((n, 1)),
        ones * 0,
        ones * 1j,
        ones > 0,
    ]
    yield from (ones * value for value in (np.nan, 1e308, 1e-308))
    yield from (np.r_[value, ones[1:]] for value in (-1, np.inf, 1e200))
    yield from ([value] * n for value in ("a", None, 10**400))
    yield from [np.eye(1, n)[0], np.r_[1, 1, ones[2:] * 0], ones.astype(object)]
    yield from [sparse.csr_array([ones]), pd.Series(ones)]


def calls(name):
    """Names of arguments, their values, and functions that make the calls."""
    make = MAKERS[name]
    X, y = table.data_of(table.ESTIMATORS[name], 0)
    fitted = make().fit(X, y)

    def fit(method, argument, value):
        getattr(make(), method)(**{"X": X, "y": y} | {argument: value})

    for method in ("fit", "partial_fit"):
        function = getattr(fitted, method, None)
        for argument in inspect.signature(function).parameters if function else ():
            if "params" not in argument:
                by_kind = {"X": samples(X), "y": targets(y)}
                for value in by_kind.get(argument, weights(len(y))):
                    yield f"{method}.{argument}", value, partial(fit, method, argument)

    maker = getattr(baselines, name, type(fitted))  # mdrm and tslda are functions

    def fit_with(parameter, value):
        if inspect.isfunction(maker):
            made = maker(**{parameter: value})
        else:
            made = make().set_params(**{parameter: value})
        made.fit(X, y)

    for parameter in inspect.signature(maker).parameters:
        for value in VALUES:
            yield parameter, value, partial(fit_with, parameter)

    for method in dir(type(fitted)):
        function = getattr(fitted, method, None)
        if callable(function) and not re.fullmatch(LEFT_OUT, method):
            argument, *more = [*inspect.signature(function).parameters, "self"]
            if argument in ("X", "Z"):
                more = {"y": y} if "y" in more else {}
                for value in samples(X):
                    yield f"{method}.{argument}", value, partial(function, **more)


def fault_of(call, value, names):
    """The fault of a call, as text; empty if the call passes."""
    try:
        call(value)
    except (NotFittedError, MemoryError):
        return ""
    except Exception as error:
        expected = isinstance(error, TypeError | ValueError)
        expected &= not isinstance(error, np.linalg.LinAlgError)
        if expected and re.search(rf"\b({'|'.join(names)})\b", str(error)):
            return ""
        return repr(error)
    return ""


def run(name, start, writer):
    """Make the calls from a number on; write a line for each."""
    names = {
        "X",
        "y",
        "sample_weight",
        "groups",
        "domain",
        *MAKERS[name]().get_params(),
    }
    sys.stdout = open(os.devnull, "w")
    for argument, value, call in islice(calls(name), start, None):
        line = f"{name}.{argument}={value!r:.60}: "
        os.write(writer, line.replace("\n", " ").encode())
        limit = int(time.process_time()) + 1 + SECONDS
        resource.setrlimit(resource.RLIMIT_CPU, (limit, resource.RLIM_INFINITY))
        signal.alarm(30 * SECONDS)  # for a process that waits
        fault = fault_of(call, value, names | {argument.rpartition(".")[2]})
        os.write(writer, fault[:200].replace("\n", " ").encode() + b"\n")


def outcomes(name):
    """A line for each call of an estimator, with its fault, in other processes."""
    lines, status = [], -1
    while status:
        reader, writer = os.pipe()
        process = os.fork()
        if not process:
            code = 1
            try:
                run(name, len(lines), writer)
                code = 0
            finally:
                os._exit(code)
        os.close(writer)
        with open(reader, "rb") as pipe:
            new = pipe.read().decode(errors="replace").splitlines()
        status, lines = (
            os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]),
            lines + new,
        )
        if not new:
            raise RuntimeError(f"No calls of {name} could be made.")
        if status:
            slow = -status in (signal.SIGXCPU, signal.SIGALRM)
            lines[-1] += f"more than {SECONDS} s" if slow else f"process died: {status}"
    return lines


def main(names):
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    fails = False
    for name in names or MAKERS:
        lines = outcomes(name)
        faults = [line for line in lines if not line.endswith(": ")]
        counts = f"{len(lines)} calls, {len(faults)} failures"
        print(f"{name}: {counts}", *faults, sep="\n  ", flush=True)
        fails |= bool(faults)
    raise SystemExit(fails)


if __name__ == "__main__":
    main(sys.argv[1:])
