"""Write the type stubs of the public names, from their signatures and docstrings.

    python tools/make_stubs.py

The types of numpydoc docstrings follow a small grammar, which :func:`annotation` reads.
What it does not know is ``Any``. A test compares the stubs with what this writes.
"""

import importlib
import inspect
import re
from pathlib import Path

from numpydoc.docscrape import ClassDoc, FunctionDoc
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin

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
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin
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
    "callable": "Callable[..., Any]",
    "RandomState instance": "np.random.RandomState",
    "self": "Self",
}
BASES = (ClassifierMixin, TransformerMixin, BaseEstimator)


def annotation(text):
    """The annotation for a type as docstrings state it."""
    text = re.sub(r",\s*(\\\s*)?default=.*", "", text)
    text = re.sub(r"`|, ?(float64|int)$", "", text)
    # Shapes and sets have commas of their own.
    literals = re.findall(r'"([^"]*)"', text)
    text = re.sub(r"\{[^}]*\}|\"[^\"]*\"", "", text)
    text = re.sub(r"\([^()]*(\([^()]*\)[^()]*)*\)", "", text)
    found = [f"Literal[{', '.join(repr(name) for name in literals)}]"] * bool(literals)
    for part in re.split(r",| or ", text):
        part = part.strip().removeprefix("or ").strip()
        if part.startswith("of ") or part in ("", "of shape"):
            continue
        found.append(_annotation_of_part(part))
    if "Any" in found:
        return "Any"
    # Editors offer the literals, but names in variables are strings to a checker.
    if literals:
        found.append("str")
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
    return {
        name
        for module in MODULES[:1]
        for name, value in _public(module)
        if inspect.isclass(value)
    }


def _public(module):
    module = importlib.import_module(module)
    return [(name, getattr(module, name)) for name in sorted(module.__all__)]


def returned(doc):
    types = [annotation(entry.type or entry.name) for entry in doc["Returns"]]
    if not types:
        return "None"
    if types[0] == "Any":  # such as a Bunch, or else a tuple
        return "Any"
    return types[0] if len(types) == 1 else f"tuple[{', '.join(types)}]"


def parameters(function, doc):
    """The parameters as Python writes them, with annotations."""
    types = {}
    for entry in doc["Parameters"]:
        for name in entry.name.replace("*", "").split(","):
            types[name.strip()] = annotation(entry.type)
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
            plain = isinstance(parameter.default, int | float | str | None)
            text += f" = {parameter.default!r}" if plain else " = ..."
        written.append(text)
    return ", ".join(written)


def function_stub(name, function, indent=""):
    doc = FunctionDoc(function)
    result = returned(doc)
    return f"{indent}def {name}({parameters(function, doc)}) -> {result}: ...\n"


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
        lines.append(
            f"    def __init__({parameters(cls.__init__, doc)}) -> None: ...\n"
        )
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
    parts = [HEADER]
    if module != MODULES[0]:
        classes = ", ".join(sorted(_public_classes()))
        parts.append(f"\nfrom skgeom import {classes}\n")
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
    return "".join(parts)


def path(module):
    return Path(importlib.import_module(module).__file__).with_suffix(".pyi")


if __name__ == "__main__":
    for module in MODULES:
        path(module).write_text(stub(module), encoding="utf-8")
