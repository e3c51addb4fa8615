"""Suggest names, and format values and tables."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from typing import Any


def nearest_word(word: str, known: Iterable[str]) -> str | None:
    """The closest known word: by its beginning, by similarity, or by similarity of its last part; case is ignored."""
    names = {name.casefold(): name for name in reversed(list(known))}
    ends = {last_part(name): name for name in names}
    word, beginnings = word.casefold(), list(reversed(names))
    close = [name for name in beginnings if len(word) > 2 and name.startswith(word)][:1]
    close += difflib.get_close_matches(word, beginnings, 1, cutoff=0.75)
    close += [ends[end] for end in difflib.get_close_matches(last_part(word), list(ends), 1)]
    return names[close[0]] if close else None


def hint(word: str, known: Iterable[str], otherwise: str) -> str:
    """How to correct an unknown word: the nearest known one, or ``otherwise``."""
    close = nearest_word(word, known)
    return f"did you mean '{close}'?" if close else otherwise


def last_part(name: str) -> str:
    """The last part of a dotted name."""
    return name.lstrip("-").rsplit(".", 1)[-1]


def markdown_table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A markdown table, without a line break at its end."""
    cells = [list(headings), ["---"] * len(headings), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in cells)


def write_value(value: Any) -> str:
    """A value as it is typed on the command line."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    return f"[{','.join(map(write_value, value))}]" if isinstance(value, list | tuple) else str(value)
