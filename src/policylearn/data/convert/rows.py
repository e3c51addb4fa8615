"""Rows of a table of molecules, one at a time, whatever kind of file it is."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import IO

from policylearn.data.convert.readers import (
    DelimitedReader,
    ParquetReader,
    Reader,
    SdfReader,
    SmilesFileReader,
    TableRow,
    opened,
)
from policylearn.data.molecules import shown
from policylearn.data.packed import DataError
from policylearn.wording import hint

READERS: dict[str, Callable[[IO[bytes], Path], Reader]] = {
    ".csv": DelimitedReader,
    ".txt": DelimitedReader,
    ".tsv": partial(DelimitedReader, tabs=True),
    ".smi": SmilesFileReader,
    ".sdf": SdfReader,
    ".parquet": ParquetReader,
}
SMILES_NAMES = ("smiles", "canonical_smiles", "canonicalsmiles", "isomeric_smiles", "isomericsmiles", "smi")
"""What the column of molecules is called, in any case, where nothing else is said."""
MOST_NAMES = 30


def is_table(name: str | Path) -> bool:
    """Whether a file is a table of molecules by the end of its name, in any case and with or without ``.gz``."""
    return table_kind(Path(name)) in READERS


def table_kind(path: Path) -> str:
    """The end of a file's name that says what it is, such as ``.csv``."""
    return Path(path.name.lower().removesuffix(".gz")).suffix


def iter_rows(path: str | Path, smiles: str = "smiles", columns: Sequence[str] = ()) -> Iterator[TableRow]:
    """Stream the rows of a table; rows without any text are passed over.

    A row that cannot be read comes with its ``problem``; a file that cannot be read, or lacks a column, raises a
    `DataError`.

    Args:
        path: the file.
        smiles: the column of molecules, as in `open_rows`.
        columns: further columns that must be there.
    """
    path = Path(path)
    with open_rows(path, columns, smiles=smiles) as rows:
        yield from filled(rows)


def filled(rows: TableRows) -> Iterator[TableRow]:
    """The rows that hold any text, or could not be read."""
    return (row for row in rows if not row.cells or any(cell.strip() for cell in row.cells))


class TableRows:
    """The rows of an open table with their header.

    Args:
        reader: of the kind of file.
        smiles: the column of molecules; None where none was asked for.
    """

    def __init__(self, reader: Reader, smiles: str | None) -> None:
        self.reader, self.smiles = reader, smiles

    @property
    def header(self) -> list[str]:
        """The names of the columns."""
        return self.reader.header

    @property
    def position(self) -> int:
        """Bytes of the (unpacked) file that were read."""
        return self.reader.lines.bytes

    @property
    def foreign_lines(self) -> int:
        """Lines so far that are not UTF-8 and were read as Windows-1252."""
        return self.reader.lines.foreign

    def __iter__(self) -> Iterator[TableRow]:
        return iter(self.reader)


@contextmanager
def open_rows(path: Path, columns: Sequence[str] = (), *, smiles: str | None = None) -> Iterator[TableRows]:
    """The rows of a table with their header, for whoever wants more than `iter_rows` gives.

    Args:
        path: ``.csv``, ``.tsv``, ``.txt``, ``.smi``, ``.sdf`` or ``.parquet``, in any case, and ``.gz`` of each.
        columns: those that must be there.
        smiles: the column of molecules; where it is one of the usual names (smiles, canonical_smiles) and not there,
            the column that has another of these, in any case, is taken.
    """
    read = READERS.get(table_kind(path), DelimitedReader)
    with opened(path) as file:
        reader = read(file, path)
        molecules = None if smiles is None else find_smiles(path, reader.header, smiles)
        check_columns(path, reader.header, columns)
        yield TableRows(reader, molecules)


def table_columns(path: str | Path) -> list[str]:
    """The names of a table's columns."""
    path = Path(path)
    with open_rows(path) as rows:
        return rows.header


def find_smiles(path: Path, header: list[str], wanted: str) -> str:
    """The column of molecules, or a `DataError` that lists the columns."""
    if wanted not in header and wanted.casefold() in SMILES_NAMES:
        folded = [name.casefold() for name in header]
        for name in (wanted.casefold(), *SMILES_NAMES):
            if folded.count(name) == 1:
                return header[folded.index(name)]
    check_columns(path, header, (wanted,))
    return wanted


def check_columns(path: Path, header: list[str], wanted: Sequence[str]) -> None:
    """Raise unless each wanted column is named once; the error offers the nearest name."""
    for name in wanted:
        if header.count(name) > 1:
            raise DataError(f"{path}, line 1: names the column {name!r} {header.count(name)} times; rename all but one")
        if name not in header:
            way_out = hint(name, header, "name one of them, or add the column")
            raise DataError(f"{path}, line 1: has no column {name!r}; it has {listed(header)}; {way_out}")


def listed(header: Sequence[str]) -> str:
    """The names of columns in a message."""
    return ", ".join([shown(name) for name in header[:MOST_NAMES]] + ["..."] * (len(header) > MOST_NAMES))
