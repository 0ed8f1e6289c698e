"""The type stubs say what the docstrings say."""

import importlib.util
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def tool():
    spec = importlib.util.spec_from_file_location("stubs", ROOT / "tools/make_stubs.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


MAKE_STUBS = tool()


@pytest.mark.parametrize("module", MAKE_STUBS.MODULES)
def test_stubs_are_up_to_date(module):
    found = MAKE_STUBS.path(module).read_text(encoding="utf-8")
    assert found == MAKE_STUBS.stub(module), "run python tools/make_stubs.py"


@pytest.mark.parametrize(
    "text, expected",
    [
        ("int, default=2", "int"),
        ("float or None", "float | None"),
        ('"auto" or float, default="auto"', "Literal['auto'] | float | str"),
        ('{"full", "shared"}', "Literal['full', 'shared'] | str"),
        ("array-like of shape (n_samples, n_features)", "ArrayLike"),
        ("ndarray of shape (n, n) or (n,), float64", "NDArray[Any]"),
        ("int, RandomState instance or None", "int | np.random.RandomState | None"),
        ("str, callable or None", "str | Callable[..., Any] | None"),
        ("matplotlib Axes", "Any"),
        ("ClassStatistics", "ClassStatistics"),
        ("self", "Self"),
    ],
)
def test_annotations(text, expected):
    assert MAKE_STUBS.annotation(text) == expected
