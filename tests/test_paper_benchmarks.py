"""The runner of the reproductions of the papers, which is in benchmarks/papers."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.linalg

ROOT = Path(__file__).parents[1]
if not (ROOT / "benchmarks" / "papers").is_dir():
    pytest.skip("not in a checkout", allow_module_level=True)
sys.path.insert(0, str(ROOT))  # as for "python -m", from the root of the checkout

from benchmarks.papers import _data, _runner, _table  # noqa: E402
from benchmarks.papers.__main__ import PAGE, main, page  # noqa: E402
from benchmarks.papers._annealing import AlgorithmOne  # noqa: E402
from skgeom.geometry import mean_affine_invariant  # noqa: E402

CALLS = []


def accuracy(method):
    CALLS.append(method)
    if method == "absent":
        raise _runner.Missing("images.npz: set SKGEOM_DATA to the folder that has it")
    return {"accuracy": [0.5, 0.75, 1.0], "features": 3}


@pytest.fixture
def registered(monkeypatch):
    """A reproduction in a registry of its own, run from fresh."""
    monkeypatch.setattr(_runner, "REGISTRY", {})
    monkeypatch.setattr("benchmarks.papers.__main__.REGISTRY", _runner.REGISTRY)
    monkeypatch.setattr("benchmarks.papers.__main__.MODULES", [])
    CALLS.clear()

    @_runner.reproduces("Doe 2020, table 1", "Accuracy on toys")
    def doe_table_1(quick):
        for method in ["LDA"] if quick else ["LDA", "QDA", "absent"]:
            printed = {"accuracy": 0.7 if method == "LDA" else None}
            yield _runner.Row({"method": method}, accuracy, {"method": method}, printed)

    return _runner.REGISTRY["doe-table-1"]


def test_rows_are_distinct_and_have_json_arguments(monkeypatch):
    main(["--list"])
    for item in _runner.REGISTRY.values():
        for quick in (True, False):
            rows = list(item.rows(quick))
            labels = [json.dumps(row.labels) for row in rows]
            assert rows
            assert len(set(labels)) == len(labels), item.name
            for row in rows:
                arguments = json.loads(json.dumps(row.arguments))
                assert arguments == row.arguments, item.name


def test_quick_run_prints_published_reproduced_and_difference(
    registered, tmp_path, capsys
):
    assert main(["all", "--quick", "--cache", str(tmp_path)]) == 0
    printed = capsys.readouterr().out
    line = next(line for line in printed.splitlines() if line.startswith("LDA"))
    cells = line.split()
    assert cells[:5] == ["LDA", "accuracy", "0.7", "0.75", "+0.0500"]
    assert cells[6] == "3"  # runs
    assert not list(tmp_path.glob("*.csv"))


def test_interrupted_run_is_resumed(registered, tmp_path):
    first = _runner.run(registered, cache=tmp_path)
    assert CALLS == ["LDA", "QDA", "absent"]
    path = tmp_path / "doe-table-1.jsonl"
    text = path.read_text()
    path.write_text(text[:-20])  # cut off in the middle of the last entry
    CALLS.clear()
    assert _runner.run(registered, cache=tmp_path) == first
    assert CALLS == ["QDA", "absent"]


@pytest.mark.parametrize(
    ("raised", "code", "said"),
    [
        (ValueError("no such digit"), 1, "failed: broken-table"),
        (KeyboardInterrupt(), 130, "the same command goes on"),
    ],
)
def test_a_table_that_fails(registered, tmp_path, capsys, raised, code, said):
    @_runner.reproduces("Doe 2020, table 2", "Broken")
    def broken_table(quick):
        raise raised

    names = ["broken-table", "doe-table-1", "--quick", "--cache", str(tmp_path)]
    assert main(names) == code
    assert said in capsys.readouterr().out
    assert CALLS == (["LDA"] if code == 1 else [])  # an error leaves the others


def test_page_of_captions_is_that_of_the_stored_results():
    assert PAGE.read_text(encoding="utf-8") == page()


def test_missing_data_name_the_variable(monkeypatch, tmp_path):
    monkeypatch.setenv("SKGEOM_DATA", str(tmp_path))
    with pytest.raises(_runner.Missing, match=r"none\.npz is not in the folder"):
        _data.local("none.npz")


def test_algorithm_1_is_that_of_a_plain_implementation():
    rng, sizes = np.random.default_rng(0), (12, 5, 3)  # unbalanced
    A = rng.normal(size=(sum(sizes), 3, 6))
    X, y = A @ A.mT, np.repeat([0, 1, 2], sizes)
    scales = [2.0, 1.5]
    model = AlgorithmOne(2, sigma2=scales, max_iter=2, random_state=0)
    costs = model.epochs(X, y)
    shuffle = np.random.RandomState(0)
    moves = shuffle.uniform(-1e-3, 1e-3, (6, 3, 3))
    W, labels = [], np.repeat([0, 1, 2], 2)
    for label, move in zip(labels, moves, strict=True):
        L = np.linalg.cholesky(mean_affine_invariant(X[y == label]))
        W.append(L @ scipy.linalg.expm((move + move.T) / 2) @ L.T)
    for epoch, sigma2 in enumerate(scales, 1):
        rate, total = 3 * 2 / 100 * 0.01 ** (epoch / 2), 0.0
        for i in shuffle.permutation(len(X)):
            logs, weights = [], []
            for matrix in W:
                root = np.real(scipy.linalg.sqrtm(matrix))
                inverse = np.linalg.inv(root)
                log = np.real(scipy.linalg.logm(inverse @ X[i] @ inverse))
                logs.append((root, log))
                weights.append(np.exp(-np.sum(log**2) / (2 * sigma2)))
            weights, own = np.array(weights), labels == y[i]
            p, p_own = weights / weights.sum(), own * weights / weights[own].sum()
            total -= np.log(p[own].sum())
            steps = rate / sigma2 * (p_own - p)
            W = [
                root @ scipy.linalg.expm(step * log) @ root
                for (root, log), step in zip(logs, steps, strict=True)
            ]
        np.testing.assert_allclose(next(costs), total, rtol=1e-12)
        np.testing.assert_allclose(model.prototypes_, W, rtol=1e-12, atol=1e-12)


def stored(method, reproduced, spread, runs, **columns):
    line = {"name": "doe-table-1", "labels": [method], "measure": "accuracy"}
    numbers = {"reproduced": reproduced, "spread": spread, "runs": runs}
    return line | {"published": ""} | numbers | columns


def test_statements_within_two_standard_errors_are_undecided():
    lines = [
        stored("LDA", "0.80", "0.04", "4"),  # standard error 0.02
        stored("QDA", "0.83", "0.04", "4"),
        stored("SVC", "0.90", "", "1"),
    ]
    chains = {"doe-table-1": ["SVC > QDA > LDA", "number 1 > SVC; accuracy"]}
    caption = {"paper": "Doe", "order": chains, "runs": 1}
    assert [*_table.ordered(lines, caption)] == [
        ("SVC > QDA", True),
        ("QDA > LDA", None),
        ("number 1 > SVC; accuracy", True),
    ]
    status = "order reproduced in part", "2 of 3, 1 undecided"
    assert _table.judge(caption, lines) == status
    assert [*_table.unfinished(caption, lines)] == ["Undecided: QDA > LDA."]
    lines[1]["reproduced"] = "0.95"
    assert _table.judge(caption, lines) == ("differs", "2 of 3")
    caption["order"]["doe-table-1"] = ["SVM > LDA"]
    with pytest.raises(ValueError, match="SVM: 0 lines"):
        _table.judge(caption, lines)
