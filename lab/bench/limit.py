"""The limit of the machine: the matrix multiplications of our own passes and nothing else."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

PRODUCTS = ("mm", "addmm", "addmm_", "bmm", "baddbmm", "baddbmm_")
"""Torch's dense products; their last two arguments are the factors."""


@dataclass(frozen=True)
class Gemm:
    """One product of a ``(rows, inner)`` and an ``(inner, columns)`` matrix.

    Args:
        rows: of the left factor.
        inner: what is summed over.
        columns: of the right factor.
        left_transposed: the left factor lies in memory by columns.
        right_transposed: likewise the right factor.
    """

    rows: int
    inner: int
    columns: int
    left_transposed: bool = False
    right_transposed: bool = False

    @property
    def flops(self) -> int:
        """Multiplications and additions."""
        return 2 * self.rows * self.inner * self.columns


class GemmRecorder(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Writes down every dense product that runs within its block, those of a backward pass included.

    What autograd leaves out, such as the gradient of an input that needs none, is left out here too.
    """

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.gemms: list[Gemm] = []

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Sequence[Any] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        name = func.overloadpacket.__name__
        if name in PRODUCTS:
            self._note(*args[-2:])
        elif name == "linear":
            self._note(args[0].reshape(-1, args[0].shape[-1]), args[1].t())
        return func(*args, **(kwargs or {}))

    def _note(self, left: Tensor, right: Tensor) -> None:
        if left.layout != torch.strided or right.layout != torch.strided:
            return  # a sum over neighbours, not a dense product
        rows, inner = left.shape[-2:]
        gemm = Gemm(rows, inner, right.shape[-1], _by_columns(left), _by_columns(right))
        self.gemms += [gemm] * (left.shape[0] if left.dim() == 3 else 1)


def _by_columns(matrix: Tensor) -> bool:
    return matrix.stride(-2) == 1 and matrix.stride(-1) != 1


def record_gemms(step: Callable[[], None]) -> list[Gemm]:
    """The dense products of one run of ``step``, in order.

    Args:
        step: of a model that is not accelerated: compiled loops call their products themselves, where nobody sees them,
            and leave out what a mark cannot reach.
    """
    recorder = GemmRecorder()
    with recorder:
        step()
    return recorder.gemms


class GemmReplay:
    """Runs lists of products on random numbers that lie ready; the result of each overwrites that of the one before.

    Args:
        lists: by key, such as one list per batch.
        generator: where the numbers are drawn from.
    """

    def __init__(self, lists: dict[int, list[Gemm]], generator: torch.Generator) -> None:
        every = [gemm for gemms in lists.values() for gemm in gemms]
        left = torch.randn(max((g.rows * g.inner for g in every), default=0), generator=generator)
        right = torch.randn(max((g.inner * g.columns for g in every), default=0), generator=generator)
        out = torch.empty(max((g.rows * g.columns for g in every), default=0))
        self.products = {
            key: [
                (
                    _matrix(left, g.rows, g.inner, g.left_transposed),
                    _matrix(right, g.inner, g.columns, g.right_transposed),
                    _matrix(out, g.rows, g.columns, False),
                )
                for g in gemms
            ]
            for key, gemms in lists.items()
        }

    def __call__(self, key: int) -> None:
        """Run the products of one list."""
        for left, right, out in self.products[key]:
            torch.mm(left, right, out=out)


def _matrix(numbers: Tensor, rows: int, columns: int, transposed: bool) -> Tensor:
    flat = numbers[: rows * columns]
    return flat.view(columns, rows).t() if transposed else flat.view(rows, columns)
