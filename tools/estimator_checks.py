"""Count the scikit-learn checks that each estimator passes, skips and fails.

Usage, from the root of the repository::

    python tools/estimator_checks.py

The estimators, with default parameters, and the failures that are declared are those of
``tests/test_estimator_checks.py``, where each check is a test. Estimators of
scikit-learn and pyRiemann are counted in the same way for comparison.
"""

import importlib.util
import sys
import warnings
from collections import Counter
from pathlib import Path

from sklearn.discriminant_analysis import (
    LinearDiscriminantAnalysis,
    QuadraticDiscriminantAnalysis,
)
from sklearn.neighbors import NeighborhoodComponentsAnalysis
from sklearn.utils.estimator_checks import check_estimator

ROOT = Path(__file__).parents[1]
HEAD = """.. list-table::
   :header-rows: 1

   * - Estimator
     - Checks
     - Passed
     - Skipped
     - Declared failures
     - Other failures
"""


def tests():
    """The module of the tests."""
    path = ROOT / "tests" / "test_estimator_checks.py"
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module  # some checks pickle the adapters
    spec.loader.exec_module(module)
    return module


def peers(module):
    """Estimators of other packages, by the package."""
    yield "scikit-learn", LinearDiscriminantAnalysis()
    yield "scikit-learn", QuadraticDiscriminantAnalysis()
    yield "scikit-learn", NeighborhoodComponentsAnalysis()
    from pyriemann.classification import MDM, TSClassifier

    for cls in (MDM, TSClassifier):
        adapter = module.on_vectors(cls, module.spd_matrices)
        vars(module)[adapter.__name__] = adapter
        yield "pyRiemann", adapter()


def results_of(estimator, failures):
    """The result of each check: its name, status and the exception, if any."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return check_estimator(
            estimator, on_fail=None, on_skip=None, expected_failed_checks=failures
        )


def row_of(name, results):
    """Cells of the table, and the number of failures that are not declared."""
    n_of = Counter(result["status"] for result in results)
    cells = [len(results), *(n_of[k] for k in ("passed", "skipped", "xfail", "failed"))]
    text = f"   * - {name}\n" + "".join(f"     - {number:,}\n" for number in cells)
    return text, cells


def table_of_skgeom(module):
    """Rows, lines about declared failures, and the sums of the columns."""
    rows, failures, totals = "", "", [0] * 5
    for estimator in module.ESTIMATORS:
        name = type(estimator).__name__.removeprefix("Vector")
        declared = module.EXPECTED_FAILURES.get(repr(estimator), {})
        results = results_of(estimator, declared)
        row, cells = row_of(f"``{name}``", results)
        totals = [total + cell for total, cell in zip(totals, cells, strict=True)]
        rows += row
        for check, reason in declared.items():
            failures += f"- ``{name}``, ``{check}``: {reason}.\n"
        for result in results:
            if result["status"] == "failed":
                print(name, result["check_name"], result["exception"], file=sys.stderr)
    rows += "   * - All of skgeom\n" + "".join(f"     - {n:,}\n" for n in totals)
    return rows, failures, totals


def table_of_peers(module):
    """Rows, and lines about failures."""
    rows, failures = "", ""
    for package, estimator in peers(module):
        name = type(estimator).__name__.removeprefix("Vector")
        results = results_of(estimator, {})
        rows += row_of(f"``{name}`` ({package})", results)[0]
        failed = {r["check_name"] for r in results if r["status"] == "failed"}
        if failed:
            names = ", ".join(f"``{check}``" for check in sorted(failed))
            failures += f"- ``{name}`` ({package}): {names}.\n"
    return rows, failures


def main():
    module = tests()
    rows, declared, totals = table_of_skgeom(module)
    rows_of_peers, failures_of_peers = table_of_peers(module)
    text = (
        f"{HEAD}{rows}{rows_of_peers}\nDeclared failures of skgeom, with the reason:\n"
        f"\n{declared}\nFailures of the others:\n\n{failures_of_peers}"
    )
    print(text)
    return totals[-1] > 0


if __name__ == "__main__":
    sys.exit(main())
