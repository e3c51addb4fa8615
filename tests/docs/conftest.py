"""What the pages register and set is forgotten after them."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator

import pytest

from policylearn.bags import RULES
from policylearn.cli.registry import VERBS
from policylearn.data import CATALOG
from policylearn.data.transforms import TRANSFORMS
from policylearn.models import SYSTEMS
from policylearn.policies import ESTIMATORS, POLICIES
from policylearn.registry import IMPORTED, Registry


@pytest.fixture(autouse=True)
def kept_registries(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The registries and the environment as they were; a cache of its own."""
    registries = (CATALOG, TRANSFORMS, SYSTEMS, POLICIES, ESTIMATORS, RULES, VERBS)
    kept = [(registry, dict(registry)) for registry in registries]
    environment = dict(os.environ)
    os.environ["XDG_CACHE_HOME"] = str(tmp_path_factory.mktemp("cache"))
    yield
    os.environ.clear()
    os.environ.update(environment)
    for registry, before in kept:
        things = registry._things if isinstance(registry, Registry) else registry
        things.clear()
        things.update(before)
    IMPORTED.clear()
    for name in [name for name in sys.modules if name.startswith("policylearn_plugin_")]:
        del sys.modules[name]
