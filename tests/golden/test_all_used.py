"""No golden case lies unused: every file in the folder of systems is claimed by the tests of its page."""

from __future__ import annotations

from tests.golden import test_ak_sswl_nested_reconstruction, test_cells_counts_encodings, test_osan_esan_sun
from tests.golden.location import GOLDEN

PAGES = (test_ak_sswl_nested_reconstruction, test_cells_counts_encodings, test_osan_esan_sun)


def test_every_case_belongs_to_one_page() -> None:
    claimed = [path.name for page in PAGES for path in page.CASES]
    there = [path.name for path in (GOLDEN / "systems").glob("*.npz")]
    assert there, f"no cases in {GOLDEN / 'systems'}"
    assert sorted(claimed) == sorted(there)
