"""Errors are told apart by their type and by what they name, not by their sentences."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest


@contextmanager
def raises_naming(
    kind: type[BaseException] | tuple[type[BaseException], ...], *names: str
) -> Iterator[pytest.ExceptionInfo[BaseException]]:
    """Expects an error of this kind whose message holds each of these names or values."""
    with pytest.raises(kind) as error:
        yield error
    missing = [name for name in names if name not in str(error.value)]
    assert not missing, f"{error.value!r} does not name {', '.join(missing)}"
