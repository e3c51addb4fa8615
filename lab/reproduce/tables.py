"""Every result table of the paper, with the figures that it prints, as `paper.yaml` declares them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from lab.reproduce.declaration import Column, Method, PaperRow, Protocol, Table, row
from policylearn.settings.run_config import POLICY_LEARN, read_yaml

SHARES = ("accuracy", "rocauc")
"""Metrics that the paper prints in per cent; higher is better."""


def read_method(key: str, name: str, slug: str = "", model: str = "", settings: Any = None, **more: str) -> Method:
    """A method: Policy-learn with a policy, or the system that has its key."""
    model = POLICY_LEARN if "policy" in more else model or key
    return Method(name, slug or key, settings=tuple((settings or {}).items()), model=model, **more)


def read_column(
    key: str, title: str, repeats: str, slug: str = "", metric: str = "milliseconds", **more: Any
) -> Column:
    """A column; without a metric it is one of times."""
    count, kind = repeats.split()
    share = metric in SHARES
    protocol = Protocol(kind.removesuffix("s"), int(count))  # type: ignore[arg-type]
    factor = 100.0 if share else 1.0
    return Column(title, slug or key, metric=metric, higher_is_better=share, protocol=protocol, factor=factor, **more)


def read_row(words: str, cells: str) -> PaperRow:
    """A row from its method, such as ``learned T=2`` or ``cin c=68``, and its cells."""
    name, *more = words.split()
    method, options = METHODS[name], dict(word.split("=") for word in more)
    if "c" in options:
        method = narrowed(method, int(options["c"]))
    return row(method, int(options["T"]) if "T" in options else None, *cells.split(", "))


def narrowed(method: Method, channels: int) -> Method:
    """A system inside a budget of weights that its published form breaks."""
    settings = (*method.settings, ("system.channels", channels))
    name, slug = f"{method.name}, {channels} channels", f"{method.slug}-c{channels}"
    return replace(method, name=name, slug=slug, settings=settings, note="")


def read_table(name: str, columns: list[str], rows: Mapping[str, str], variants: Any = None, **more: str) -> Table:
    """A table from its columns and rows."""
    own, ours = (tuple(read_row(*item) for item in (some or {}).items()) for some in (rows, variants))
    return Table(name, columns=tuple(COLUMNS[column] for column in columns), rows=own, variants=ours, **more)


PAPER = read_yaml(Path(__file__).with_name("paper.yaml"))
METHODS = {key: read_method(key, **given) for key, given in PAPER["methods"].items()}
COLUMNS = {key: read_column(key, **given) for key, given in PAPER["columns"].items()}
TABLES = tuple(read_table(name, **given) for name, given in PAPER["tables"].items())
