"""Foreign pickles of plain numbers, read without letting them run anything."""

from __future__ import annotations

import copyreg
import io
import pickle
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from policylearn.data.packed import DataError


def read_plain_pickle(path: Path) -> Any:
    """Read a pickle that holds containers, numbers, numpy arrays, scipy's sparse matrices and torch tensors only.

    Tensors come as `StoredTensor`.

    ZINC and CSL are published as pickles, and ``pickle.load`` would run whatever code such a file names. This reader
    refuses every name outside a short list.
    """
    try:
        with path.open("rb") as file:
            return _PlainUnpickler(file, encoding="latin1").load()
    except (pickle.UnpicklingError, EOFError, AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        raise DataError(
            f"{path}: not a pickle of plain numbers ({error}); it may be truncated or foreign: fetch the archive again"
        ) from error


class _PlainUnpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        allowed = _allowed().get((module, name))
        if allowed is None:
            raise pickle.UnpicklingError(f"it asks for {module}.{name}, which is not on the list of plain values")
        return allowed


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


def _keep_bytes(raw: bytes) -> bytes:
    return raw


def _stored_tensor(raw: bytes, offset: int, size: tuple[int, ...], stride: tuple[int, ...], *_: Any) -> StoredTensor:
    return StoredTensor(raw, offset, size, stride)


@cache
def _allowed() -> dict[tuple[str, str], Callable[..., Any]]:
    from scipy.sparse import coo_matrix

    # Through getattr, because numpy 1 and 2 keep them in modules of different names.
    reduced: Any = np.zeros(1).__reduce__()
    scalar: Any = np.float64(0).__reduce__()
    names: dict[tuple[str, str], Callable[..., Any]] = {
        ("collections", "OrderedDict"): OrderedDict,
        ("numpy", "ndarray"): np.ndarray,
        ("numpy", "dtype"): np.dtype,
        ("copy_reg", "_reconstructor"): getattr(copyreg, "_reconstructor"),  # noqa: B009
        ("copyreg", "_reconstructor"): getattr(copyreg, "_reconstructor"),  # noqa: B009
        ("__builtin__", "object"): object,
        ("builtins", "object"): object,
        ("torch._utils", "_rebuild_tensor_v2"): _stored_tensor,
        ("torch.storage", "_load_from_bytes"): _keep_bytes,
        ("_codecs", "encode"): _encode,
    }
    for package in ("numpy.core.multiarray", "numpy._core.multiarray"):
        names[package, "_reconstruct"] = reduced[0]
        names[package, "scalar"] = scalar[0]
    for package in ("scipy.sparse.coo", "scipy.sparse._coo"):
        names[package, "coo_matrix"] = coo_matrix
    return names


def _encode(text: str, encoding: str) -> bytes:
    return text.encode(encoding)
