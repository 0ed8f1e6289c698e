"""The package is built in layers, and imports go one way only.

This is a test and not a list of contracts for import-linter, because it also checks
the use of private names, and needs no other package.
"""

import ast
import re
from collections import Counter
from pathlib import Path

import pytest

import skgeom

ROOT = Path(skgeom.__file__).parent

# Modules and folders of estimators. None imports from another.
FAMILIES = {"_filters", "_kernel", "_prototypes", "_rejection", "_transfer"}
# The parts of skgeom, in rows. A module may import from its own part, from its own row
# (unless that is FAMILIES) and from the rows above.
LAYERS = [
    {"_version"},
    {"utils"},  # validation, and what depends on the version of scikit-learn
    {"geometry"},  # pure functions on stacks of matrices
    {"objectives"},  # what filters optimise
    {"optim"},  # optimisation on manifolds
    {"_moments", "_sample_moments"},  # of classes
    {"_statistics", "_held_out", "_selection", "_region_covariance"},
    {
        "_bayes_error",
        "_domain_scorer",
        "_gaussian_classifier",
        "_gaussian_regressor",
        "_patterns",
        "_regularized_gaussians",
    },
    FAMILIES,  # each with its own spaces, losses and costs
    {"_hessian"},  # reads the formulas of fitted classifiers
    {"datasets", "baselines", "plotting"},
]
ROW = {part: row for row, parts in enumerate(LAYERS) for part in parts}
# Nobody else may import these.
ONLY_FOR = {
    "skgeom.objectives": {
        "objectives",
        "_bayes_error",
        "_moments",
        "_regularized_gaussians",
        "_sample_moments",
        "_statistics",
        "_filters",
        "baselines",
        "plotting",
    },
    "pymanopt": {"optim"},
}


def imports(tree, package):
    """Absolute dotted names of all imports; relative ones start from a package."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            parts = package.split(".")
            base = parts[: len(parts) + 1 - node.level] if node.level else []
            base += [node.module] if node.module else []
            yield from (".".join([*base, alias.name]) for alias in node.names)


def forbidden(path, source):
    """Messages about the imports of a module, whose path begins in the package."""
    if path == "__init__.py":
        return
    *folders, file = path.split("/")
    part = folders[0] if folders else file.removesuffix(".py")
    if part not in ROW:
        yield f"{path}: {part} has no layer, add it to LAYERS"
        return
    for name in imports(ast.parse(source), ".".join(["skgeom", *folders])):
        top, target, *_ = [*name.split("."), ""]
        for owned, parts in ONLY_FOR.items():
            if f"{name}.".startswith(f"{owned}.") and part not in parts:
                yield f"{path} imports {name}, which is only for {sorted(parts)}"
        if top != "skgeom":
            continue
        if target not in ROW:
            yield f"{path} imports {name}, not from the module that defines it"
        elif ROW[target] > ROW[part]:
            yield f"{path} imports {name}, of a later layer"
        elif FAMILIES >= {part, target} and part != target:
            yield f"{path} imports {name}, of another family"


def private_names_of_sklearn(path, source):
    """Imports of private modules and names of scikit-learn; allowed in one file."""
    if path == "utils/_sklearn.py":
        return
    for name in imports(ast.parse(source), "skgeom"):
        top, *parts = name.split(".")
        if top == "sklearn" and any(part.startswith("_") for part in parts):
            yield f"{path} imports {name}, not from utils/_sklearn.py"


def is_of_self(node):
    """Whether a node is ``self.name``."""
    return isinstance(node, ast.Attribute) and getattr(node.value, "id", "") == "self"


def foreign_private_names(path, source):
    """Names ``x._name``, where x is not self, cls or a module, and not of this file."""
    nodes = list(ast.walk(ast.parse(source)))
    own = {"self", "cls"} | {
        (alias.asname or alias.name).split(".")[0]
        for node in nodes
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
    }
    defined = {node.name for node in nodes if isinstance(node, ast.FunctionDef)}
    stored = [n for n in nodes if is_of_self(n) and isinstance(n.ctx, ast.Store)]
    defined |= {node.attr for node in stored}
    for node in nodes:
        if not isinstance(node, ast.Attribute) or node.attr in defined:
            continue
        owner = getattr(node.value, "func", node.value)  # super() and type(x) as well
        if re.fullmatch(r"_[a-z]\w*", node.attr):
            if getattr(owner, "id", "") not in {*own, "super", "type"}:
                yield f"{path}: {node.attr}"


def setting_getters(path, source):
    """Properties and methods ``get_...`` that set an attribute of self."""
    for function in ast.walk(ast.parse(source)):
        if not isinstance(function, ast.FunctionDef):
            continue
        decorators = {ast.unparse(node) for node in function.decorator_list}
        if function.name.startswith("get_") or decorators & GETTERS:
            set_ = [n for n in ast.walk(function) if is_of_self(n)]
            if not all(isinstance(node.ctx, ast.Load) for node in set_):
                yield f"{path}: {function.name}"


GETTERS = {"property", "cached_property"}
GETTER = "class A:\n    @property\n    def a(self):\n        self.b = 1"
OWN = "class A:\n    def f(self):\n        self._x = 1\n        return other._x"
MODULES = [
    (path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8"))
    for path in sorted(ROOT.rglob("*.py"))
]


@pytest.mark.parametrize(
    "rule",
    [forbidden, foreign_private_names, private_names_of_sklearn, setting_getters],
)
def test_modules_keep_the_rule(rule):
    assert not [message for module in MODULES for message in rule(*module)]


def test_modules_have_different_names():
    names = Counter(path.rpartition("/")[2] for path, _ in MODULES)
    assert {name for name, number in names.items() if number > 1} == {"__init__.py"}


@pytest.mark.parametrize(
    ("rule", "path", "source", "n_offences"),
    [
        (forbidden, "geometry/spd.py", "from ..optim import minimize", 1),
        (forbidden, "_kernel/a.py", "from skgeom._prototypes._base import A", 1),
        (forbidden, "geometry/spd.py", "def f():\n    import pymanopt.manifolds", 1),
        (forbidden, "_filters/sqfa.py", "from skgeom import SQFA", 1),
        (forbidden, "_kernel/base.py", "from ..objectives import DISTANCES", 1),
        (forbidden, "unheard_of.py", "", 1),
        (forbidden, "__init__.py", "from ._filters.sqfa import SQFA", 0),
        (
            forbidden,
            "_filters/a.py",
            "from .._statistics import A\nfrom .. import optim",
            0,
        ),
        (foreign_private_names, "a.py", "def f(model):\n    return model._state", 1),
        (foreign_private_names, "a.py", OWN, 0),
        (private_names_of_sklearn, "a.py", "from sklearn.utils import _dense", 1),
        (private_names_of_sklearn, "a.py", "import sklearn.utils._mask", 1),
        (private_names_of_sklearn, "utils/_sklearn.py", "import sklearn._loss", 0),
        (setting_getters, "a.py", GETTER, 1),
        (setting_getters, "a.py", GETTER.replace("self.b", "b"), 0),
    ],
)
def test_offences_are_found(rule, path, source, n_offences):
    assert len(list(rule(path, source))) == n_offences
