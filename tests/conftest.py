"""Where tests find data, in which order their files run, and how many examples Hypothesis draws.

Data: the data root that is named, and the small datasets that are committed beside the tests.
Examples: HYPOTHESIS_PROFILE=nightly draws many more; a test that states its own number keeps it.
"""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import settings

COMMITTED = Path(__file__).parent / "data_files"
LONGEST = ("training/test_nodes.py", "docs/test_notebooks.py", "docs/test_tutorial.py", "prediction/test_estimators.py")
"""Files of half a minute, which run first: one that comes last lets the other processes wait."""


def find_data_root() -> Path:
    """The named data root, or the committed folder without one; links to both where the named one lacks some files."""
    stated = os.environ.get("POLICYLEARN_DATA")
    named = Path(stated).expanduser() if stated else COMMITTED
    committed = [path.relative_to(COMMITTED) for path in [*COMMITTED.glob("*.npz"), *COMMITTED.glob("official/*")]]
    if named == COMMITTED or all((named / path).exists() for path in committed):
        return named
    both = Path(tempfile.mkdtemp(prefix="policylearn-data-"))
    atexit.register(shutil.rmtree, both, ignore_errors=True)
    for root in (named, COMMITTED):
        for path in [*root.glob("*.npz"), *root.glob("official/*")]:
            link = both / path.relative_to(root)
            link.parent.mkdir(exist_ok=True)
            if not link.exists():
                link.symlink_to(path.resolve())
    return both


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: not item.path.as_posix().endswith(LONGEST))


os.environ["POLICYLEARN_DATA"] = str(find_data_root())

settings.register_profile("quick", max_examples=20, deadline=None)
settings.register_profile("nightly", max_examples=500, deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "quick"))
