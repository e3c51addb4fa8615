"""Whose matrix products the compiled loops call.

A loop that leaves for torch between two products has to take Python's lock each time, and two threads then wait for
each other. So products are called where the loop is: torch's own BLAS where it shows one, else that of SciPy.
"""

from __future__ import annotations

import ctypes
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import torch


@cache
def product_source() -> str:
    """Whose products are used: `torch` or `scipy`."""
    return "scipy" if _of_torch("sgemm_") is None else "torch"


@cache
def product_address(dtype: Any) -> int:
    """Where the product of matrices of that precision lies in memory."""
    from numba.extending import get_cython_function_address

    name = {"float32": "sgemm", "float64": "dgemm"}[np.dtype(dtype).name]
    found = _of_torch(f"{name}_")
    return get_cython_function_address("scipy.linalg.cython_blas", name) if found is None else found


def _of_torch(symbol: str) -> int | None:
    """The address of a function of torch's main library; builds with another BLAS do not have these."""
    for path in sorted((Path(torch.__file__).parent / "lib").glob("libtorch_cpu.*")):
        try:
            return ctypes.cast(getattr(ctypes.CDLL(str(path)), symbol), ctypes.c_void_p).value
        except (AttributeError, OSError):
            return None
    return None
