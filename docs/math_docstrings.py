"""Formulas of docstrings as MathML, which browsers draw without a script."""

from __future__ import annotations

import re
from typing import Any

from griffe import Extension, Object
from latex2mathml.converter import convert

BLOCK = re.compile(r"^([ \t]*)\.\. math::((?:[^\n]*\n)(?:\1[ \t]+\S[^\n]*(?:\n|$))*)", re.MULTILINE)


class MathDocstrings(Extension):
    """Turns ``.. math::`` and ``:math:`` of every docstring into MathML."""

    def on_object(self, *, obj: Object, **_: Any) -> None:
        """Called once for each module, class, function and attribute."""
        if obj.docstring and "math:" in obj.docstring.value:
            text = BLOCK.sub(lambda found: f"{found[1]}{mathml(found[2], 'block')}\n", obj.docstring.value + "\n")
            obj.docstring.value = re.sub(r":math:`([^`]+)`", lambda found: mathml(found[1], "inline"), text).rstrip()


def mathml(latex: str, display: str) -> str:
    """A formula on one line."""
    latex = " ".join(latex.split())
    return convert(rf"\begin{{align}}{latex}\end{{align}}" if "&" in latex else latex, display=display)
