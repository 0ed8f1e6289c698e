"""Docstrings that share paragraphs."""

import inspect
import re
from textwrap import indent

# The parameter ``sample_weight`` of the ``fit`` methods.
SAMPLE_WEIGHT = """
sample_weight : array-like of shape (n_samples,), default=None
    Weights of the samples: an integer weight counts as that many copies. Weights whose
    sum is smaller than the number of samples of positive weight are scaled to that
    number.
"""


def substitute_docs(**paragraphs):
    """Replace lines ``{name}`` in the docstring of a class or function by paragraphs.

    A paragraph is indented like the line that it replaces.
    """

    def decorate(documented):
        def paragraph(match):
            return indent(inspect.cleandoc(paragraphs[match["name"]]), match["indent"])

        documented.__doc__ = re.sub(
            r"^(?P<indent> *)\{(?P<name>\w+)\}$",
            paragraph,
            documented.__doc__,
            flags=re.MULTILINE,
        )
        return documented

    return decorate


def documented_parameters(*documented):
    """The descriptions of parameters and attributes in docstrings, by name."""
    text = "\n".join(inspect.cleandoc(part.__doc__) for part in documented)
    paragraphs = re.finditer(r"^(\w+) : .+(?:\n+ +.+)*", text, flags=re.MULTILINE)
    return {paragraph[1]: "\n" + paragraph[0] for paragraph in paragraphs}
