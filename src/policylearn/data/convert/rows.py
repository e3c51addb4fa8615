"""Rows of a table of molecules, one at a time, whatever kind of file it is."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import IO

from policylearn.data.convert.readers import DelimitedRows, ParquetRows, SdfRows, SmilesRows, TableRows, open_bytes
from policylearn.data.molecules import shown
from policylearn.data.packed import DataError
from policylearn.wording import hint

READERS: dict[str, Callable[[IO[bytes], Path], TableRows]] = {
    ".csv": DelimitedRows,
    ".txt": DelimitedRows,
    ".tsv": partial(DelimitedRows, tabs=True),
    ".smi": SmilesRows,
    ".sdf": SdfRows,
    ".parquet": ParquetRows,
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


@contextmanager
def open_rows(path: Path, columns: Sequence[str] = (), *, smiles: str | None = None) -> Iterator[TableRows]:
    """The rows of a table with their header; a row that cannot be read comes with its ``problem``.

    Args:
        path: ``.csv``, ``.tsv``, ``.txt``, ``.smi``, ``.sdf`` or ``.parquet``, in any case, and ``.gz`` of each.
        columns: those that must be there.
        smiles: the column of molecules; where it is one of the usual names (smiles, canonical_smiles) and not there,
            the column that has another of these, in any case, is taken.
    """
    with open_bytes(path) as file:
        rows = READERS.get(table_kind(path), DelimitedRows)(file, path)
        rows.smiles = None if smiles is None else find_smiles(path, rows.header, smiles)
        check_columns(path, rows.header, columns)
        yield rows


def table_columns(path: str | Path) -> list[str]:
    """The names of a table's columns."""
    with open_rows(Path(path)) as rows:
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
