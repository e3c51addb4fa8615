"""Where tests find data, how many examples Hypothesis draws, and which tests draw pictures.

Data: the data root that is named, and the small datasets that are committed beside the tests.
Examples: HYPOTHESIS_PROFILE=nightly draws many more; a test that states its own number keeps it.
Pictures: those of pages and examples do; everywhere else they would be more than half the time of a tiny training.
"""

from __future__ import annotations

import atexit
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

COMMITTED = Path(__file__).parent / "data_files"


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


os.environ["POLICYLEARN_DATA"] = str(find_data_root())

settings.register_profile("quick", max_examples=20, deadline=None)
settings.register_profile("nightly", max_examples=500, deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "quick"))


@pytest.fixture(autouse=True, scope="module")
def without_pictures(request: pytest.FixtureRequest) -> Iterator[None]:
    """Trainings that draw nothing, but for the tests of what is drawn."""
    if "policylearn.training.fitting" not in sys.modules or {"explain", "docs"} & {*request.path.parts}:
        yield
        return
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("policylearn.training.fitting.draw_curves", lambda *more: more[-1].write_bytes(b""))
        patch.setattr("policylearn.explain.charts.svg", lambda *_: "<svg></svg>")
        yield
