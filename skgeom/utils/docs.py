"""Docstrings that share paragraphs."""

import inspect
import re
from textwrap import indent

# The parameter ``sample_weight`` of the ``fit`` methods.
SAMPLE_WEIGHT = """
sample_weight : array-like of shape (n_samples,), default=None
    Weights of the samples: an integer weight counts as that many copies.
    Weights whose sum is smaller than the number of samples of positive weight
    are scaled to that number.
"""

# The parameters of the ``partial_fit`` methods of classifiers and filters.
CLASSES = """
classes : array-like of shape (n_classes,), default=None
    All classes of this and later calls. If the first call has ``classes``, a
    label that is not among them raises an error. Otherwise, later calls may
    contain new classes. The first call may contain samples of any of the
    classes. Until there are samples of two classes, methods such as
    ``predict`` and ``transform`` raise a NotFittedError.
"""
BATCH_WEIGHT = """
sample_weight : array-like of shape (n_samples,), default=None
    Weights of the samples: an integer weight counts as that many copies.
    Small weights are not scaled, because a batch contains only some of the
    samples: classes whose weights have a small sum are treated like classes of
    few samples.
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
