"""``policylearn datasets``."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from policylearn.cli import main
from policylearn.data import CATALOG, load_dataset


def table(capsys: pytest.CaptureFixture[str]) -> tuple[dict[str, str], list[str]]:
    """Rows of the printed table by dataset, and all lines."""
    assert main(["datasets"]) == 0
    lines = capsys.readouterr().out.splitlines()
    rows = {line.split()[0]: line for line in lines if line.split() and line.split()[0] in CATALOG}
    return rows, lines


def test_an_empty_root_lists_everything_as_absent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("POLICYLEARN_DATA", str(tmp_path))
    rows, lines = table(capsys)
    assert rows.keys() == CATALOG.keys()
    assert all(" no " in row and "⚠" not in row for row in rows.values())
    assert "12,000" in rows["zinc"]
    assert "23.2" in rows["zinc"]
    assert rows["ogbg-molhiv"].split()[-2:] == ["no", "OGB"]
    assert rows["exp"].rstrip().endswith("by hand: Abboud et al.")
    assert any("csl-union-N-L" in line for line in lines)


def test_rebuilt_data_carries_a_mark_and_a_footnote(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("POLICYLEARN_DATA", str(tmp_path))
    graphs = load_dataset("csl-13").graphs
    plain, fetched = replace(graphs, extras={}), replace(graphs, extras={"origin": np.array("https://home")})
    plain.save(tmp_path / "zinc12k.npz")
    fetched.save(tmp_path / "ogbg-molhiv.npz")
    fetched.save(tmp_path / "counting-rr-regenerated.npz")
    plain.save(tmp_path / "alchemy.npz")
    rows, lines = table(capsys)
    assert "zinc ⚠" in rows["zinc"]
    assert any(line.startswith("⚠ zinc: train targets and train bond types were rebuilt") for line in lines)
    assert "⚠" not in rows["ogbg-molhiv"], "what comes from its official home is original"
    assert rows["ogbg-molhiv"].rstrip().endswith("OGB")
    assert rows["zinc"].rstrip().endswith("zinc12k.npz")
    assert "counting-rr ⚠" in rows["counting-rr"], "a regenerated file stays one"
    assert "?" not in rows["alchemy"], "sizes that the catalog does not know are read from the file"


def test_a_damaged_file_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("POLICYLEARN_DATA", str(tmp_path))
    (tmp_path / "csl.npz").write_bytes(b"PK\x03\x04 cut")
    assert main(["datasets"]) == 2
    assert f"error: {tmp_path / 'csl.npz'}: not a readable .npz" in capsys.readouterr().err
