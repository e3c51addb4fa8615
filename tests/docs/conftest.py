"""What the pages register is forgotten after them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from policylearn.data import CATALOG
from policylearn.data.transforms import TRANSFORMS


@pytest.fixture(autouse=True)
def kept_registries() -> Iterator[None]:
    """The registries of datasets and transforms as they were."""
    kept = [(registry, dict(registry)) for registry in (CATALOG, TRANSFORMS)]
    yield
    for registry, before in kept:
        registry.clear()
        registry.update(before)  # type: ignore[arg-type]
