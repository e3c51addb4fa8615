"""Rows of files of every kind that holds molecules: CSV and TSV, ``.smi``, ``.sdf`` and Parquet."""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import re
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import IO, Any

from rdkit import Chem, rdBase

from policylearn.data.molecules import chemistry_problems, shown
from policylearn.data.packed import DataError

DELIMITERS = (",", "\t", ";")
END_OF_RECORD = "$$$$"
NAMED_VALUE = re.compile(r">.*?<(.+?)>")


@dataclass(frozen=True)
class TableRow:
    """One row of a table."""

    line: int  # where the row starts in the file, the header being line 1 (Parquet: row number)
    fields: Mapping[str, str]  # stripped text by column; empty where the row cannot be read
    problem: str = ""  # why the row cannot be read; empty where it can
    cells: tuple[str, ...] = ()  # the row as it stands in the file, as far as it could be split


def named_row(line: int, header: Sequence[str], cells: Sequence[str]) -> TableRow:
    """A row with a cell for each column."""
    fields = {name: cell.strip() for name, cell in zip(header, cells, strict=True)}
    return TableRow(line, fields, cells=tuple(cells))


class Lines:
    """The lines of a file as text, counted.

    A line that is not UTF-8 is read as Windows-1252, which spreadsheets write: a foreign letter in one column must not
    cost the row. So far ``number`` lines were read, ``foreign`` of them not UTF-8, and ``bytes`` of the unpacked file.
    """

    def __init__(self, file: IO[bytes], path: Path) -> None:
        self.file, self.path = file, path
        self.number = self.bytes = self.foreign = 0
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
        try:
            return raw.decode("utf-8-sig" if self.number == 1 else "utf-8")
        except UnicodeDecodeError:
            self.foreign += 1
            return raw.decode("cp1252", errors="replace")


def open_bytes(path: Path) -> IO[bytes]:
    """The bytes of a file: unpacked where its name ends in ``.gz``, in UTF-8 where it is in UTF-16 with a mark."""
    try:
        file: Any = gzip.GzipFile(path) if path.suffix.lower() == ".gz" else path.open("rb")
        if file.peek(2).startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            with file:
                return io.BytesIO(file.read().decode("utf-16").encode())
    except UnicodeError as error:
        raise DataError(f"{path}: begins as UTF-16 and goes on otherwise ({error}); save the file as UTF-8") from error
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(f"{path}: cannot be opened ({error}); check the path, or copy the file again") from error
    return file  # type: ignore[no-any-return]


class TableRows:
    """The rows of an open table, one at a time, and its header; `smiles` is the column of molecules, if asked for."""

    header: list[str]
    smiles: str | None = None

    def __init__(self, file: IO[bytes], path: Path) -> None:
        self.lines = Lines(file, path)

    def __iter__(self) -> Iterator[TableRow]:
        raise NotImplementedError


class DelimitedRows(TableRows):
    """The rows below a header; blank lines are passed over, rows of empty cells are not.

    Commas, semicolons or tabs, whichever splits the header into most names, separate the cells.
    """

    def __init__(self, file: IO[bytes], path: Path, *, tabs: bool = False) -> None:
        super().__init__(file, path)
        first = next((line for line in self.lines if line.strip()), None)
        if first is None:
            raise DataError(f"{path}: is empty; its first line must name the columns, such as 'smiles,y'")
        try:
            names = {sign: next(csv.reader([first], delimiter=sign)) for sign in DELIMITERS}
        except csv.Error as error:
            raise DataError(
                f"{path}, line 1: {shown(first)} cannot be split into names ({error}); end lines with a line feed"
            ) from error
        self.delimiter = "\t" if tabs else max(DELIMITERS, key=lambda sign: len(names[sign]))
        self.header = [name.strip() for name in names[self.delimiter]]

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
                yield TableRow(start, {}, f"the row is not valid CSV ({error}); quote whole cells only")
                continue
            if cells and not (len(cells) == 1 and cells[0].isspace()):
                yield self._row(start, cells)

    def _row(self, line: int, cells: list[str]) -> TableRow:
        while len(cells) > len(self.header) and not cells[-1].strip():  # as spreadsheets leave them
            cells = cells[:-1]
        if len(cells) == len(self.header):
            return named_row(line, self.header, cells)
        problem = (
            f"the row has {len(cells)} cells, the header {len(self.header)}; quote a cell that holds the delimiter, and"
            " write numbers with a decimal point, not a comma"
        )
        return TableRow(line, {}, problem, tuple(cells))


class SmilesRows(TableRows):
    """One molecule per line; what follows the SMILES after a blank or tab is the column "name".

    Such files have no header. Where the first line begins with the word "smiles" in any case, it is one all the same,
    and names as many columns as it has words, the last of which takes the rest of a line.
    """

    def __init__(self, file: IO[bytes], path: Path) -> None:
        super().__init__(file, path)
        self.header = ["smiles", "name"]
        self._first = next(self.lines, "")
        words = self._first.split()
        if words and words[0].casefold() == "smiles":
            self.header, self._first = words, ""

    def __iter__(self) -> Iterator[TableRow]:
        if self._first.strip():
            yield self._row(self._first)
        for line in self.lines:
            if line.strip():
                yield self._row(line)

    def _row(self, line: str) -> TableRow:
        words = line.strip().split(None, len(self.header) - 1)
        return named_row(self.lines.number, self.header, words + [""] * (len(self.header) - len(words)))


class SdfRows(TableRows):
    """Records as rows: a column "smiles" that RDKit writes from the atoms and bonds, "name", and one per named value.

    The file is read twice, for not every record has every value.
    """

    def __init__(self, file: IO[bytes], path: Path) -> None:
        super().__init__(file, path)
        with open_bytes(path) as whole:
            names = dict.fromkeys(name for _, record in records(Lines(whole, path)) for name in values_of(record))
        if not names and not path.stat().st_size:
            raise DataError(f"{path}: is empty; it must hold a record for each molecule")
        self.header = ["smiles", "name", *(name for name in names if name not in ("smiles", "name"))]

    def __iter__(self) -> Iterator[TableRow]:
        for line, record in records(self.lines):
            smiles, problem = smiles_of("\n".join(record))
            fields = {"name": record[0].strip(), **values_of(record), "smiles": smiles}
            cells = tuple(fields.get(name, "") for name in self.header)
            yield TableRow(line, {}, problem, cells) if problem else named_row(line, self.header, cells)


def records(lines: Lines) -> Iterator[tuple[int, list[str]]]:
    """The lines of each record, and where it starts; what is blank after the last one is none."""
    start = 1
    record: list[str] = []
    for line in chain(lines, [END_OF_RECORD]):
        if line.strip() != END_OF_RECORD:
            record.append(line.rstrip("\r\n"))
            continue
        if any(part.strip() for part in record):
            yield start, record
        start, record = lines.number + 1, []


def values_of(record: list[str]) -> dict[str, str]:
    """The named values of a record; one of several lines is joined by blanks."""
    values: dict[str, list[str]] = {}
    name: str | None = None
    for line in record:
        found = NAMED_VALUE.match(line)
        if found:
            name = found[1].strip()
            values[name] = []
        elif not line.strip():
            name = None
        elif name is not None:
            values[name].append(line.strip())
    return {name: " ".join(parts) for name, parts in values.items()}


def smiles_of(record: str) -> tuple[str, str]:
    """The SMILES of a record's molecule, or why there is none."""
    with rdBase.BlockLogs():
        molecule: Chem.Mol | None = Chem.MolFromMolBlock(record)  # its type stubs forget the None
        if molecule is None:
            reason = chemistry_problems(Chem.MolFromMolBlock(record, sanitize=False))
            return "", f"RDKit rejects the record ({reason or 'its atoms and bonds cannot be read'}); correct it"
    if molecule.GetNumAtoms() == 0:
        return "", "the record has no atoms; correct it or leave it out"
    return Chem.MolToSmiles(molecule), ""


class ParquetRows(TableRows):
    """Rows of a Parquet file as text; a missing value is an empty cell. Needs pyarrow."""

    def __init__(self, file: IO[bytes], path: Path) -> None:
        super().__init__(file, path)
        try:
            from pyarrow import ArrowException, parquet
        except ImportError as error:
            raise DataError(f"{path}: Parquet needs pyarrow; install policylearn[parquet], or save as CSV") from error
        self._broken = (ArrowException, OSError, EOFError)
        try:
            # Unpacked whole where it is gzipped: Parquet is read from its end.
            self._table = parquet.ParquetFile(io.BytesIO(file.read()) if path.suffix.lower() == ".gz" else file)
        except self._broken as error:
            raise DataError(f"{path}: not a readable Parquet file ({error}); write or copy it again") from error
        self.header = [str(name) for name in self._table.schema_arrow.names]

    def __iter__(self) -> Iterator[TableRow]:
        lines, rows, size = self.lines, self._table.metadata.num_rows, self.lines.path.stat().st_size
        try:
            for batch in self._table.iter_batches(4096):
                for values in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                    lines.number += 1
                    lines.bytes = size * lines.number // rows  # the rows' share of the file
                    yield named_row(lines.number, self.header, [as_text(value) for value in values])
        except self._broken as error:
            raise DataError(f"{lines.path}: damaged after row {lines.number} ({error}); copy the file again") from error


def as_text(value: Any) -> str:
    """A value as a cell of a CSV would hold it."""
    if value is None or value != value:  # NaN alone differs from itself
        return ""
    return str(int(value)) if isinstance(value, bool) else str(value)
