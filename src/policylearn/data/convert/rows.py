"""Rows of a CSV file, one at a time: text encoding, delimiter, header and quotes checked line by line."""

from __future__ import annotations

import csv
import difflib
import gzip
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, cast

from policylearn.data.molecules import shown
from policylearn.data.packed import DataError

DELIMITERS = (",", "\t", ";")
MOST_NAMES = 30


@dataclass(frozen=True)
class Row:
    """One row of a table.

    Args:
        line: where the row starts in the file; the header is line 1.
        fields: the text of each named column, without blanks around it; empty where the row cannot be read.
        problem: why the row cannot be read; empty where it can.
        cells: the row as it stands in the file, as far as it can be told.
    """

    line: int
    fields: Mapping[str, str]
    problem: str = ""
    cells: tuple[str, ...] = ()


def iter_rows(path: Path, smiles: str = "smiles", columns: Sequence[str] = ()) -> Iterator[Row]:
    """Stream the rows of a table that names its columns in the first line.

    Commas, semicolons or tabs, whichever splits the header into most names, part the cells (tabs where the file is
    called ``.tsv``); ``.gz`` is unpacked on the way; rows without any text are passed over. A row that cannot be read
    comes with its ``problem``; a file that cannot be read, or lacks a column, raises a `DataError`.

    Args:
        path: the file.
        smiles: the column of molecules.
        columns: further columns that must be there.
    """
    with open_rows(path, (smiles, *columns)) as rows:
        for row in rows:
            if not row.cells or any(cell.strip() for cell in row.cells):
                yield row


@contextmanager
def open_rows(path: Path, columns: Sequence[str] = ()) -> Iterator[TableRows]:
    """The rows of a table with their header, for whoever wants more than `iter_rows` gives.

    Args:
        path: the file.
        columns: those that must be there.
    """
    with opened(path) as file:
        lines = Lines(file, path)
        first = next((line for line in lines if line.strip()), None)
        if first is None:
            raise DataError(f"{path}: is empty; its first line must name the columns, such as 'smiles,y'")
        foreign = foreign_byte([first])
        if foreign:
            raise DataError(f"{path}, line {lines.number}: {foreign}")
        delimiter = find_delimiter(path, first)
        header = [name.strip() for name in split_header(path, first, delimiter)]
        check_columns(path, header, columns)
        yield TableRows(header, delimiter, lines)


class TableRows:
    """The rows below a header, read one at a time; blank lines are passed over, rows of empty cells are not.

    Args:
        header: the names of the columns.
        delimiter: what parts the cells.
        lines: the rest of the file.
    """

    def __init__(self, header: list[str], delimiter: str, lines: Lines) -> None:
        self.header, self.delimiter, self.lines = header, delimiter, lines

    def __iter__(self) -> Iterator[Row]:
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
                yield Row(
                    start, {}, f"the row is not valid CSV{until} ({error}); put quotes around a whole cell or nowhere"
                )
                continue
            if cells and not (len(cells) == 1 and cells[0].isspace()):
                yield as_row(start, cells, self.header)


def as_row(line: int, cells: list[str], header: list[str]) -> Row:
    """Name the cells of one row; empty cells beyond the header, as spreadsheets leave them, do not count."""
    while len(cells) > len(header) and not cells[-1].strip():
        cells = cells[:-1]
    problem = foreign_byte(cells)
    if not problem and len(cells) != len(header):
        problem = f"the row has {len(cells)} cells, the header {len(header)}; quote a cell that holds the delimiter"
    if problem:
        return Row(line, {}, problem, tuple(cells))
    return Row(line, {name: cell.strip() for name, cell in zip(header, cells, strict=True)}, cells=tuple(cells))


def foreign_byte(cells: Sequence[str]) -> str:
    """What is wrong with the first byte that is no UTF-8, which `Lines` lets pass as a lone surrogate; else nothing."""
    for cell in cells:
        position = next((at for at, sign in enumerate(cell) if "\udc80" <= sign <= "\udcff"), None)
        if position is not None:
            byte = ord(cell[position]) - 0xDC00
            return (
                f"byte {byte:#04x} after {shown(cell[:position])} is not UTF-8;"
                " save the file as UTF-8 (in a spreadsheet: 'CSV UTF-8')"
            )
    return ""


class Lines:
    """The lines of a file as text, counted; a byte that is no UTF-8 becomes a lone surrogate for `as_row` to report."""

    def __init__(self, file: IO[bytes], path: Path) -> None:
        self.file = file
        self.path = path
        self.number = 0
        self.bytes = 0
        self.ended = False

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        try:
            raw = self.file.readline()
        except (gzip.BadGzipFile, zlib.error, EOFError) as error:
            raise DataError(f"{self.path}: damaged after line {self.number} ({error}); copy the file again") from error
        if not raw:
            self.ended = True
            raise StopIteration
        self.number += 1
        self.bytes += len(raw)
        return raw.decode("utf-8-sig" if self.number == 1 else "utf-8", errors="surrogateescape")


def opened(path: Path) -> IO[bytes]:
    """The bytes of a file, unpacked where its name ends in ``.gz``."""
    try:
        if path.suffix == ".gz":
            return cast(IO[bytes], gzip.open(path))
        return path.open("rb")
    except OSError as error:
        raise DataError(f"{path}: cannot be opened ({error.strerror}); check the path") from error


def find_delimiter(path: Path, header: str) -> str:
    """What parts the cells: tabs in a ``.tsv``, else whatever finds most names in the header."""
    if ".tsv" in path.suffixes:
        return "\t"
    return max(DELIMITERS, key=lambda delimiter: len(split_header(path, header, delimiter)))


def split_header(path: Path, header: str, delimiter: str) -> list[str]:
    """The names in the header."""
    try:
        return next(csv.reader([header], delimiter=delimiter))
    except csv.Error as error:
        raise DataError(
            f"{path}, line 1: {shown(header)} cannot be split into names ({error}); end lines with a line feed"
        ) from error


def check_columns(path: Path, header: list[str], wanted: Sequence[str]) -> None:
    """Raise unless each wanted column is named once; the error offers the nearest name."""
    for name in wanted:
        if header.count(name) > 1:
            raise DataError(f"{path}, line 1: names the column {name!r} {header.count(name)} times; rename all but one")
        if name not in header:
            folded = {known.casefold(): known for known in header}
            near = difflib.get_close_matches(name.casefold(), list(folded), n=1)
            hint = f"; did you mean {folded[near[0]]!r}?" if near else "; name one of them, or add the column"
            listed = [shown(known) for known in header[:MOST_NAMES]] + ["..."] * (len(header) > MOST_NAMES)
            raise DataError(f"{path}, line 1: has no column {name!r}; it has {', '.join(listed)}{hint}")
