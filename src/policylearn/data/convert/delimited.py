"""Rows of a CSV or TSV file: delimiter, header and quotes checked line by line."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from itertools import pairwise, starmap
from pathlib import Path
from typing import IO

from policylearn.data.convert.lines import Lines, TableRow
from policylearn.data.molecules import shown
from policylearn.data.packed import DataError

DELIMITERS = (",", "\t", ";")


class DelimitedReader:
    """The rows below a header, read one at a time; blank lines are passed over, rows of empty cells are not.

    Commas, semicolons or tabs, whichever splits the header into most names, separate the cells.

    Args:
        file: the bytes.
        path: names the file in errors.
        tabs: whether tabs separate the cells, whatever the header looks like.
    """

    def __init__(self, file: IO[bytes], path: Path, *, tabs: bool = False) -> None:
        self.lines = Lines(file, path)
        first = next((line for line in self.lines if line.strip()), None)
        if first is None:
            raise DataError(f"{path}: is empty; its first line must name the columns, such as 'smiles,y'")
        self.delimiter = "\t" if tabs else max(DELIMITERS, key=lambda sign: len(split_header(path, first, sign)))
        self.header = [name.strip() for name in split_header(path, first, self.delimiter)]

    def __iter__(self) -> Iterator[TableRow]:
        lines = self.lines
        reader = csv.reader(lines, delimiter=self.delimiter, strict=True)
        while True:
            start = lines.number + 1
            try:
                cells = next(reader)
            except StopIteration:
                return
            except csv.Error as error:
                if lines.ended:
                    raise DataError(
                        f"{lines.path}, line {start}: a quote opens and never closes ({error}); close it or remove it"
                    ) from error
                until = f" up to line {lines.number}" if lines.number > start else ""
                yield TableRow(
                    start, {}, f"the row is not valid CSV{until} ({error}); put quotes around a whole cell or nowhere"
                )
                continue
            if cells and not (len(cells) == 1 and cells[0].isspace()):
                yield as_row(start, cells, self.header, self.delimiter)


def as_row(line: int, cells: list[str], header: list[str], delimiter: str) -> TableRow:
    """Name the cells of one row; empty cells beyond the header, as spreadsheets leave them, do not count."""
    while len(cells) > len(header) and not cells[-1].strip():
        cells = cells[:-1]
    if len(cells) == len(header):
        return TableRow(
            line, {name: cell.strip() for name, cell in zip(header, cells, strict=True)}, cells=tuple(cells)
        )
    problem = f"the row has {len(cells)} cells, the header {len(header)}; quote a cell that holds the delimiter"
    if delimiter == "," and len(cells) > len(header) and any(starmap(_split_number, pairwise(cells))):
        problem += ", and write numbers with a decimal point: a decimal comma splits a number in two"
    return TableRow(line, {}, problem, tuple(cells))


def _split_number(before: str, after: str) -> bool:
    return re.fullmatch(r"\s*[+-]?\d+", before) is not None and re.fullmatch(r"\d+\s*", after) is not None


def split_header(path: Path, header: str, delimiter: str) -> list[str]:
    """The names in the header."""
    try:
        return next(csv.reader([header], delimiter=delimiter))
    except csv.Error as error:
        raise DataError(
            f"{path}, line 1: {shown(header)} cannot be split into names ({error}); end lines with a line feed"
        ) from error
