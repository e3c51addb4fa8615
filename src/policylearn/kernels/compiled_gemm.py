"""Matrix products from within compiled loops.

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
from llvmlite import ir
from numba import njit, types
from numba.extending import get_cython_function_address, intrinsic


@cache
def gemm_source() -> str:
    """Whose products are used: `torch` or `scipy`."""
    return "scipy" if _of_torch("sgemm_") is None else "torch"


@cache
def gemm_address(dtype: Any) -> int:
    """Where the product of matrices of that precision lies in memory."""
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


@intrinsic
def call_gemm(typing_context, address, arguments):  # type: ignore[no-untyped-def]
    """Call the Fortran function at an address with 13 pointers, given as integers."""

    def generate(context, builder, signature, values):  # type: ignore[no-untyped-def]
        pointer = ir.IntType(8).as_pointer()
        function = ir.FunctionType(ir.VoidType(), [pointer] * 13)
        target = builder.inttoptr(values[0], function.as_pointer())
        places = [builder.extract_value(values[1], i) for i in range(13)]
        builder.call(target, [builder.inttoptr(place, pointer) for place in places])
        return context.get_dummy_value()

    return types.void(address, arguments), generate


@njit(nogil=True, cache=True, error_model="numpy")
def product(address, a, a_turned, b, b_turned, out, add):  # type: ignore[no-untyped-def]
    """``out = a @ b``, or added to it; a factor is transposed where it is ``turned``. All lie in memory by rows."""
    rows, columns = out.shape
    inner = a.shape[0] if a_turned else a.shape[1]
    # Fortran reads matrices by columns, so it sees all of them transposed: out' = b' @ a'.
    letters = np.array([84 if b_turned else 78, 84 if a_turned else 78], np.int8)  # T or N
    sizes = np.array([columns, rows, inner, b.shape[1], a.shape[1], columns], np.int32)
    factors = np.array([1, 1 if add else 0], out.dtype)
    letter, size, factor = letters.ctypes.data, sizes.ctypes.data, factors.ctypes.data
    number = factors.itemsize
    call_gemm(
        address,
        (
            letter, letter + np.uintp(1), size, size + np.uintp(4), size + np.uintp(8), factor, b.ctypes.data,
            size + np.uintp(12), a.ctypes.data, size + np.uintp(16), factor + np.uintp(number), out.ctypes.data,
            size + np.uintp(20),
        ),
    )  # fmt: skip
    # The addresses alone do not keep the numbers behind them.
    letters[0] = sizes[0] = 0
    factors[0] = 0
