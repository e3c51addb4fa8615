"""What is wrong with a word or a value that a user wrote, in one line."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Sequence

PIPE = "\\|"
"""As it is written within a cell of a table."""
KINDS = {"int": "a whole number", "float": "a number", "str": "text", "bool": "true or false", "dict": "a mapping"}


def nearest_word(word: str, known: Iterable[str]) -> str | None:
    """The known word that comes closest: one that begins alike, one that looks alike, one whose last part does."""
    names = list(known)
    ends = {last_part(name): name for name in reversed(names)}
    close = [name for name in names if len(word) > 2 and name.startswith(word)][:1]
    close += difflib.get_close_matches(word, names, 1, cutoff=0.75)
    close += [ends[end] for end in difflib.get_close_matches(last_part(word), list(ends), 1)]
    return close[0] if close else None


def last_part(name: str) -> str:
    """Of an option or setting with a dotted name."""
    return name.lstrip("-").rsplit(".", 1)[-1]


def unknown_setting(complaint: str) -> str | None:
    """The dotted name of the setting that jsonargparse says does not exist; None if it says something else."""
    inside = re.search(r"Group '([^']+)' does not accept option '([^']+)'", complaint)
    below = re.match(r'Parser key "([^"]+)":.*?Option \'([^\']+)\' is not accepted', complaint, re.DOTALL)
    whole = re.search(r"does not accept option '([^']+)'", complaint)
    found = inside or below or whole
    return ".".join(found.groups()) if found else None


def wrong_value(complaint: str) -> str | None:
    """The setting, what it must be and what it is, where jsonargparse complains of a value; None otherwise."""
    key = re.match(r'Parser key "([^"]+)":', complaint)
    given = re.search(r"(?:Got|Given) value: (.*)", complaint)
    kinds = re.findall(r"Expected an? (.+?)(?:\. Got|$)", complaint, re.MULTILINE)
    wanted = list(dict.fromkeys(readable(kind) for kind in kinds if "NoneType" not in kind))
    if not (key and given and wanted):
        return None
    return f"'{key[1]}' must be {' or '.join(wanted)} (got {given[1]})"


def readable(kind: str) -> str:
    """A Python type in words."""
    literal = re.fullmatch(r"(?:typing\.)?Literal\[(.*)\]", kind)
    if literal:
        return f"one of {literal[1]}".replace("'", "")
    plain = re.fullmatch(r"<class '(?:[\w.]+\.)?(\w+)'>", kind)
    return KINDS.get(plain[1], plain[1]) if plain else kind


def markdown_table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A markdown table, without a line break at its end."""
    cells = [list(headings), ["---"] * len(headings), *rows]
    return "\n".join(f"| {' | '.join(cell.replace('|', PIPE) for cell in row)} |" for row in cells)


def one_line(text: str) -> str:
    """A text without its line breaks."""
    return " ".join(text.split())
