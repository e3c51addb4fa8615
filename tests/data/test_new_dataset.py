"""A new dataset is one file: its address, its unpacking, its task, its split and its settings."""

from __future__ import annotations

import hashlib
import importlib.util
import sys
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import policylearn
from policylearn.cli import main
from policylearn.data import CATALOG, DataError, PackedGraphs, load_dataset, read_table
from policylearn.data.datasets import Entry, Home, classes, numbers, register
from policylearn.training.presets import run_config
from tests.errors import raises_naming

FILE = '''
from pathlib import Path

import networkx as nx
import numpy as np

from policylearn.data import PackedGraphs, pack_networkx
from policylearn.data.datasets import Entry, Home, numbers, register


def unpack(folder: Path) -> PackedGraphs:
    """Rings of the sizes in a text file, and how large they are."""
    sizes = [int(line) for line in (folder / "sizes.txt").read_text().split()]
    y = np.array(sizes, dtype=np.float32)[:, None]
    extras = {"train": np.arange(2), "valid": np.array([2]), "test": np.array([3])}
    graphs = [nx.cycle_graph(size) for size in sizes]
    packed = pack_networkx(graphs)
    return PackedGraphs(
        packed.x, packed.edge_index, packed.edge_attr, packed.node_ptr, packed.edge_ptr, y, extras
    )


register(
    Entry(
        name="rings", file="rings.npz", title="how large a ring is", graphs=4, nodes=18, edges=36,
        task=numbers("mae", "size"), protocol="official", split="by hand",
        home=Home(archive="https://example.org/rings.zip", credit="nobody", unpack=unpack, folder="rings"),
        presets={"learned": {"prediction": {"channels": 24}}, "learned-t3": {"prediction": {"channels": 12}}},
    )
)
'''


@pytest.fixture
def rings(tmp_path: Path) -> Iterator[None]:
    """The dataset of the one file above, known as long as the test runs."""
    path = tmp_path / "rings_dataset.py"
    path.write_text(FILE)
    spec = importlib.util.spec_from_file_location("rings_dataset", path)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules["rings_dataset"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    yield
    del CATALOG._things["rings"], sys.modules["rings_dataset"]


def download(url: str, path: Path) -> None:
    assert url == "https://example.org/rings.zip"
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("rings/sizes.txt", "3 4 5 6")


@pytest.mark.usefixtures("rings")
def test_one_file_is_enough(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    root = tmp_path / "root"
    dataset = load_dataset("rings", root=root, download=download)
    assert dataset.graphs.num_nodes.tolist() == [3, 4, 5, 6]
    assert dataset.task.targets == ("size",)
    assert dataset.splits[0].test.tolist() == [3]
    assert (root / "rings.npz").exists()

    assert run_config("rings").system["prediction"] == {"channels": 24}
    assert run_config("rings", {"selection.picks": 3}).system["prediction"] == {"channels": 12}
    assert "prediction" not in run_config("rings", {"selection.name": "random"}).system

    monkeypatch.setenv("POLICYLEARN_DATA", str(root))
    assert main(["datasets"]) == 0
    (line,) = (line for line in capsys.readouterr().out.splitlines() if line.split()[:1] == ["rings"])
    assert "nobody" in line


def test_a_run_on_a_registered_dataset_of_molecules_reads_smiles(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parts = ["train"] * 14 + ["valid"] * 3 + ["test"] * 3
    rows = "".join(f"{'C' * n}O,{n},{part}\n" for n, part in enumerate(parts, start=1))
    (tmp_path / "chains.csv").write_text(f"smiles,length,part\n{rows}")
    read_table(tmp_path / "chains.csv", targets="length", split_column="part").graphs.save(tmp_path / "chains.npz")
    sizes = {"graphs": 20, "nodes": 230, "edges": 420}
    home = Home(archive="https://example.org/chains.zip", credit="nobody")
    entry = Entry(
        name="chains", file="chains.npz", title="chains", task=numbers("mae", "length"), protocol="official",
        split="by hand", home=home, **sizes,
    )  # fmt: skip
    register(entry)
    monkeypatch.setenv("POLICYLEARN_DATA", str(tmp_path))
    try:
        words = ["--epochs", "1", "--prediction.channels", "4", "-o", str(tmp_path / "run")]
        assert main(["train", "chains", *words]) == 0
        assert policylearn.load(tmp_path / "run").predict(["CCO", "c1ccccc1"]).shape == (2, 1)
    finally:
        del CATALOG._things["chains"]


@pytest.mark.usefixtures("rings")
def test_an_archive_with_another_sum_is_refused(tmp_path: Path) -> None:
    download("https://example.org/rings.zip", tmp_path / "rings.zip")
    entry = CATALOG["rings"]
    right = hashlib.sha256((tmp_path / "rings.zip").read_bytes()).hexdigest()
    CATALOG._things["rings"] = replace(entry, home=replace(entry.home, sha256="0" * 64))
    with pytest.raises(DataError, match=right):
        load_dataset("rings", root=tmp_path / "root", download=lambda url, path: copy(tmp_path / "rings.zip", path))
    CATALOG._things["rings"] = replace(entry, home=replace(entry.home, sha256=right))
    load_dataset("rings", root=tmp_path / "root", download=lambda url, path: copy(tmp_path / "rings.zip", path))


def copy(source: Path, path: Path) -> None:
    path.write_bytes(source.read_bytes())


def test_two_datasets_cannot_share_a_name() -> None:
    with pytest.raises(DataError):
        register(replace(CATALOG["zinc"], title="another"))
    assert np.all([entry.name == name for name, entry in CATALOG.items()])


def test_an_unknown_protocol_is_refused() -> None:
    with pytest.raises(DataError, match=r"'official', 'stratified 10-fold', 'none' \(got 'random'\)"):
        replace(CATALOG["zinc"], protocol="random")  # type: ignore[arg-type]


@pytest.mark.usefixtures("rings")
def test_a_file_without_a_split_names_the_way_out(tmp_path: Path) -> None:
    load_dataset("rings", root=tmp_path, download=download)
    packed = PackedGraphs.load(tmp_path / "rings.npz")
    replace(packed, extras={}).save(tmp_path / "rings.npz")
    with pytest.raises(DataError, match="fetch 'rings' again"):
        load_dataset("rings", root=tmp_path)
    entry = CATALOG["rings"]
    CATALOG._things["rings"] = replace(entry, home=replace(entry.home, unpack=None))
    with pytest.raises(DataError, match="protocol='none'"):
        load_dataset("rings", root=tmp_path)


@pytest.mark.usefixtures("rings")
@pytest.mark.parametrize(
    ("changed", "numbers_named"),
    [
        ({"graphs": 5}, ("4", "5")),
        ({"edges": 30}, ("36", "30")),
        ({"task": numbers("mae", "a", "b")}, ("1", "2 (a, b)")),
        ({"task": classes(5)}, ("row 2", "class 5", "5 classes")),
        ({"task": classes(9)}, ("row 0", "class 3.5")),
        ({"task": classes(9)}, ("2 columns", "0 to 8")),
    ],
)
def test_an_entry_must_fit_its_file(tmp_path: Path, changed: dict[str, object], numbers_named: tuple[str, ...]) -> None:
    file = load_dataset("rings", root=tmp_path, download=download).graphs
    if "2 columns" in numbers_named:
        replace(file, y=np.concatenate([file.y, file.y], axis=1)).save(tmp_path / "rings.npz")
    if "class 3.5" in numbers_named:
        replace(file, y=file.y + 0.5).save(tmp_path / "rings.npz")
    entry = CATALOG["rings"]
    CATALOG._things["rings"] = replace(entry, nodes=None, **changed)
    with raises_naming(DataError, "rings", *numbers_named):
        load_dataset("rings", root=tmp_path)
