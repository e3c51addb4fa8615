"""Rows of a table, as text that every reader of CSV reads as the same rows."""

from __future__ import annotations

import csv
from collections.abc import Iterable
from typing import IO, Any, Protocol


class RowWriter(Protocol):
    """What `csv.writer` gives."""

    def writerow(self, row: Iterable[Any], /) -> Any:
        """Write one row."""


class PlainLineEnds:
    r"""Writes rows that end with ``\r\n`` as rows that end with ``\n``.

    Args:
        file: what the rows go to.
    """

    def __init__(self, file: IO[str]) -> None:
        self.file = file

    def write(self, row: str) -> int:
        """Write one row."""
        return self.file.write(row.removesuffix("\r\n") + "\n")


def row_writer(file: IO[str], delimiter: str = ",") -> RowWriter:
    r"""A writer of rows that end with ``\n``, and whose cells are quoted where they hold any kind of line end.

    `csv.writer` quotes a ``\r`` only where it ends rows itself, and one that is not quoted ends a row for its readers.

    Args:
        file: opened with ``newline=""``.
        delimiter: between cells.
    """
    return csv.writer(PlainLineEnds(file), delimiter=delimiter, lineterminator="\r\n")
