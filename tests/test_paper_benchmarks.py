"""The runner of the reproductions of the papers, which is in benchmarks/papers."""

import json

import numpy as np
import pytest
from pyriemann.geometry.distance import distance_riemann
from pyriemann.geometry.tangentspace import exp_map_riemann, log_map_riemann

from benchmarks.papers import _data, _runner, _table
from benchmarks.papers.__main__ import PAGE, main, page
from benchmarks.papers._annealing import AlgorithmOne
from skgeom.geometry import expm, mean_affine_invariant

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
    model = AlgorithmOne(2, sigma2=[2.0, 1.5], max_iter=2, random_state=0)
    costs, shuffle = model.epochs(X, y), np.random.RandomState(0)
    moves, labels = shuffle.uniform(-1e-3, 1e-3, (6, 3, 3)), np.repeat([0, 1, 2], 2)
    means = [mean_affine_invariant(X[y == label]) for label in labels]
    factors = np.linalg.cholesky(means)
    W = factors @ expm((moves + moves.mT) / 2) @ factors.mT
    for epoch, sigma2 in enumerate([2.0, 1.5], 1):
        rate, total = 3 * 2 / 100 * 0.01 ** (epoch / 2), 0.0
        for i in shuffle.permutation(len(X)):
            squares = np.array([distance_riemann(X[i], w) ** 2 for w in W])
            weights, own = np.exp(-squares / (2 * sigma2)), labels == y[i]
            p, p_own = weights / weights.sum(), own * weights / weights[own].sum()
            total -= np.log(p[own].sum())
            for k, step in enumerate(rate / sigma2 * (p_own - p)):
                W[k] = exp_map_riemann(step * log_map_riemann(X[i], W[k]), W[k])
        np.testing.assert_allclose(next(costs), total, rtol=1e-11)
        np.testing.assert_allclose(model.prototypes_, W, rtol=1e-11)


def test_statements_within_two_standard_errors_are_undecided():
    constant = {"name": "doe-table-1", "measure": "accuracy", "published": ""}
    columns = "labels", "reproduced", "spread", "runs"
    values = (["LDA"], "0.80", "0.04", "4"), (["QDA"], "0.83", "0.04", "4")
    rows = *values, (["SVC"], "0.90", "", "1")  # standard errors 0.02
    lines = [constant | dict(zip(columns, row, strict=True)) for row in rows]
    chains = {"doe-table-1": ["SVC > QDA > LDA", "number 1 > SVC; accuracy"]}
    caption = {"paper": "Doe", "order": chains, "runs": 1}
    assert [*_table.ordered(lines, caption)] == [
        ("SVC > QDA", "agree"),
        ("QDA > LDA", "undecided"),
        ("number 1 > SVC; accuracy", "agree"),
    ]
    assert _table.judge(caption, lines)[1] == "2 of 3, 1 undecided"
    assert [*_table.unfinished(caption, lines)] == ["Undecided: QDA > LDA."]
    lines[1]["reproduced"] = "0.95"
    assert _table.judge(caption, lines) == ("differs", "2 of 3")


def test_a_score_that_is_larger_by_two_standard_errors_is_better():
    caption = {"paper": "Doe", "runs": 4, "deviations": {"LDA": 0.02}}
    known = {"labels": ["LDA"], "name": "doe-table-1", "published": "0.8", "runs": "4"}
    # The standard error of the difference is 0.02 * sqrt(1 / 3 + 1 / 4) = 0.0153.
    larger = known | {"measure": "accuracy", "difference": "0.04", "spread": "0.02"}
    equal = larger | {"difference": "-0.02"}
    assert _table.judge(caption, [larger, equal]) == ("better", "1 of 2, 1 better")
    lacking = caption | {"lacks": "data"}
    assert _table.judge(lacking, [larger]) == ("better in part", "0 of 1, 1 better")
    for differs in (
        larger | {"difference": "-0.04"},
        larger | {"measure": "sigma2"},  # neither more nor less is better
        larger | {"labels": ["QDA"]},  # the paper prints no deviation
    ):
        assert _table.judge(caption, [larger, differs])[0] == "differs"
    few = larger | {"runs": "2", "spread": "0.001"}
    assert _table.judge(caption, [few])[0] == "differs"
