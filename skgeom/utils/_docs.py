"""Paragraphs that several docstrings have, each written once."""

import inspect
import re


def substitute_docs(**paragraphs):
    """Replace lines ``{name}`` in the docstring of a class or function by paragraphs.

    A paragraph takes the indentation of the line that it replaces.
    """

    def decorate(documented):
        def paragraph(match):
            text = inspect.cleandoc(paragraphs[match["name"]])
            return "\n".join(
                match["indent"] + line if line else "" for line in text.split("\n")
            )

        documented.__doc__ = re.sub(
            r"^(?P<indent> *)\{(?P<name>\w+)\}$",
            paragraph,
            documented.__doc__,
            flags=re.MULTILINE,
        )
        return documented

    return decorate
