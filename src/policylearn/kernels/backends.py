"""Which implementation of the sums is used."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from typing import Literal, get_args

from torch import Tensor

Backend = Literal["auto", "compiled", "torch"]
VARIABLE = "POLICYLEARN_KERNELS"

_chosen: ContextVar[Backend | None] = ContextVar("policylearn_kernels", default=None)


@contextmanager
def use_kernels(backend: Backend) -> Iterator[None]:
    """Choose the implementation within a block: `compiled` (CPU, numba), `torch` (everywhere) or `auto`."""
    token = _chosen.set(_known(backend))
    try:
        yield
    finally:
        _chosen.reset(token)


def wanted_backend() -> Backend:
    """What was asked for: by `use_kernels`, by the environment variable, else `auto`."""
    chosen = _chosen.get()
    return chosen if chosen is not None else _known(os.environ.get(VARIABLE, "auto"))


def use_compiled(rows: Tensor) -> bool:
    """Whether the compiled sums serve this tensor: it is on the CPU and in a precision that they know."""
    backend = wanted_backend()
    if backend == "torch":
        return False
    fits = rows.device.type == "cpu" and str(rows.dtype) in ("torch.float32", "torch.float64")
    if backend == "compiled" and not (fits and has_numba()):
        raise RuntimeError(
            f"the compiled kernels need numba and float32 or float64 on the CPU (got {rows.dtype} on {rows.device});"
            f" use {VARIABLE}=auto"
        )
    return fits and has_numba()


@cache
def has_numba() -> bool:
    """Whether numba can be imported here; it has no build for some machines."""
    try:
        import numba  # noqa: F401
    except ImportError:
        return False
    return True


def product_source() -> str:
    """Whose matrix products the compiled loops call."""
    from policylearn.kernels.compiled_gemm import gemm_source

    return gemm_source()


def _known(name: str) -> Backend:
    for backend in get_args(Backend):
        if name == backend:
            return backend  # type: ignore[no-any-return]
    raise ValueError(f"kernels must be one of {', '.join(get_args(Backend))} (got '{name}'); check {VARIABLE}")
