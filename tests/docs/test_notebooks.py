"""The notebooks run, and print what is stored in them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lab.notebooks import FOLDER, printed_text, run_notebook


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.ipynb")), ids=lambda path: path.stem)
def test_a_notebook_runs(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "110")
    stored = json.loads(path.read_text(encoding="utf-8"))
    done = run_notebook(stored)
    assert printed_text(done) == printed_text(stored), "run 'make notebooks'"
    kinds = [[sorted(out.get("data", ())) for out in cell.get("outputs", ())] for cell in done["cells"]]
    assert kinds == [[sorted(out.get("data", ())) for out in cell.get("outputs", ())] for cell in stored["cells"]]
    assert path.stat().st_size < 200_000
