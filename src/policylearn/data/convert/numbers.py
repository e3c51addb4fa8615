"""Plain tables of numbers, as OGB and TUDataset ship them, read whole or refused with file, line and value."""

from __future__ import annotations

import gzip
import re
import zlib
from array import array
from pathlib import Path

import numpy as np

from policylearn.data.molecules import shown
from policylearn.data.packed import Array, DataError

NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|nan|inf", re.ASCII)
LARGEST_INTEGER, LARGEST_FLOAT = 2.0**53, float(np.finfo(np.float32).max)


def read_text(path: Path) -> str:
    """The text of a file, plain or ``.gz``."""
    try:
        raw = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
        return raw.decode("utf-8-sig")
    except FileNotFoundError as error:
        raise DataError(f"{path}: no such file; the folder is not complete: copy or fetch it again") from error
    except (gzip.BadGzipFile, zlib.error, EOFError, UnicodeDecodeError, OSError) as error:
        raise DataError(f"{path}: cannot be read ({error}); the file is damaged: copy or fetch it again") from error


def read_numbers(path: Path, *, integers: bool = False, gaps: bool = False) -> Array:
    """A comma-separated table of numbers without a header.

    Args:
        path: the file, plain or ``.gz``.
        integers: demand whole numbers.
        gaps: an empty cell is a missing value (NaN).

    Shapes:
        ``(rows, columns)``; int64 where the file holds nothing but whole numbers, else float64 within
        the range of single precision.
    """
    values, width, whole = array("d"), 0, True
    text = read_text(path).replace("\r\n", "\n").replace("\r", "\n")
    lines = text.removesuffix("\n").split("\n") if text.strip() else []
    for number, line in enumerate(lines, 1):
        place = f"{path}, line {number}"
        cells = [cell.strip().lower() for cell in line.split(",")]
        if gaps:
            cells = [cell or "nan" for cell in cells]
        elif not line.strip():
            raise DataError(f"{place}: is empty, so later rows would move up; remove or fill the line")
        for cell in cells:
            if not NUMBER.fullmatch(cell):
                raise DataError(f"{place}: {shown(cell)} is no number; correct that cell")
        width = width or len(cells)
        if len(cells) != width:
            raise DataError(
                f"{place}: {shown(line)} has {len(cells)} cells, the lines above have {width}; make them equal"
            )
        row = [float(cell) for cell in cells]
        whole = whole and all(cell.lstrip("+-").isdigit() for cell in cells)
        if integers and not whole:
            raise DataError(f"{place}: {shown(line)} must hold whole numbers; correct that line")
        limit = LARGEST_INTEGER if whole else LARGEST_FLOAT
        if max(map(abs, row)) >= limit:
            raise DataError(f"{place}: {shown(line.strip())} is not below {limit:.1e}; write a smaller number")
        values.extend(row)
    table = np.array(values).reshape(-1, max(width, 1))
    return table.astype(np.int64) if whole else table


def read_column(path: Path, *, integers: bool = True) -> Array:
    """A file with one number per line, ``(rows,)``."""
    table = read_numbers(path, integers=integers)
    if table.size and table.shape[1] != 1:
        raise DataError(f"{path}, line 1: has {table.shape[1]} numbers where one belongs; keep one per line")
    return table.reshape(-1)


def read_pairs(path: Path) -> Array:
    """A file with one edge per line, two node ids, as ``(2, edges)``."""
    table = read_numbers(path, integers=True)
    if table.size and table.shape[1] != 2:
        raise DataError(f"{path}, line 1: has {table.shape[1]} numbers; an edge is two node ids: keep two per line")
    return table.reshape(-1, 2).T
