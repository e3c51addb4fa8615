"""Counts the times that a tensor's values are wanted on the host, each of which would make a GPU wait."""

from __future__ import annotations

import traceback
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

SOURCES = str(Path(__file__).parents[2] / "src")
READS = {
    torch.ops.aten._local_scalar_dense.default: "item",
    torch.ops.aten.is_nonzero.default: "bool",
    torch.ops.aten.equal.default: "equal",
    torch.ops.aten.nonzero.default: "nonzero",
    torch.ops.aten.bincount.default: "bincount",
    torch.ops.aten.masked_select.default: "masked_select",
    torch.ops.aten._unique2.default: "unique",
    torch.ops.aten.unique_consecutive.default: "unique_consecutive",
    torch.ops.aten.repeat_interleave.Tensor: "repeat_interleave without a size",
}
"""What comes to PyTorch's dispatcher: a number, or a shape that hangs on values."""
INDEXING = (
    torch.ops.aten.index.Tensor, torch.ops.aten.index_put.default, torch.ops.aten.index_put_.default,
    torch.ops.aten._index_put_impl_.default,
)  # fmt: skip
"""A mask as an index is a search for its true entries."""
METHODS = {Tensor.tolist: "tolist", Tensor.numpy: "numpy", Tensor.cpu: "cpu"}
"""What a CPU tensor answers without the dispatcher."""


class HostReads(TorchDispatchMode):
    """Notes each read, with the line of ours that caused it."""

    def __init__(self) -> None:
        super().__init__()
        self.reads: Counter[str] = Counter()
        self.functions = _Functions(self)

    def __enter__(self) -> HostReads:
        self.functions.__enter__()
        super().__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        super().__exit__(*error)
        self.functions.__exit__(*error)

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        words = dict(kwargs or {})
        if func in INDEXING and any(one is not None and one.dtype == torch.bool for one in args[1]):
            self.note("mask")
        if func in READS and words.get("output_size") is None:
            self.note(READS[func])
        return func(*args, **words)

    def note(self, what: str) -> None:
        ours = [frame for frame in traceback.extract_stack() if frame.filename.startswith(SOURCES)]
        where = f"{Path(ours[-1].filename).relative_to(SOURCES)}:{ours[-1].lineno}" if ours else "elsewhere"
        self.reads[f"{where} {what}"] += 1

    @property
    def total(self) -> int:
        return sum(self.reads.values())


class _Functions(TorchFunctionMode):
    def __init__(self, owner: HostReads) -> None:
        super().__init__()
        self.owner = owner

    def __torch_function__(
        self, func: Any, types: Any, args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        if func in METHODS:
            self.owner.note(METHODS[func])
        return func(*args, **(kwargs or {}))
