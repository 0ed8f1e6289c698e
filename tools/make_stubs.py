"""Write the type stubs of the public names, from their signatures and docstrings.

    python tools/make_stubs.py

The types of numpydoc docstrings follow a small grammar, which :func:`annotation` reads;
the names that a ``str`` may be are those of ``_parameter_constraints``. A type outside
the grammar is ``Any``. A test compares the stubs with the output of this script.
"""

import importlib
import inspect
import re
from pathlib import Path

from numpydoc.docscrape import ClassDoc, FunctionDoc
from sklearn.base import (
    BaseEstimator,
    ClassifierMixin,
    ClassNamePrefixFeaturesOutMixin,
    OneToOneFeatureMixin,
    RegressorMixin,
    TransformerMixin,
)
from sklearn.utils._param_validation import StrOptions

MODULES = [
    "skgeom",
    "skgeom.baselines",
    "skgeom.datasets",
    "skgeom.geometry",
    "skgeom.objectives",
    "skgeom.optim",
    "skgeom.plotting",
]
HEADER = '''"""Written by tools/make_stubs.py."""

from collections.abc import Callable, Iterable
from typing import Any, Literal, Protocol, Self, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, ClassifierMixin
from sklearn.base import OneToOneFeatureMixin, RegressorMixin, TransformerMixin

class _SupportsArray(Protocol):
    def __array__(self) -> NDArray[Any]: ...

class _SupportsRun(Protocol):
    def run(self, problem: Any, *, initial_point: Any = None) -> Any: ...

# ArrayLike includes str: a parameter that also accepts names needs a type without it.
_Array = _SupportsArray | list[Any] | tuple[Any, ...]
'''
NAMES = {
    "int": "int",
    "float": "float",
    "number": "float",
    "str": "str",
    "bool": "bool",
    "None": "None",
    "dict": "dict[Any, Any]",
    "tuple": "tuple[Any, ...]",
    "list": "list[Any]",
    "list of str": "list[str]",
    "callable": "Callable[..., Any]",
    "RandomState instance": "np.random.RandomState",
    "self": "Self",
    "pymanopt optimizer": "_SupportsRun",
    "pymanopt.optimizers.optimizer.Optimizer": "_SupportsRun",
}
BASES = (
    ClassNamePrefixFeaturesOutMixin,
    OneToOneFeatureMixin,
    ClassifierMixin,
    RegressorMixin,
    TransformerMixin,
    BaseEstimator,
)


def annotation(text, options=()):
    """The annotation for a type of a docstring.

    ``options`` are the strings that are allowed, where the type is only ``str``.
    """
    text = re.sub(r",\s*(\\\s*)?default=.*", "", text)
    text = re.sub(r"`|, ?(float64|int)$", "", text)
    # Shapes and sets contain commas.
    literals = re.findall(r'"([^"]*)"', text)
    if not literals and re.search(r"\bstr\b", text):
        literals = sorted(options)
    text = re.sub(r"\{[^}]*\}|\"[^\"]*\"", "", text)
    text = re.sub(r"\([^()]*(\([^()]*\)[^()]*)*\)", "", text)
    found = [f"Literal[{', '.join(repr(name) for name in literals)}]"] * bool(literals)
    for part in re.split(r",| or ", text):
        part = part.strip().removeprefix("or ").strip()
        if part.startswith("of ") or part in ("", "of shape"):
            continue
        if not (part == "str" and literals):
            found.append(_annotation_of_part(part))
    if "Any" in found:
        return "Any"
    if literals and "ArrayLike" in found:
        found[found.index("ArrayLike")] = "_Array"
    return " | ".join(dict.fromkeys(found)) or "Any"


def _annotation_of_part(part):
    if part in NAMES:
        return NAMES[part]
    if part.startswith("array-like"):
        return "ArrayLike"
    if part.startswith("ndarray"):
        return "NDArray[Any]"
    if part.startswith("iterable"):
        return "Iterable[Any]"
    return part if part in _public_classes() else "Any"


def _public_classes():
    """The module of each public class."""
    return {
        name: module
        for module in MODULES
        for name, value in _public(module)
        if inspect.isclass(value)
    }


def _public(module):
    module = importlib.import_module(module)
    return [(name, getattr(module, name)) for name in sorted(module.__all__)]


def returned(doc):
    types = [
        annotation(entry.type or entry.name)
        for entry in doc["Returns"]
        if "only if" not in " ".join(entry.desc)
    ]
    if not types:
        return "None"
    if types[0] == "Any":  # such as a Bunch, or else a tuple
        return "Any"
    return types[0] if len(types) == 1 else f"tuple[{', '.join(types)}]"


def parameters(function, doc, constraints=None):
    """The parameters as Python writes them, with annotations."""
    types = {}
    for entry in doc["Parameters"]:
        for name in entry.name.replace("*", "").split(","):
            allowed = (constraints or {}).get(name.strip(), [])
            names = [o.options for o in allowed if isinstance(o, StrOptions)]
            types[name.strip()] = annotation(entry.type, set().union(*names))
    written, keyword_only = [], False
    for name, parameter in inspect.signature(function).parameters.items():
        if name in ("self", "cls"):
            written.append(name)
            continue
        if parameter.kind is parameter.VAR_POSITIONAL:
            written.append(f"*{name}: Any")
            keyword_only = True
            continue
        if parameter.kind is parameter.VAR_KEYWORD:
            written.append(f"**{name}: Any")
            continue
        if parameter.kind is parameter.KEYWORD_ONLY and not keyword_only:
            written.append("*")
            keyword_only = True
        kind = types.get(name, "Any")
        if parameter.default is None and kind != "Any" and "None" not in kind:
            kind += " | None"
        text = f"{name}: {kind}"
        if parameter.default is not parameter.empty:
            plain = type(parameter.default) in (bool, int, float, str, type(None))
            text += f" = {parameter.default!r}" if plain else " = ..."
        written.append(text)
    return ", ".join(written)


def function_stub(name, function, indent=""):
    doc = FunctionDoc(function)
    result, written = returned(doc), parameters(function, doc)
    line = f"{indent}def {name}({written}) -> {result}: ...\n"
    flag = re.search(r"return_\w+: bool = False", written)
    if result == "Any" or not flag:
        return line
    # With the flag, the function returns more.
    flag = flag[0].split(":")[0]
    without = line.replace(f"{flag}: bool", f"{flag}: Literal[False]")
    more = f"{indent}def {name}({written}) -> Any: ...\n"
    more = more.replace(f"{flag}: bool = False", f"{flag}: bool")
    return f"{indent}@overload\n{without}{indent}@overload\n{more}"


def class_stub(name, cls):
    doc = ClassDoc(cls)
    bases = [base.__name__ for base in BASES if issubclass(cls, base)]
    parents = [p.__name__ for p in cls.__mro__[1:] if p.__name__ in _public_classes()]
    lines = [f"class {name}({', '.join(parents[:1] or bases)}):\n"]
    for entry in doc["Attributes"]:
        if entry.name.isidentifier() and not isinstance(
            inspect.getattr_static(cls, entry.name, None), property
        ):
            lines.append(f"    {entry.name}: {annotation(entry.type)}\n")
    if cls.__init__ is not object.__init__:
        constraints = getattr(cls, "_parameter_constraints", None)
        written = parameters(cls.__init__, doc, constraints)
        lines.append(f"    def __init__({written}) -> None: ...\n")
    for member in sorted(dir(cls)):
        value = inspect.getattr_static(cls, member)
        if member in ("__add__", "__radd__"):
            lines.append(f"    def {member}(self, other: Any) -> {name}: ...\n")
        if member.startswith("_"):
            continue
        if isinstance(value, property):
            kind = annotation(
                next(iter(FunctionDoc(value.fget)["Returns"]), [0, ""])[1]
            )
            lines.append(f"    @property\n    def {member}(self) -> {kind}: ...\n")
            continue
        function = getattr(cls, member)
        if not callable(function) or not _is_ours(function):
            continue
        if isinstance(value, classmethod | staticmethod):
            lines.append(f"    @{type(value).__name__}\n")
            function = value.__func__
        lines.append(function_stub(member, function, "    "))
    return "".join(lines if len(lines) > 1 else [*lines, "    ...\n"])


def _is_ours(function):
    return (getattr(function, "__module__", None) or "").startswith("skgeom")


def stub(module):
    """The text of the stub of a module."""
    parts = []
    names = [name for name, _ in _public(module)]
    parts.append(f"\n__all__ = {names!r}\n")
    if module == MODULES[0]:
        parts.append("__version__: str\n")
    for name, value in _public(module):
        if inspect.isclass(value):
            parts.append("\n" + class_stub(name, value))
        elif callable(value):
            parts.append("\n" + function_stub(name, value))
        else:
            parts.append(f"\n{name}: Any\n")
    text = "".join(parts)
    imports = [
        f"from {home} import {name}\n"
        for name, home in sorted(_public_classes().items())
        if home != module and re.search(rf"(: |\| |\[|\()\b{name}\b", text)
    ]
    if module == MODULES[0]:
        submodules = [name.removeprefix("skgeom.") for name in MODULES[1:]]
        imports += [f"from skgeom import {name} as {name}\n" for name in submodules]
    return "".join([HEADER, "\n" * bool(imports), *imports, text])


def path(module):
    return Path(importlib.import_module(module).__file__).with_suffix(".pyi")


if __name__ == "__main__":
    for module in MODULES:
        path(module).write_text(stub(module), encoding="utf-8")
