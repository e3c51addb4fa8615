"""Foreign pickles of plain numbers, read without letting them run anything."""

from __future__ import annotations

import io
import pickle
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from policylearn.data.packed import DataError

ARRAYS = ("numpy.core.multiarray", "numpy._core.multiarray")
PLAIN = {
    ("collections", "OrderedDict"), ("numpy", "ndarray"), ("numpy", "dtype"), ("_codecs", "encode"),
    *((module, name) for module in ARRAYS for name in ("_reconstruct", "scalar")),
    *((module, "_reconstructor") for module in ("copy_reg", "copyreg")),
    *((module, "object") for module in ("__builtin__", "builtins")),
    *((module, "coo_matrix") for module in ("scipy.sparse.coo", "scipy.sparse._coo")),
}  # fmt: skip
"""What such a pickle may ask for, by module and name."""


def read_plain_pickle(path: Path) -> Any:
    """Read a pickle that holds containers, numbers, numpy arrays, scipy's sparse matrices and torch tensors only.

    Tensors come as `StoredTensor`. ZINC and CSL are published as pickles, and ``pickle.load`` would run whatever code
    such a file names. This reader refuses every name outside a short list.
    """
    try:
        with path.open("rb") as file, warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # old names of numpy's and scipy's modules
            return _PlainUnpickler(file, encoding="latin1").load()
    except (pickle.UnpicklingError, EOFError, AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        raise DataError(
            f"{path}: not a pickle of plain numbers ({error}); it may be truncated or foreign: fetch the archive again"
        ) from error


class _PlainUnpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if (module, name) == ("torch._utils", "_rebuild_tensor_v2"):
            return lambda raw, offset, size, stride, *_: StoredTensor(raw, offset, size, stride)
        if (module, name) == ("torch.storage", "_load_from_bytes"):
            return bytes
        if (module, name) not in PLAIN:
            raise pickle.UnpicklingError(f"it asks for {module}.{name}, which is not on the list of plain values")
        return super().find_class(module, name)


@dataclass(frozen=True)
class StoredTensor:
    """A tensor that stays bytes until it is asked for: of ZINC's 250,000 molecules 12,000 are wanted."""

    raw: bytes
    offset: int
    size: tuple[int, ...]
    stride: tuple[int, ...]

    def load(self) -> Tensor:
        """The tensor itself."""
        storage = torch.load(io.BytesIO(self.raw), weights_only=True)
        flat = torch.empty(0, dtype=storage.dtype).set_(storage)
        return flat.as_strided(self.size, self.stride, self.offset).clone()
