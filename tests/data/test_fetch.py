"""Fetching, with the download replaced by archives that the tests write themselves."""

from __future__ import annotations

import io
import pickle
import zipfile
from collections.abc import Callable
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from urllib.error import URLError

import numpy as np
import pytest
import torch
from scipy.sparse import coo_matrix
from torch_geometric.datasets import ZINC, GNNBenchmarkDataset, TUDataset

from policylearn.data import CATALOG, DataError, Entry, PackedGraphs, load_dataset
from policylearn.data.fetch import Download, fetch
from policylearn.data.packed import GRAPH_ARRAYS
from policylearn.data.safe_pickle import read_plain_pickle
from tests.errors import raises_naming

Find = Callable[[str], Path]
Files = dict[str, bytes]

ZINC_INDICES = ("train.index", "val.index", "test.index")


def serve(archive: Files, indices: Files | None = None) -> Download:
    """A download that zips ``archive`` for a zip address and hands out ``indices`` by file name."""

    def download(url: str, path: Path) -> None:
        name = url.split("?")[0].rsplit("/", 1)[1]
        if name.endswith(".zip"):
            with zipfile.ZipFile(path, "w") as file:
                for member, content in archive.items():
                    file.writestr(member, content)
        else:
            path.write_bytes((indices or {})[name])

    return download


def offline(url: str, path: Path) -> None:
    raise URLError("[Errno -2] Name or service not known")


def tu_files(name: str, graphs: int) -> Files:
    """Paths of 2, 3, 4, ... nodes with a node label and an edge label, three targets per graph."""
    edges, indicator, node_labels, edge_labels, attributes = [], [], [], [], []
    node = 1
    for graph in range(graphs):
        size = 2 + graph
        indicator += [str(graph + 1)] * size
        node_labels += [str(i % 3) for i in range(size)]
        for i in range(size - 1):
            edges += [f"{node + i}, {node + i + 1}", f"{node + i + 1}, {node + i}"]
            edge_labels += [str(i % 2)] * 2
        attributes.append(", ".join(str(graph + column / 10) for column in range(12)))
        node += size
    tables = {"A": edges, "graph_indicator": indicator, "node_labels": node_labels, "edge_labels": edge_labels}
    tables |= {"graph_attributes": attributes, "node_attributes": ["0.5, 0.5, 0.5"] * len(indicator)}
    return {f"{name}/{name}_{part}.txt": ("\n".join(rows) + "\n").encode() for part, rows in tables.items()}


@pytest.fixture
def resize(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Entry]:
    """Make a dataset of the catalog as small as the files of a test."""

    def resized(name: str, **sizes: int) -> Entry:
        entry = replace(CATALOG[name], **sizes)
        monkeypatch.setitem(CATALOG._things, name, entry)
        return entry

    return resized


@pytest.fixture
def alchemy(resize: Callable[..., Entry]) -> Entry:
    return resize("alchemy", graphs=6)


def place_alchemy_indices(root: Path) -> None:
    folder = root / "official" / "alchemy"
    folder.mkdir(parents=True)
    for part, ids in {"train": "7,2,5,1", "val": "9", "test": "0\n"}.items():
        (folder / f"{part}_al_10.index").write_text(ids)


def test_alchemy_takes_its_graphs_from_the_full_set(tmp_path: Path, alchemy: Entry) -> None:
    place_alchemy_indices(tmp_path)
    path = fetch(alchemy, tmp_path, serve(tu_files("alchemy_full", 10)))
    graphs = PackedGraphs.load(path)
    assert graphs.num_nodes.tolist() == [9, 4, 7, 3, 11, 2]
    np.testing.assert_allclose(graphs.y[:, 0], [7, 2, 5, 1, 9, 0])
    assert graphs.y.shape == (6, 12)
    assert graphs.x.shape[1] == 3, "labels alone are features"
    assert [graphs.extras[part].tolist() for part in ("train", "valid", "test")] == [[0, 1, 2, 3], [4], [5]]


def test_alchemy_is_standardised_and_reported_in_its_own_units(tmp_path: Path, alchemy: Entry) -> None:
    place_alchemy_indices(tmp_path)
    fetch(alchemy, tmp_path, serve(tu_files("alchemy_full", 10)))
    dataset = load_dataset("alchemy", root=tmp_path, download=offline)
    y = torch.from_numpy(dataset.graphs.y)
    scaled = dataset.task.scale(y)
    assert scaled.mean(dim=0).abs().max() < 1e-6
    torch.testing.assert_close(scaled.std(dim=0, unbiased=False), torch.ones(12).double())
    torch.testing.assert_close(dataset.task.unscale(scaled), y.double())
    assert dataset.task.metric_in_data_units
    assert dataset.task.outputs == 12


def test_alchemy_says_which_split_file_to_put_where(tmp_path: Path, alchemy: Entry) -> None:
    with raises_naming(DataError, "train_al_10.index"):
        fetch(alchemy, tmp_path, offline)


def test_alchemy_indices_beyond_the_archive_are_refused(tmp_path: Path, alchemy: Entry) -> None:
    place_alchemy_indices(tmp_path)
    with raises_naming(DataError, "graph 7"):
        fetch(alchemy, tmp_path, serve(tu_files("alchemy_full", 5)))


def test_ogb_archives_give_exactly_the_stored_file(stored: Find, tmp_path: Path) -> None:
    packed = stored("ogbg-molesol.npz")
    folder = packed.parent / "official" / "ogbg_molesol"
    files = {f"esol/{file.relative_to(folder)}": file.read_bytes() for file in folder.rglob("*") if file.is_file()}
    files["esol/split/scaffold/split_dict.pt"] = pickle.dumps(print)  # never to be opened
    dataset = load_dataset("ogbg-molesol", root=tmp_path, download=serve(files))
    reference = load_dataset("ogbg-molesol", root=packed.parent)
    for name in GRAPH_ARRAYS:
        np.testing.assert_array_equal(getattr(dataset.graphs, name), getattr(reference.graphs, name))
    assert dataset.fingerprint == reference.fingerprint
    assert str(dataset.graphs.extras["origin"]) == CATALOG["ogbg-molesol"].home.archive


def test_tu_archives(tmp_path: Path, resize: Callable[..., Entry]) -> None:
    files = tu_files("REDDIT-BINARY", 20)
    files = {name: content for name, content in files.items() if name.endswith(("_A.txt", "_indicator.txt"))}
    files["REDDIT-BINARY/REDDIT-BINARY_graph_labels.txt"] = b"1\n-1\n" * 10
    entry = resize("reddit-binary", graphs=20, nodes=sum(range(2, 22)), edges=2 * sum(range(1, 21)))
    fetch(entry, tmp_path, serve(files))
    dataset = load_dataset("reddit-binary", root=tmp_path)
    assert dataset.graphs.y.tolist() == [1, 0] * 10
    assert dataset.graphs.x.shape == (entry.nodes, 1)
    assert len(dataset.splits) == 10


def zinc_files() -> tuple[Files, Files]:
    """Three pickles as ZINC has them: tensors inside dictionaries inside a list."""
    archive, indices = {}, {}
    for part, count in {"train": 4, "val": 2, "test": 2}.items():
        molecules = []
        for i in range(count):
            bonds = torch.zeros(3, 3, dtype=torch.int8)
            bonds[0, 1] = bonds[1, 0] = 1
            bonds[1, 2] = bonds[2, 1] = 2
            atoms = torch.tensor([0, i, 1], dtype=torch.int8)
            target = torch.tensor([i / 2])
            molecules.append({"atom_type": atoms, "bond_type": bonds, "logP_SA_cycle_normalized": target})
        archive[f"molecules/{part}.pickle"] = pickle.dumps(molecules)
        indices[f"{part}.index"] = (",".join(map(str, reversed(range(count)))) + "\n").encode()
    return archive, indices


def test_zinc_pickles_are_read_safely(tmp_path: Path, resize: Callable[..., Entry]) -> None:
    entry = resize("zinc", graphs=8, nodes=24, edges=32)
    fetch(entry, tmp_path, serve(*zinc_files()))
    dataset = load_dataset("zinc", root=tmp_path)
    graphs = dataset.graphs
    assert graphs.y.reshape(-1).tolist() == [1.5, 1.0, 0.5, 0.0, 0.5, 0.0, 0.5, 0.0]
    assert graphs.x.reshape(-1)[:6].tolist() == [0, 3, 1, 0, 2, 1]
    assert graphs.edge_index[:, :4].tolist() == [[0, 1, 1, 2], [1, 0, 2, 1]]
    assert graphs.edge_attr.reshape(-1)[:4].tolist() == [1, 1, 2, 2]
    assert dataset.splits[0].valid.tolist() == [4, 5]
    assert dataset.caveat is None, "a fetched file is the original"


def test_a_pickle_that_would_run_code_is_refused(tmp_path: Path) -> None:
    class Harm:
        def __reduce__(self) -> object:
            return (Path.touch, (tmp_path / "harm",))

    archive, indices = zinc_files()
    archive["molecules/train.pickle"] = pickle.dumps([Harm()])
    with raises_naming(DataError, "Path.touch"):
        fetch(CATALOG["zinc"], tmp_path, serve(archive, indices))
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("protocol", [2, 4])
def test_csl_with_its_folds(tmp_path: Path, resize: Callable[..., Entry], protocol: int) -> None:
    matrices = []
    for _ in range(10):
        ring = np.arange(5)
        rows, columns = np.r_[ring, (ring + 1) % 5, ring], np.r_[(ring + 1) % 5, ring, ring]  # loops included
        matrices.append(coo_matrix((np.ones(15), (rows, columns)), shape=(5, 5)))
    labels = io.BytesIO()
    torch.save(torch.arange(10), labels)
    archive = {
        "graphs_Kary_Deterministic_Graphs.pkl": pickle.dumps(matrices, protocol=protocol),
        "y_Kary_Deterministic_Graphs.pt": labels.getvalue(),
    }
    folds = [np.roll(np.arange(10), 2 * fold) for fold in range(5)]
    cuts = {"train": slice(4, 10), "val": slice(2, 4), "test": slice(0, 2)}
    indices = {
        f"CSL_{part}.index": "\n".join(",".join(map(str, fold[cut])) for fold in folds).encode()
        for part, cut in cuts.items()
    }
    fetch(resize("csl", graphs=10, nodes=50, edges=100), tmp_path, serve(archive, indices))
    dataset = load_dataset("csl", root=tmp_path)
    assert dataset.graphs.y.tolist() == list(range(10))
    assert len(dataset.splits) == 5
    assert dataset.splits[1].test.tolist() == [8, 9]


def test_offline_says_which_file_to_put_where(tmp_path: Path) -> None:
    with pytest.raises(DataError) as caught:
        load_dataset("ogbg-molhiv", root=tmp_path, download=offline)
    message = str(caught.value)
    assert "csv_mol_download/hiv.zip cannot be reached" in message
    assert str(tmp_path / "official" / "hiv.zip") in message
    assert str(tmp_path / "ogbg-molhiv.npz") in message
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["exp", "sr25", "counting-er", "counting-rr"])
def test_datasets_without_an_archive_say_so(tmp_path: Path, name: str) -> None:
    entry = CATALOG[name]
    with raises_naming(DataError, entry.file):
        load_dataset(name, root=tmp_path, download=offline, target=entry.targets[0] if entry.targets else None)


def test_an_archive_put_there_by_hand_is_used(tmp_path: Path) -> None:
    archive, indices = zinc_files()
    (tmp_path / "official" / "zinc").mkdir(parents=True)
    serve(archive)("https://home/molecules.zip", tmp_path / "official" / "molecules.zip")
    for name, content in indices.items():
        (tmp_path / "official" / "zinc" / name).write_bytes(content)
    fetch(replace(CATALOG["zinc"], graphs=8, nodes=24, edges=32), tmp_path, offline)
    assert (tmp_path / "zinc12k.npz").exists()


def html(url: str, path: Path) -> None:
    path.write_text("<html>Please log in to the network</html>")


def cut(url: str, path: Path) -> None:
    serve(zinc_files()[0])(url, path)
    path.write_bytes(path.read_bytes()[:300])


@pytest.mark.parametrize(
    ("download", "message"),
    [
        (html, "zip"),
        (cut, "zip"),
        (serve({"other/a.txt": b""}), "'molecules'"),
        (serve({"molecules/train.pickle": pickle.dumps([])}, zinc_files()[1]), "graph 3"),
        (serve({"molecules/other.txt": b""}, zinc_files()[1]), "FileNotFoundError"),
        (serve({"molecules/train.pickle": pickle.dumps([{}] * 4)}, zinc_files()[1]), "KeyError"),
        (serve(*zinc_files()), "12000"),
        (serve(zinc_files()[0], dict.fromkeys(ZINC_INDICES, b"a,b")), "'a'"),
        (serve(zinc_files()[0], dict.fromkeys(ZINC_INDICES, b"9")), "graph 9"),
    ],
)
def test_a_failed_conversion_leaves_nothing_behind(tmp_path: Path, download: Download, message: str) -> None:
    with pytest.raises(DataError, match=message):
        load_dataset("zinc", root=tmp_path, download=download)
    assert not list(tmp_path.iterdir())


def test_a_root_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "root").write_text("a file where a folder should be")
    entry = replace(CATALOG["zinc"], graphs=8, nodes=24, edges=32)
    with raises_naming(DataError, "POLICYLEARN_DATA"):
        fetch(entry, tmp_path / "root", serve(*zinc_files()))


def test_addresses_are_those_of_pyg_and_ogb() -> None:
    assert CATALOG["zinc"].home.archive == ZINC.url
    assert CATALOG["zinc"].home.indices == tuple(ZINC.split_url.format(part) for part in ("train", "val", "test"))
    assert CATALOG["csl"].home.archive == GNNBenchmarkDataset.urls["CSL"]
    for name, folder in (("reddit-binary", "REDDIT-BINARY"), ("alchemy", "alchemy_full")):
        assert CATALOG[name].home.archive == f"{TUDataset.url}/{folder}.zip"
    spec = find_spec("ogb")  # found, not imported: importing it asks the network for a newer version
    assert spec is not None
    assert spec.origin is not None
    rows = (Path(spec.origin).parent / "graphproppred" / "master.csv").read_text().splitlines()
    table = {row.split(",")[0]: row.split(",") for row in rows}
    for name in ("ogbg-molesol", "ogbg-moltox21", "ogbg-molbace", "ogbg-molhiv"):
        column = table[""].index(name)
        assert CATALOG[name].home.archive == table["url"][column]
        assert CATALOG[name].home.folder == table["download_name"][column]
        assert CATALOG[name].task.metric == table["eval metric"][column]
        assert CATALOG[name].task.outputs == int(table["num tasks"][column])


@pytest.mark.parametrize("protocol", [2, 4])
def test_tensors_in_a_pickle_come_back_as_they_were(tmp_path: Path, protocol: int) -> None:
    base = torch.arange(24, dtype=torch.int8).reshape(4, 6)
    tensors = [base, base[1:, ::2], base.t(), torch.tensor(2.5), torch.tensor([], dtype=torch.float64), base > 3]
    (tmp_path / "tensors.pickle").write_bytes(pickle.dumps(tensors, protocol=protocol))
    for got, tensor in zip(read_plain_pickle(tmp_path / "tensors.pickle"), tensors, strict=True):
        assert got.load().dtype == tensor.dtype
        assert torch.equal(got.load(), tensor)
