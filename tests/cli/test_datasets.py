"""``policylearn datasets`` and ``policylearn datasets show``."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from policylearn.cli import main
from policylearn.cli.verbs.datasets import panel_of
from policylearn.data import CATALOG, Dataset, PackedGraphs, load_dataset, read_table

PNG = b"\x89PNG\r\n\x1a\n"


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


def test_show_draws_a_synthetic_family(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    picture = tmp_path / "pictures" / "csl.png"
    assert main(["datasets", "show", "csl-13", "-o", str(picture), "--count", "2", "--first", "3"]) == 0
    assert capsys.readouterr().out.strip() == str(picture)
    assert picture.read_bytes().startswith(PNG)


@pytest.mark.parametrize("name", ["zinc", "ogbg-molesol", "counting-er", "sr25"])
def test_show_draws_real_graphs(name: str, tmp_path: Path) -> None:
    root = Path(os.environ.get("POLICYLEARN_DATA", ""))
    if not (root / CATALOG[name].file).is_file():
        pytest.skip(f"{CATALOG[name].file} is not in the data root; set POLICYLEARN_DATA to the folder that holds it")
    assert main(["datasets", "show", name, "--output", str(tmp_path / "a.png"), "--count", "3"]) == 0
    assert (tmp_path / "a.png").read_bytes().startswith(PNG)


def test_atoms_are_named(tmp_path: Path) -> None:
    (tmp_path / "m.csv").write_text("smiles,y\nOCCN,1.0\nCCl,2.0\nCC[*],3.0\n")
    found = read_table(tmp_path / "m.csv", targets="y", parents=False)
    molecules = Dataset("m", found.graphs, found.task, ())
    assert [panel_of(molecules, graph).marks for graph in range(3)] == [{0: "O", 3: "N"}, {1: "Cl"}, {2: "*"}]
    zinc = replace(molecules, name="zinc", graphs=replace(found.graphs, x=np.arange(9)[:, None] % 3, extras={}))
    assert panel_of(zinc, 0).marks == {1: "O", 2: "N"}
    assert panel_of(load_dataset("csl-13"), 0).marks == {}


def test_show_draws_a_file_with_strange_graphs(tmp_path: Path) -> None:
    graphs = PackedGraphs(
        x=np.linspace(-2, 30, 4)[:, None],
        edge_index=np.array([[0, 0, 1], [0, 1, 0]]),
        edge_attr=np.empty((3, 0)),
        node_ptr=np.array([0, 1, 1, 4]),
        edge_ptr=np.array([0, 1, 1, 3]),
        y=np.array([[0.5], [np.nan], [1.5]]),
    )
    graphs.save(tmp_path / "mine.npz")
    assert main(["datasets", "show", str(tmp_path / "mine.npz"), "-o", str(tmp_path / "mine.png")]) == 0
    assert (tmp_path / "mine.png").exists()


@pytest.mark.parametrize(
    ("words", "message"), [(["--first", "400"], "there is no graph 400"), (["--count", "0"], "'count' must be >= 1")]
)
def test_show_refuses_what_is_not_there(words: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["datasets", "show", "csl-13", *words]) == 2
    assert message in capsys.readouterr().err
