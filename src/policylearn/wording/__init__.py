"""How users and the package understand each other: names, values, tables."""

from policylearn.wording.values import (
    WrongValueError,
    describe_kind,
    is_optional,
    read_value,
    without_none,
    write_value,
)
from policylearn.wording.words import hint, last_part, markdown_table, nearest_word, one_line

__all__ = [
    "WrongValueError",
    "describe_kind",
    "hint",
    "is_optional",
    "last_part",
    "markdown_table",
    "nearest_word",
    "one_line",
    "read_value",
    "without_none",
    "write_value",
]
