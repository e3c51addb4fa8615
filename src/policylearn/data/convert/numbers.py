"""Tables of numbers without a header, as OGB and TUDataset ship them."""

from __future__ import annotations

import zlib
from pathlib import Path

import numpy as np
import pandas as pd

from policylearn.data.packed import Array, DataError


def read_numbers(path: Path, *, gaps: bool = False) -> Array:
    """A comma-separated table, plain or ``.gz``, ``(rows, columns)``: int64, or float64 with a point or gap.

    Gaps, which are NaN, are refused unless ``gaps`` allows them.
    """
    try:
        table = pd.read_csv(
            path, header=None, skipinitialspace=True, skip_blank_lines=False, encoding="utf-8-sig", low_memory=False,
            float_precision="round_trip",
        )  # fmt: skip
    except FileNotFoundError as error:
        raise DataError(f"{path}: no such file; the folder is not complete: copy or fetch it again") from error
    except pd.errors.EmptyDataError:
        return np.empty((0, 1), dtype=np.int64)
    except (ValueError, OSError, EOFError, zlib.error) as error:
        raise DataError(f"{path}: cannot be read ({error}); correct the file, or copy or fetch it again") from error
    columns = [pd.to_numeric(column, errors="coerce") for _, column in table.items()]
    for (_, column), numbers in zip(table.items(), columns, strict=True):
        wrong = np.flatnonzero(column.notna() & numbers.isna())
        if len(wrong):
            raise DataError(f"{path}, line {wrong[0] + 1}: {str(column[wrong[0]])!r} is no number; correct that cell")
    values = np.stack(columns, axis=1)
    empty = np.flatnonzero(np.isnan(values.astype(np.float64)).any(axis=1))
    if len(empty) and not gaps:
        raise DataError(f"{path}, line {empty[0] + 1}: a number is missing; fill it in or correct the line")
    return values


def read_integers(path: Path, columns: int = 1) -> Array:
    """A table of so many columns of whole numbers, ``(rows, columns)``."""
    table = read_numbers(path)
    whole = (np.trunc(table) == table) & (np.abs(table) < 2.0**63)  # what int64 holds
    wrong = [0] if table.shape[1] != columns else np.flatnonzero(~whole.all(axis=1))
    if table.size and len(wrong):
        raise DataError(f"{path}, line {wrong[0] + 1}: needs {columns} whole numbers (got {table[wrong[0]].tolist()})")
    return table.reshape(-1, columns).astype(np.int64)


def check_rows(path: Path, rows: int, needed: int, of: str) -> None:
    """Raise unless a file has one row for each graph, node or edge."""
    if rows != needed:
        raise DataError(f"{path}: has {rows} rows for {needed} {of}s; give each {of} one row, in order")
