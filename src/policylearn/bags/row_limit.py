"""How many rows are too many, said before they are allocated."""

from __future__ import annotations

MAX_ROWS = 1 << 20
"""Rows that a system which holds its bag whole takes per batch unless told otherwise."""


class RowLimitError(ValueError):
    """A batch has more rows than are allowed."""


def check_rows(rows: int, max_rows: int, channels: int) -> None:
    """Raise a `RowLimitError` where a batch needs more rows than are allowed, before they are allocated.

    Args:
        rows: one per node and copy.
        max_rows: the limit.
        channels: C, to say what one layer's states take.
    """
    if rows > max_rows:
        gigabytes = rows * channels * 4 / 1e9
        raise RowLimitError(
            f"the copies of this batch have {rows:,} rows (one per node and copy), {gigabytes:.3g} GB for the states of"
            f" each layer in single precision, but 'max_rows' is {max_rows:,}; use smaller batches, raise 'max_rows',"
            " or choose a model that looks at few copies"
        )
