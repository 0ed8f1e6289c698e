"""Count the scikit-learn checks that each estimator passes, skips and fails.

Usage, from the root of the repository::

    python tools/estimator_checks.py [--write]

``tests/test_estimator_checks.py`` defines the estimators, with default parameters, and
the declared failures; there, each check is a test. Checks of estimators of scikit-learn
and pyRiemann are counted in the same way for comparison. With ``--write``, the script
writes the page of the documentation; otherwise, it prints the page.
"""

import os
import sys
import warnings
from collections import Counter
from importlib.metadata import version
from pathlib import Path

os.environ.setdefault("SCIPY_ARRAY_API", "1")  # before scipy is imported

from sklearn.decomposition import KernelPCA
from sklearn.discriminant_analysis import (
    LinearDiscriminantAnalysis,
    QuadraticDiscriminantAnalysis,
)
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import NeighborhoodComponentsAnalysis
from sklearn.utils._test_common.instance_generator import _get_expected_failed_checks
from sklearn.utils.estimator_checks import check_estimator

ROOT = Path(__file__).parents[1]
sys.path.append(str(ROOT / "tests"))
import test_estimator_checks as module  # noqa: E402

PAGE = ROOT / "doc" / "results" / "estimator_checks.rst"
TEXT = """.. _estimator_checks:

=======================================
Scikit-learn's checks of all estimators
=======================================

.. This page is written by "python tools/estimator_checks.py --write".

scikit-learn tests estimators with ``check_estimator``. The table counts the results for
every public estimator with default parameters, and for similar estimators of
scikit-learn and pyRiemann. ``RejectionClassifier`` and ``ClusterClassifier``, which
require an estimator, use ``LogisticRegression`` and ``KMeans``. Names in italics are
estimators of SPD matrices or images. An adapter converts the vectors of the checks to
matrices or images for these estimators. The adapter was written for skgeom, and may
cause some of the failures of pyRiemann. Skipped checks require an array library or a
device that was not available. A declared failure is expected; the list below the table
states its reason. The list names each check once; the table counts a check several
times if it runs with several arguments.

Versions: scikit-learn {sklearn}, pyRiemann {pyriemann}.

.. csv-table::
   :header: Estimator, Passed, Skipped, Declared failures, Other failures

{rows}
Failures
========

{failures}"""
STATUS = "passed", "skipped", "xfail", "failed"


def groups():
    """Package, and pairs of an estimator and its declared failures."""
    declared = module.EXPECTED_FAILURES
    yield "skgeom", [(e, declared.get(repr(e), {})) for e in module.ESTIMATORS]
    peers = [
        LinearDiscriminantAnalysis(),
        QuadraticDiscriminantAnalysis(),
        LogisticRegression(),
        NeighborhoodComponentsAnalysis(),
        KernelPCA(),
    ]
    yield "scikit-learn", [(e, _get_expected_failed_checks(e)) for e in peers]
    from pyriemann import classification, tangentspace

    adapters = [
        module.on_vectors(cls, module.spd_matrices)
        for cls in (
            classification.MDM,
            classification.FgMDM,
            classification.KNearestNeighbor,
            classification.TSClassifier,
            tangentspace.TangentSpace,
        )
    ]
    vars(module).update({adapter.__name__: adapter for adapter in adapters})
    yield "pyRiemann", [(adapter(), {}) for adapter in adapters]


def results_of(estimator, declared):
    """The result of each check: its name, status and the exception, if any."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return check_estimator(
            estimator, on_fail=None, on_skip=None, expected_failed_checks=declared
        )


def row(name, count):
    return ", ".join([f"   {name}", *(str(count[status]) for status in STATUS)]) + "\n"


def names_of(results, status):
    """Names of the checks with a status, each once."""
    return sorted({r["check_name"] for r in results if r["status"] == status})


def page():
    """The text of the page."""
    rows = failures = ""
    for package, estimators in groups():
        total = Counter()
        for estimator, declared in estimators:
            title = module.title(estimator)
            results = results_of(estimator, declared)
            count = Counter(result["status"] for result in results)
            total += count
            rows += row(title, count)
            for check in names_of(results, "xfail"):
                failures += f"- {title}, ``{check}``, declared: {declared[check]}.\n"
            undeclared = names_of(results, "failed")
            if undeclared:
                checks = ", ".join(f"``{check}``" for check in undeclared)
                failures += f"- {title}, not declared: {checks}.\n"
        rows += row(f"Total ({package})", total)
    versions = {"sklearn": version("scikit-learn"), "pyriemann": version("pyriemann")}
    return TEXT.format(rows=rows, failures=failures, **versions)


if __name__ == "__main__":
    text = page()
    if "--write" in sys.argv:
        PAGE.write_text(text, encoding="utf-8")
    else:
        print(text)
