"""How mkdocstrings reads the package: names of lazy packages are public, and formulas become MathML."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from griffe import Extension, Module, Object
from latex2mathml.converter import convert

BLOCK = re.compile(r"^([ \t]*)\.\. math::((?:[^\n]*\n)(?:\1[ \t]+\S[^\n]*(?:\n|$))*)", re.MULTILINE)
LAZY = "lazy_loader"


class Docstrings(Extension):
    """Reads ``__init__.pyi`` as ``__all__``, and ``.. math::`` and ``:math:`` as formulas."""

    def on_object(self, *, obj: Object, **_: Any) -> None:
        """Called once for each module, class, function and attribute."""
        if obj.docstring and "math:" in obj.docstring.value:
            text = BLOCK.sub(lambda found: f"{found[1]}{mathml(found[2], 'block')}\n", obj.docstring.value + "\n")
            obj.docstring.value = re.sub(r":math:`([^`]+)`", lambda found: mathml(found[1], "inline"), text).rstrip()

    def on_package(self, *, pkg: Module, **_: Any) -> None:
        """Called once the whole package is read."""
        for module in modules(pkg):
            if LAZY in module.members:
                imported = [member for member in module.members.values() if member.is_alias]
                module.exports = [one.name for one in imported if one.target_path.startswith(f"{pkg.name}.")]


def modules(module: Module) -> Iterator[Module]:
    """A module and all below it."""
    yield module
    for below in module.modules.values():
        if not below.is_alias:
            yield from modules(below)


def mathml(latex: str, display: str) -> str:
    """A formula on one line."""
    latex = " ".join(latex.split())
    return convert(rf"\begin{{align}}{latex}\end{{align}}" if "&" in latex else latex, display=display)
