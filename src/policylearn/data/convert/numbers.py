"""Plain tables of numbers, as OGB and TUDataset ship them, read whole or refused with file, line and value."""

from __future__ import annotations

import gzip
import io
import re
import zlib
from pathlib import Path

import numpy as np

from policylearn.data.molecules import shown
from policylearn.data.packed import Array, DataError

FRACTION_SIGNS = (".", "e", "E", "n", "N")
LARGEST_INTEGER = 2.0**63
LARGEST_FLOAT = float(np.finfo(np.float32).max)
PLAIN = re.compile(r"[0-9,+\-.eE \t\nnaiftyNAIFTY]*")


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
    text = read_text(path).replace("\r\n", "\n").replace("\r", "\n")
    if gaps:
        text = "\n".join(",".join(cell.strip() or "nan" for cell in line.split(",")) for line in lines_of(text))
    if not text.strip():
        return np.empty((0, 0), dtype=np.int64)
    if not PLAIN.fullmatch(text):  # numpy's reader can crash on signs from far outside ASCII
        raise DataError(f"{path}, {first_fault(text)}")
    whole = not any(sign in text for sign in FRACTION_SIGNS)
    try:
        table = np.loadtxt(
            io.StringIO(text), delimiter=",", ndmin=2, comments=None, dtype=np.int64 if whole else np.float64
        )
    except ValueError as error:
        raise DataError(f"{path}, {first_fault(text)}") from error
    if integers and not whole:
        number, line = next(
            (i, row) for i, row in enumerate(lines_of(text), 1) if any(s in row for s in FRACTION_SIGNS)
        )
        raise DataError(f"{path}, line {number}: {shown(line)} must hold whole numbers; correct that line")
    if not whole and (np.abs(table) > LARGEST_FLOAT).any():
        raise DataError(f"{path}, {first_fault(text)}")
    if len(table) != len(lines_of(text)):
        number = next(i for i, line in enumerate(lines_of(text), 1) if not line.strip())
        raise DataError(f"{path}, line {number}: is empty, so later rows would move up; remove or fill the line")
    return table


def lines_of(text: str) -> list[str]:
    """Lines of a file, without the end after the last one."""
    return text.removesuffix("\n").split("\n")


def first_fault(text: str) -> str:
    """Line, value and remedy of the first cell that is no number, line of another width, or number too large."""
    width = None
    for number, line in enumerate(lines_of(text), 1):
        if not line.strip():
            continue
        cells = line.split(",")
        width = width or len(cells)
        for cell in cells:
            if not is_number(cell):
                return f"line {number}: {shown(cell.strip())} is no number; correct that cell"
        if len(cells) != width:
            return f"line {number}: {shown(line)} has {len(cells)} cells, the lines above have {width}; make them equal"
    limit = LARGEST_FLOAT if any(sign in text for sign in FRACTION_SIGNS) else LARGEST_INTEGER
    for number, line in enumerate(lines_of(text), 1):
        for cell in line.split(",") if line.strip() else []:
            if abs(float(cell)) >= limit:
                return f"line {number}: {shown(cell.strip())} is not below {limit:.1e}; write a smaller number"
    return "a cell is no number that numpy reads; write plain numbers such as 1, -2.5 or 3e-4"


def is_number(cell: str) -> bool:
    """Whether a cell spells a number in plain ASCII."""
    try:
        float(cell)
    except ValueError:
        return False
    return PLAIN.fullmatch(cell) is not None


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
