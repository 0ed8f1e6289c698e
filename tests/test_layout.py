"""The package is built in layers, and imports go one way only."""

import ast
from pathlib import Path

import pytest

import skgeom

ROOT = Path(skgeom.__file__).parent

# A module may import from its own layer and from those with a lower number.
LAYERS = {
    "utils": 0,
    "geometry": 1,
    "objectives": 2,
    "optim": 3,
    "_*": 4,  # statistics and estimators: private modules, and a folder a family
    "datasets": 5,
    "baselines": 5,
    "plotting": 5,
}
# Folders of estimators. None imports from another.
FAMILIES = {"_filters", "_hessian", "_kernel", "_lvq", "_rejection"}
# Never imported when skgeom is imported. pyriemann brings matplotlib.
LAZY = {"torch", "jax", "matplotlib", "pyriemann", "ot"}


def layer(name):
    """Layer of a part of skgeom, given the part's first name ("geometry", "_lvq")."""
    return LAYERS.get("_*" if name.startswith("_") else name)


def imports(tree, package):
    """Yield (absolute dotted name, import node) for each import in a tree.

    ``package`` is the dotted package that relative imports start from.
    """
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name, node
        elif isinstance(node, ast.ImportFrom):
            parts = package.split(".")
            base = parts[: len(parts) + 1 - node.level] if node.level else []
            base += [node.module] if node.module else []
            for alias in node.names:
                yield ".".join([*base, alias.name]), node


def inside(tree, kinds, condition=lambda node: True):
    """Set of the nodes below those nodes of some kinds that meet a condition."""
    outer = [n for n in ast.walk(tree) if isinstance(n, kinds) and condition(n)]
    return {node for root in outer for node in ast.walk(root)}


def offences(path, source):
    """Messages about what a module of skgeom does against the layout.

    ``path`` is relative to the package, with "/" between its parts.
    """
    tree = ast.parse(source)
    *folders, file = path.split("/")
    first = folders[0] if folders else file.removesuffix(".py")
    if path != "__init__.py" and layer(first) is None:
        yield f"{path}: {first} has no layer, add it to LAYERS"
        return

    deferred = inside(tree, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda))
    for name, node in imports(tree, ".".join(["skgeom", *folders])):
        top, *rest = name.split(".")
        where = f"{path}:{node.lineno}: imports {name}"
        if top in LAZY and node not in deferred:
            yield f"{where} outside a function"
        if top == "pymanopt" and first != "optim":
            yield f"{where}, which is for optim/ alone"
        if top == "skgeom" and path != "__init__.py":
            target = layer(rest[0]) if rest else None
            if target is None:
                yield f"{where}, not the module that defines it"
            elif target > layer(first):
                yield f"{where}, a later layer"
            elif FAMILIES >= {first, rest[0]} and first != rest[0]:
                yield f"{where}, of another family"

    guarded = inside(tree, ast.If, lambda node: "verbos" in ast.unparse(node.test))
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "print":
            if node not in guarded:
                yield f"{path}:{node.lineno}: prints without asking for the verbosity"


@pytest.mark.parametrize(
    "path", sorted(path.relative_to(ROOT).as_posix() for path in ROOT.rglob("*.py"))
)
def test_module_keeps_to_the_layout(path):
    assert not list(offences(path, (ROOT / path).read_text(encoding="utf-8")))


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("geometry/spd.py", "from ..optim import minimize"),
        ("geometry/spd.py", "from .._filters.sqfa import SQFA"),
        ("_kernel/base.py", "from skgeom._lvq.base import BaseLVQ"),
        ("geometry/spd.py", "def f():\n    import skgeom.optim.lbfgs"),
        ("geometry/spd.py", "from .. import optim"),
        ("geometry/spd.py", "import pymanopt.manifolds"),
        ("_filters/sqfa.py", "from skgeom import SQFA"),
        ("_filters/sqfa.py", "import skgeom"),
        ("_filters/sqfa.py", "from ..plotting import FilterDisplay"),
        ("_filters/sqfa.py", "if True:\n    print(1)"),
        ("plotting/display.py", "import matplotlib.pyplot as plt"),
        ("unheard_of.py", ""),
    ],
)
def test_offence_is_found(path, source):
    assert len(list(offences(path, source))) == 1


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("__init__.py", "from . import geometry\nfrom ._filters.sqfa import SQFA"),
        ("geometry/__init__.py", "from .spd import sqrtm"),
        ("geometry/spd.py", "from ..utils.validation import check_spd"),
        ("optim/lbfgs.py", "from pymanopt.optimizers.optimizer import Optimizer"),
        ("_filters/sqfa.py", "from .._statistics import A\nfrom .. import optim"),
        ("_filters/sqfa.py", "if self.verbose > 1:\n    print(1)"),
        ("plotting/display.py", "def plot():\n    import matplotlib"),
    ],
)
def test_allowed_code_is_not_an_offence(path, source):
    assert not list(offences(path, source))
