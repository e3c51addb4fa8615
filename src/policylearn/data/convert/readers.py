"""Rows of files of every kind that holds molecules: CSV and TSV, ``.smi``, ``.sdf`` and Parquet."""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import re
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise, starmap
from pathlib import Path
from typing import IO, Any, Protocol, cast

from rdkit import Chem, rdBase

from policylearn.data.molecules import shown
from policylearn.data.packed import DataError

DELIMITERS = (",", "\t", ";")
END_OF_RECORD = "$$$$"
NAMED_VALUE = re.compile(r">.*?<(.+?)>")


@dataclass(frozen=True)
class TableRow:
    """One row of a table.

    Args:
        line: where the row starts in the file; the header is line 1. (Parquet: the number of the row.)
        fields: the text of each named column, without blanks around it; empty where the row cannot be read.
        problem: why the row cannot be read; empty where it can.
        cells: the row as it stands in the file, as far as it can be told.
    """

    line: int
    fields: Mapping[str, str]
    problem: str = ""
    cells: tuple[str, ...] = ()


class Reader(Protocol):
    """Rows of a file of any kind, one at a time."""

    header: list[str]
    """The names of the columns."""

    lines: Lines
    """How many bytes and foreign lines were read."""

    def __iter__(self) -> Iterator[TableRow]:
        """The rows, as long as the file is open."""
        ...


class Lines:
    """The lines of a file as text, counted.

    UTF-8, with or without a mark, and UTF-16 with one are known by themselves. A line that is not UTF-8 is read as
    Windows-1252, which spreadsheets write: a foreign letter in one column must not cost the row.
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
            if self.number == 0 and raw.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
                self.file = self._from_utf16(raw)
                raw = self.file.readline()
        except (gzip.BadGzipFile, zlib.error, EOFError) as error:
            raise DataError(f"{self.path}: damaged after line {self.number} ({error}); copy the file again") from error
        if not raw:
            self.ended = True
            raise StopIteration
        self.number += 1
        self.bytes += len(raw)
        return self._decoded(raw)

    def _decoded(self, raw: bytes) -> str:
        try:
            return raw.decode("utf-8-sig" if self.number == 1 else "utf-8")
        except UnicodeDecodeError:
            self.foreign += 1
        try:
            return raw.decode("cp1252")
        except UnicodeDecodeError:  # five bytes have no meaning there
            return raw.decode("latin-1")

    def _from_utf16(self, raw: bytes) -> IO[bytes]:
        try:
            return io.BytesIO((raw + self.file.read()).decode("utf-16").encode("utf-8"))
        except UnicodeError as error:
            raise DataError(
                f"{self.path}: begins as UTF-16 and continues as something else ({error}); save the file as UTF-8"
                " (in a spreadsheet: 'CSV UTF-8')"
            ) from error


def opened(path: Path) -> IO[bytes]:
    """The bytes of a file, unpacked where its name ends in ``.gz``."""
    try:
        if path.suffix.lower() == ".gz":
            return cast(IO[bytes], gzip.open(path))
        return path.open("rb")
    except OSError as error:
        raise DataError(f"{path}: cannot be opened ({error.strerror}); check the path") from error


class DelimitedReader:
    """The rows below a header, read one at a time; blank lines are passed over, rows of empty cells are not.

    Commas, semicolons or tabs, whichever splits the header into most names, separate the cells.
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


class SmilesFileReader:
    """One molecule per line; what follows the SMILES after a blank or tab is the column "name".

    Such files have no header. Where the first line begins with the word "smiles" in any case, it is one all the same,
    and names as many columns as it has words, the last of which takes the rest of a line.
    """

    def __init__(self, file: IO[bytes], path: Path) -> None:
        self.lines = Lines(file, path)
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
        words = [word.strip() for word in line.strip().split(None, len(self.header) - 1)]
        cells = tuple(words + [""] * (len(self.header) - len(words)))
        return TableRow(self.lines.number, dict(zip(self.header, cells, strict=True)), cells=cells)


class SdfReader:
    """Records as rows: a column "smiles" that RDKit writes from the atoms and bonds, "name", and one per named value.

    The file is read twice, for not every record has every value.
    """

    def __init__(self, file: IO[bytes], path: Path) -> None:
        names: dict[str, None] = {}
        with opened(path) as whole:
            for _, record in records(Lines(whole, path)):
                names |= dict.fromkeys(values_of(record))
        if not names and not path.stat().st_size:
            raise DataError(f"{path}: is empty; it must hold a record for each molecule")
        self.header = ["smiles", "name", *(name for name in names if name not in ("smiles", "name"))]
        self.lines = Lines(file, path)

    def __iter__(self) -> Iterator[TableRow]:
        for line, record in records(self.lines):
            values = values_of(record)
            smiles, problem = smiles_of(record)
            fields = {"name": record[0].strip(), **values, "smiles": smiles}
            cells = tuple(fields.get(name, "") for name in self.header)
            yield TableRow(line, {} if problem else dict(zip(self.header, cells, strict=True)), problem, cells)


def records(lines: Lines) -> Iterator[tuple[int, list[str]]]:
    """The lines of each record, and where it starts; what is blank after the last one is none."""
    start = 1
    record: list[str] = []
    for line in lines:
        text = line.rstrip("\r\n")
        if text.strip() == END_OF_RECORD:
            if any(part.strip() for part in record):
                yield start, record
            start, record = lines.number + 1, []
        else:
            record.append(text)
    if any(part.strip() for part in record):
        yield start, record


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


@contextmanager
def without_warnings() -> Iterator[None]:
    """What RDKit says below an error goes to the terminal, past any capture: turn it off, if it is on."""
    enabled = "rdApp.warning:enabled" in rdBase.LogStatus()
    rdBase.DisableLog("rdApp.warning")
    try:
        yield
    finally:
        if enabled:
            rdBase.EnableLog("rdApp.warning")


def smiles_of(record: list[str]) -> tuple[str, str]:
    """The SMILES of a record's molecule, or why there is none."""
    capture = getattr(rdBase, "CaptureErrorLog", None)
    with without_warnings(), capture() if capture else rdBase.BlockLogs() as log:
        molecule: Chem.Mol | None = Chem.MolFromMolBlock("\n".join(record))  # its type stubs forget the None
    if molecule is None:
        words = re.sub(r"\[[\d:]+\]|\*+", "", log.messages if capture else "").split()
        reason = " ".join(words) or "its atoms and bonds cannot be read"
        return "", f"RDKit rejects the record ({reason}); correct it or leave it out"
    if molecule.GetNumAtoms() == 0:
        return "", "the record has no atoms; correct it or leave it out"
    return Chem.MolToSmiles(molecule), ""


class ParquetReader:
    """Rows of a Parquet file as text; a missing value is an empty cell. Needs pyarrow."""

    def __init__(self, file: IO[bytes], path: Path) -> None:
        try:
            import pyarrow
            from pyarrow import parquet
        except ImportError as error:
            raise DataError(
                f"{path}: reading Parquet needs pyarrow, which is not installed; install policylearn[parquet], or save"
                " the table as CSV"
            ) from error
        try:
            # Unpacked whole where it is gzipped: Parquet is read from its end.
            content = file if path.suffix.lower() != ".gz" else io.BytesIO(file.read())
            self._table = parquet.ParquetFile(content)
        except (pyarrow.ArrowException, OSError, EOFError) as error:
            raise DataError(f"{path}: not a readable Parquet file ({error}); write or copy it again") from error
        self.header = [str(name) for name in self._table.schema_arrow.names]
        self.lines = Lines(file, path)  # reads nothing here: what was read is the rows' share of the file
        self._rows, self._size, self._done = int(self._table.metadata.num_rows), path.stat().st_size, 0
        self._broken, self._path = pyarrow.ArrowException, path

    def __iter__(self) -> Iterator[TableRow]:
        try:
            for batch in self._table.iter_batches(4096):
                for values in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                    self._done += 1
                    self.lines.bytes = self._size * self._done // max(self._rows, 1)
                    cells = tuple(map(as_text, values))
                    fields = {name: cell.strip() for name, cell in zip(self.header, cells, strict=True)}
                    yield TableRow(self._done, fields, cells=cells)
        except (self._broken, OSError) as error:
            raise DataError(
                f"{self._path}: damaged after row {self._done} ({error}); write or copy the file again"
            ) from error


def as_text(value: Any) -> str:
    """A value as a cell of a CSV would hold it."""
    if value is None or value != value:  # NaN alone differs from itself
        return ""
    return str(int(value)) if isinstance(value, bool) else str(value)
