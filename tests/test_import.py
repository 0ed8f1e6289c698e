"""What ``import skgeom`` and fits import: users pay for it in every process."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from skgeom.utils.warn import warn_of_scikit_geometry

TOOLS = Path(__file__).parents[1] / "tools"

# Everything else is imported where it is used.
PACKAGES = {"joblib", "numpy", "scipy", "skgeom", "sklearn", "threadpoolctl"}
# Parts of scikit-learn that take long to import, or bring other packages.
PARTS = {"datasets", "ensemble", "gaussian_process", "inspection"}
# For optimisers, derivatives, covariances, pictures and arrays of users' choice.
ON_REQUEST = {"autograd", "cupy", "dask", "jax", "matplotlib", "pymanopt", "pyriemann"}
ON_REQUEST |= {"tensorflow", "torch"}
# Methods of pyriemann, and users of its means; it imports torch if that is installed.
OF_PYRIEMANN = {"mdrm", "tslda", "Recentering", "TransferDiscriminantAnalysis"}

WATCH = """
import json, sys

class Witness:  # is asked for every module, installed or not, and finds none
    asked = set()

    def find_spec(self, name, path=None, target=None):
        self.asked.add(name)

sys.meta_path.insert(0, Witness())
{code}
print(json.dumps([sorted(sys.modules), sorted(Witness.asked)]))
"""


def imported(code):
    """Modules that some code imports, and those that it looks for as well."""
    command = [sys.executable, "-W", "ignore", "-c", WATCH.format(code=code)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    modules, asked = json.loads(done.stdout)
    return set(modules), set(asked)


def packages(modules):
    return {name.split(".")[0] for name in modules} - set(sys.stdlib_module_names)


def test_import_brings_what_it_needs_only():
    sklearn, _ = imported("import sklearn.discriminant_analysis, sklearn.decomposition")
    modules, asked = imported("import skgeom, skgeom.plotting, skgeom.baselines")
    ours = modules - sklearn
    assert packages(ours) <= PACKAGES
    assert not packages(asked) & ON_REQUEST
    parts = {name.split(".")[1] for name in ours if name.startswith("sklearn.")}
    assert not parts & PARTS


@pytest.mark.exhaustive
def test_fits_bring_nothing_that_was_not_asked_for():
    modules, asked = imported(f"""
sys.path.insert(0, {str(TOOLS)!r})
import many_fits
for _ in many_fits.fit_all(1, skip={OF_PYRIEMANN}):
    pass
""")
    assert "skgeom" in packages(modules)
    assert not packages(asked) & ON_REQUEST


@pytest.mark.exhaustive
def test_pymanopt_comes_with_its_own_optimizers():
    _, asked = imported("""
from skgeom import SQFA
X = [[0, 0], [1, 2], [2, 1], [5, 3], [3, 4], [6, 6]]
SQFA(1, optimizer="trust-regions").fit(X, [0, 0, 0, 1, 1, 1])
""")
    assert "pymanopt" in asked


def test_scikit_geometry_in_the_same_folder_is_explained(tmp_path):
    warn_of_scikit_geometry(tmp_path)
    (tmp_path / "draw.py").touch()
    with pytest.warns(RuntimeWarning, match="scikit-geometry is installed in the same"):
        warn_of_scikit_geometry(tmp_path)
