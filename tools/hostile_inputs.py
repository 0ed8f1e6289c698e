"""Count bad and odd inputs, clear errors and right results of each estimator.

Usage, from the root of the repository::

    python tools/hostile_inputs.py

The inputs are those of ``tests/test_hostile_inputs.py``, where each is a test.
"""

import importlib.util
import sys
import warnings
from pathlib import Path

ROOT = Path(__file__).parents[1]
HEAD = """.. list-table::
   :header-rows: 1

   * - Estimator
     - Inputs tried
     - Clear errors
     - Right results
     - Neither
"""


def inputs():
    """The module of the tests."""
    path = ROOT / "tests" / "test_hostile_inputs.py"
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def main():
    tests, text, totals = inputs(), HEAD, [0, 0, 0, 0]
    warnings.simplefilter("ignore")
    for name in tests.ESTIMATORS:
        refused, taken, failed = tests.count_of(name)
        row = [refused + taken + len(failed), refused, taken, len(failed)]
        totals = [total + number for total, number in zip(totals, row, strict=True)]
        text += _row(name, row)
        for case, error in failed:
            print(f"{name}, {case}: {error!r}", file=sys.stderr)
    text += _row("All", totals)
    print(text)
    return totals[-1] > 0


def _row(name, numbers):
    return f"   * - {name}\n" + "".join(f"     - {number:,}\n" for number in numbers)


if __name__ == "__main__":
    sys.exit(main())
