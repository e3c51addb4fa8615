"""One option for each setting of a training run."""

from __future__ import annotations

import argparse
import ast
import inspect
import textwrap
from argparse import Namespace
from typing import Any, get_origin, get_type_hints

from policylearn.cli.command import GatherAction, Parser, typed
from policylearn.settings import RunConfig
from policylearn.settings.parsing import is_group, is_open, settings_of
from policylearn.wording import without_none, write_value


def add_settings(parser: Parser) -> None:
    """Give a parser an option per setting of `RunConfig`; only those that are given come out of it."""
    add_group(parser, RunConfig(), "")


def add_group(parser: Parser, config: Any, prefix: str, hidden: bool = False) -> None:
    """The options of a configuration and of those within it.

    Args:
        parser: to add to.
        config: with its defaults.
        prefix: of the names.
        hidden: whether to leave them out of the help: those of the selection network are as the prediction network's.
    """
    kind = type(config)
    texts = attribute_docs(kind)
    group = parser.add_argument_group(inspect.cleandoc(kind.__doc__ or "").split("\n")[0].rstrip("."))
    inner = []
    for name, hint in get_type_hints(kind).items():
        if is_group(hint):
            inner.append((name, hint))
            continue
        default = getattr(config, name)
        text = texts[name].rstrip(".")
        text += "" if default in (None, "", (), {}) else f" (default: {write_value(default)})"
        several = {"nargs": "+", "action": GatherAction} if get_origin(hint) is tuple else {}
        kind_of_word = str if several else hint
        options = typed(prefix + name, {"type": kind_of_word, "help": text, "default": argparse.SUPPRESS} | several)
        options.setdefault("metavar", name.upper())
        if is_open(hint):
            parser.open_groups.append(f"--{prefix}{name}.")
        group.add_argument(f"--{prefix}{name}", **options | ({"help": argparse.SUPPRESS} if hidden else {}))
    for name, hint in inner:
        value = getattr(config, name)
        add_group(parser, without_none(hint)() if value is None else value, f"{prefix}{name}.", value is None)


def given_settings(options: Namespace) -> dict[str, Any]:
    """The settings among a command's options, by dotted name."""
    known = settings_of(RunConfig)
    open_ones = tuple(f"{name}." for name, kind in known.items() if is_open(kind))
    found = {name: value for name, value in vars(options).items() if name in known or name.startswith(open_ones)}
    return dict(sorted(found.items()))  # a mapping comes before what is said of its parts


def attribute_docs(kind: type) -> dict[str, str]:
    """The text below each attribute of a dataclass, in one line."""
    (body,) = ast.parse(textwrap.dedent(inspect.getsource(kind))).body
    assert isinstance(body, ast.ClassDef)
    found = {}
    for before, after in zip(body.body, body.body[1:], strict=False):
        if isinstance(before, ast.AnnAssign) and isinstance(before.target, ast.Name):
            text = after.value if isinstance(after, ast.Expr) else None
            if isinstance(text, ast.Constant) and isinstance(text.value, str):
                found[before.target.id] = " ".join(text.value.split())
    return found
