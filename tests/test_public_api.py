"""Every public name is documented: docstring, parameters, example, reference page."""

import dataclasses
import importlib
import inspect
import re
from pathlib import Path

import pytest
from make_stubs import MODULES
from numpydoc.docscrape import ClassDoc
from numpydoc.validate import validate

REFERENCE = Path(__file__).parents[1] / "doc" / "api.rst"

# Codes of numpydoc that are not asked for. Among those that are: PR01 and PR02, the
# documented parameters are those of the signature, and EX01, there is an example.
IGNORED = {
    "ES01",  # no extended summary
    "SA01",  # no See Also section
    "SA04",  # See Also entry without a description
    "RT02",  # a single returned value may have a name
    "SS05",  # nouns in the plural are taken for verbs in the third person
}
IGNORED_IN_METHODS = IGNORED | {"EX01"}  # the example of the class is enough
IGNORED_IN_RECORDS = IGNORED | {"EX01", "PR01"}  # dataclasses, tested by their fields


def public_objects():
    """Public functions and classes, by dotted name."""
    for namespace in MODULES:
        module = importlib.import_module(namespace)
        for name in module.__all__:
            obj = getattr(module, name)
            if inspect.isclass(obj) or inspect.isroutine(obj):
                yield f"{namespace}.{name}", obj


def public_members():
    """Dotted names of the public methods and properties that skgeom itself defines."""
    for class_name, cls in public_objects():
        if not inspect.isclass(cls):
            continue
        for name, member in inspect.getmembers_static(cls):
            member = getattr(member, "__func__", getattr(member, "fget", member))
            if name.startswith("_") or not inspect.isroutine(member):
                continue
            if member.__module__.startswith("skgeom"):
                yield f"{class_name}.{name}"


def errors(name, ignored):
    return [error for error in validate(name)["errors"] if error[0] not in ignored]


@pytest.mark.parametrize(("name", "obj"), list(public_objects()))
def test_docstring(name, obj):
    record = dataclasses.is_dataclass(obj)
    assert not errors(name, IGNORED_IN_RECORDS if record else IGNORED)
    if record:
        documented = [attribute.name for attribute in ClassDoc(obj)["Attributes"]]
        assert documented == [field.name for field in dataclasses.fields(obj)]


@pytest.mark.parametrize("name", list(public_members()))
def test_docstring_of_member(name):
    assert not errors(name, IGNORED_IN_METHODS)


@pytest.mark.parametrize("namespace", MODULES)
def test_namespace(namespace):
    module = importlib.import_module(namespace)
    assert module.__doc__
    assert len(set(module.__all__)) == len(module.__all__)
    assert set(module.__all__) <= set(dir(module))


def test_reference_page_lists_the_public_names():
    entries = re.findall(r"^   ([A-Za-z_][\w.]*)$", REFERENCE.read_text(), re.MULTILINE)
    listed = sorted(f"skgeom.{entry}" for entry in entries)
    assert listed == sorted(name for name, _ in public_objects())
