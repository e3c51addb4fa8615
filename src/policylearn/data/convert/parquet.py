"""Rows of a ``.parquet`` file."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from policylearn.data.convert.lines import Lines, TableRow
from policylearn.data.packed import DataError


class ParquetReader:
    """Rows of a Parquet file as text; a missing value is an empty cell. Needs pyarrow.

    Args:
        file: the bytes.
        path: names the file in errors.
    """

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
