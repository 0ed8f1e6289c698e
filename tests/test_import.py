"""What ``import skgeom`` brings with it: users pay for it in every process."""

import json
import subprocess
import sys

import pytest

from skgeom.utils._import_name import warn_of_scikit_geometry

# Everything else is imported where it is used.
PACKAGES = {
    "joblib",
    "numpy",
    "pymanopt",
    "scipy",
    "skgeom",
    "sklearn",
    "threadpoolctl",
}
# Parts of scikit-learn that take long to import, or bring other packages.
PARTS = {"datasets", "ensemble", "gaussian_process", "inspection"}


def imported(names):
    """Modules, apart from those of Python, that an import brings."""
    code = f"import json, sys, {names}; print(json.dumps(sorted(sys.modules)))"
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return set(json.loads(done.stdout))


def test_import_brings_what_it_needs_only():
    sklearn = imported("sklearn.discriminant_analysis, sklearn.decomposition")
    # pymanopt imports torch, JAX and TensorFlow where they are installed.
    ours = imported("skgeom") - sklearn - imported("pymanopt")
    packages = {name.split(".")[0] for name in ours}
    assert packages - set(sys.stdlib_module_names) <= PACKAGES
    parts = {name.split(".")[1] for name in ours if name.startswith("sklearn.")}
    assert not parts & PARTS


def test_scikit_geometry_in_the_same_folder_is_explained(tmp_path):
    warn_of_scikit_geometry(tmp_path)
    (tmp_path / "draw.py").touch()
    with pytest.warns(RuntimeWarning, match="scikit-geometry is installed in the same"):
        warn_of_scikit_geometry(tmp_path)
