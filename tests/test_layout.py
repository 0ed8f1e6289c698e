"""The package is built in layers, and imports go one way only.

This is a test and not a list of contracts for import-linter, because it also checks
where a package is imported (inside functions or not) and what is printed, and needs no
other package.
"""

import ast
import re
from collections import Counter
from pathlib import Path

import pytest

import skgeom

ROOT = Path(skgeom.__file__).parent

# Modules and folders of estimators. None imports from another.
FAMILIES = {"_filters", "_hessian", "_kernel", "_prototypes", "_rejection", "_transfer"}
# The parts of skgeom, in rows. A module may import from its own part, from its own row
# (unless that is FAMILIES) and from the rows above.
LAYERS = [
    {"utils"},  # validation, and what depends on the version of scikit-learn
    {"geometry"},  # pure functions on stacks of matrices
    {"objectives"},  # what filters optimise
    {"optim"},  # optimisation on manifolds
    {
        "_statistics",
        "_held_out",
        "_shrinkage",
        "_region_covariance",
    },
    {"_bayes_error", "_domain_scorer", "_gaussian_classifier", "_patterns"},
    FAMILIES,  # each with its own spaces, losses and costs
    {"datasets", "baselines", "plotting"},
]
# Who may import some parts or packages; nobody else may.
ONLY_FOR = {
    "skgeom.objectives": {
        "objectives",
        "_bayes_error",
        "_statistics",
        "_filters",
        "baselines",
        "plotting",
    },
    "pymanopt": {"optim"},
}
# Imported inside functions only, and so not when skgeom is imported: optional packages,
# pyriemann and pymanopt, which import matplotlib, torch and others where they are
# installed, and autograd, for what users write.
OPTIONAL = {"torch", "jax", "matplotlib", "mne", "pandas"}
LAZY = OPTIONAL | {"pyriemann", "pymanopt", "autograd"}


def layer(name):
    """Row of a part of skgeom in LAYERS, None if it is in none."""
    rows = [row for row, parts in enumerate(LAYERS) if name in parts]
    return rows[0] if rows else None


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
    part = folders[0] if folders else file.removesuffix(".py")
    if path != "__init__.py" and layer(part) is None:
        yield f"{path}: {part} has no layer, add it to LAYERS"
        return
    for name, node in imports(tree, ".".join(["skgeom", *folders])):
        where = f"{path}:{node.lineno}: imports {name}"
        if path != "__init__.py":
            yield from (f"{where}, {why}" for why in forbidden(name, part))
        if name.split(".")[0] in LAZY and node not in deferred(tree):
            yield f"{where} outside a function"
    for node in unguarded_prints(tree):
        yield f"{path}:{node.lineno}: prints without asking for the verbosity"


def forbidden(name, part):
    """Reasons why a part of skgeom may not import a dotted name."""
    top, *rest = name.split(".")
    for owned, parts in ONLY_FOR.items():
        if f"{name}.".startswith(f"{owned}.") and part not in parts:
            yield f"which is only for {', '.join(sorted(parts))}"
    if top != "skgeom":
        return
    target = layer(rest[0]) if rest else None
    if target is None:
        yield "not the module that defines it"
    elif target > layer(part):
        yield "a later layer"
    elif FAMILIES >= {part, rest[0]} and part != rest[0]:
        yield "of another family"


def deferred(tree):
    """Set of the nodes inside functions."""
    return inside(tree, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda))


def unguarded_prints(tree):
    """Yield the calls of print that are in no ``if`` that asks for the verbosity."""
    guarded = inside(tree, ast.If, lambda node: "verbos" in ast.unparse(node.test))
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "print":
            if node not in guarded:
                yield node


def sources():
    """Paths of the modules, relative to the package, and their texts."""
    for path in sorted(ROOT.rglob("*.py")):
        yield path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8")


def test_modules_keep_to_the_layout():
    assert not [text for file in sources() for text in offences(*file)]


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("geometry/spd.py", "from ..optim import minimize"),
        ("geometry/spd.py", "from .._filters.sqfa import SQFA"),
        ("_kernel/base.py", "from skgeom._prototypes._base import A"),
        ("geometry/spd.py", "def f():\n    import pymanopt.manifolds"),
        ("optim/lbfgs.py", "import pymanopt.manifolds"),
        ("_filters/sqfa.py", "from skgeom import SQFA"),
        ("_filters/sqfa.py", "if True:\n    print(1)"),
        ("plotting/display.py", "import matplotlib.pyplot as plt"),
        ("_kernel/base.py", "from ..objectives import DISTANCES"),
        ("unheard_of.py", ""),
    ],
)
def test_offence_is_found(path, source):
    assert len(list(offences(path, source))) == 1


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("__init__.py", "from . import geometry\nfrom ._filters.sqfa import SQFA"),
        ("geometry/spd.py", "from ..utils.validation import check_spd"),
        ("optim/lbfgs.py", "def f():\n    import pymanopt.manifolds"),
        ("_filters/sqfa.py", "from .._statistics import A\nfrom .. import optim"),
        ("_filters/sqfa.py", "if self.verbose > 1:\n    print(1)"),
        ("plotting/display.py", "def plot():\n    import matplotlib"),
    ],
)
def test_allowed_code_is_not_an_offence(path, source):
    assert not list(offences(path, source))


# Private names, getters and names of modules


def foreign_private_names(source):
    """Names ``x._name``, where x is not self, cls or a module, and not of this file."""
    tree = ast.parse(source)
    modules = {
        (alias.asname or alias.name).split(".")[0]
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
    }
    defined = {n.name for n in ast.walk(tree) if isinstance(n, ast.FunctionDef)}
    defined |= {
        node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute)
        and isinstance(node.ctx, ast.Store)
        and getattr(node.value, "id", "") == "self"
    }
    for node in ast.walk(tree):
        if not isinstance(node, ast.Attribute) or node.attr in defined:
            continue
        owner = node.value
        own = isinstance(owner, ast.Name) and owner.id in {"self", "cls", *modules}
        if isinstance(owner, ast.Call):
            own = getattr(owner.func, "id", "") in ("super", "type")
        if re.fullmatch(r"_[a-z]\w*", node.attr) and not own:
            yield node.attr


def setting_getters(source):
    """Properties and methods ``get_...`` that set an attribute of self."""
    for function in ast.walk(ast.parse(source)):
        if not isinstance(function, ast.FunctionDef):
            continue
        decorators = {ast.unparse(node) for node in function.decorator_list}
        if not function.name.startswith("get_") and not decorators & {
            "property",
            "cached_property",
        }:
            continue
        for node in ast.walk(function):
            if (
                isinstance(node, ast.Attribute)
                and isinstance(node.ctx, ast.Store | ast.Del)
                and getattr(node.value, "id", "") == "self"
            ):
                yield function.name
                break


def found_in_modules(find):
    """What a function finds in each module: pairs of path and name."""
    return {(path, name) for path, source in sources() for name in find(source)}


def test_no_private_name_of_another_class_is_used():
    assert not found_in_modules(foreign_private_names)


def test_getters_set_nothing():
    assert not found_in_modules(setting_getters)


def test_modules_have_different_names():
    names = Counter(path.rpartition("/")[2] for path, _ in sources())
    repeated = {name for name, number in names.items() if number > 1}
    assert repeated == {"__init__.py"}


def test_offences_of_names_are_found():
    source = "def f(model):\n    return model._state"
    assert list(foreign_private_names(source)) == ["_state"]
    own = "class A:\n    def f(self):\n        self._x = 1\n        return other._x"
    assert list(foreign_private_names(own)) == []
    getter = "class A:\n    @property\n    def a(self):\n        self.b = 1"
    assert list(setting_getters(getter)) == ["a"]
    assert list(setting_getters(getter.replace("self.b", "b"))) == []
