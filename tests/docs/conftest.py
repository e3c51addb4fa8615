"""What the pages register and set is forgotten after them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

import policylearn.models.systems  # noqa: F401 - filled before it is kept
from policylearn.data import CATALOG
from policylearn.data.transforms import TRANSFORMS
from policylearn.models import SYSTEMS


@pytest.fixture(autouse=True)
def kept_registries(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The registries of datasets, transforms and systems and the environment as they were; a cache of its own."""
    kept = [(registry, dict(registry)) for registry in (CATALOG, TRANSFORMS, SYSTEMS)]
    environment = dict(os.environ)
    cache: Path = tmp_path_factory.mktemp("cache")
    os.environ["XDG_CACHE_HOME"] = str(cache)
    yield
    os.environ.clear()
    os.environ.update(environment)
    for registry, before in kept:
        registry.clear()
        registry.update(before)  # type: ignore[arg-type]
