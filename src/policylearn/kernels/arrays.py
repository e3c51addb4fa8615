"""Tensors as the arrays that compiled loops take; nothing is copied unless a tensor has gaps."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor


def as_array(tensor: Tensor) -> Any:
    """The tensor's numbers, without gradient."""
    return tensor.detach().contiguous().numpy()


DTYPES: dict[torch.dtype, Any] = {torch.float32: np.float32, torch.float64: np.float64}
"""What the compiled loops know."""


def as_number(scalar: Tensor, like: Tensor) -> Any:
    """A tensor of one number as a scalar in the precision of another."""
    return DTYPES[like.dtype](scalar.item())


def empty_rows(rows: int, width: int, like: Tensor) -> Tensor:
    """Room for rows, ``(rows, width)``; numpy asks for large pages, which large arrays are filled much faster with."""
    return torch.from_numpy(np.empty((rows, width), dtype=DTYPES[like.dtype]))


def zero_rows(rows: int, width: int, like: Tensor) -> Tensor:
    """Rows of zeros, ``(rows, width)``, which take memory only where something else is written."""
    return torch.from_numpy(np.zeros((rows, width), dtype=DTYPES[like.dtype]))


def rows_or_none(rows: Tensor | None, like: Tensor) -> Any:
    """The rows, or an array without rows and columns: compiled loops take no None."""
    return np.empty((0, 0), dtype=DTYPES[like.dtype]) if rows is None else as_array(rows)
