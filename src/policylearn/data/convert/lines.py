"""Lines of a text file, counted and decoded whatever their encoding, and the rows that readers make of them."""

from __future__ import annotations

import codecs
import gzip
import io
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Protocol, cast

from policylearn.data.packed import DataError


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
