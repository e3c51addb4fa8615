"""Arrays of a run in safetensors files, with facts about them as text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import msgspec
import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from policylearn.data.atomic import replacing
from policylearn.data.packed import Array
from policylearn.settings.run_files import RunError


def save_arrays(path: Path, arrays: Mapping[str, Array], facts: Mapping[str, str]) -> None:
    """Write a file; it is whole or absent."""
    with replacing(path) as part:
        save_file({name: np.ascontiguousarray(one) for name, one in arrays.items()}, part, metadata=dict(facts))


def read_arrays(path: Path) -> tuple[dict[str, Array], dict[str, str]]:
    """The arrays and facts of a file."""
    with safe_open(path, framework="numpy") as file:
        arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - it is no mapping
        return arrays, file.metadata() or {}


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """A block that reads a file of a run: what is wrong with its content becomes a `RunError` that names it."""
    wrong = (SafetensorError, msgspec.MsgspecError, OSError, KeyError, ValueError, TypeError, AttributeError)
    try:
        yield
    except RunError:
        raise
    except wrong as error:
        raise RunError(f"{path}: cannot be read ({error}); train again or restore the file") from error
