"""How the official archives are read: a folder of each home becomes packed graphs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from torch_geometric.data import Data

from policylearn.data.convert.ogb import pack_ogb_folder
from policylearn.data.convert.pyg import pack_pyg
from policylearn.data.convert.tu import pack_tu_folder
from policylearn.data.homes import Home, HomeKind
from policylearn.data.packed import Array, DataError, PackedGraphs
from policylearn.data.plainpickle import read_plain_pickle
from policylearn.data.subset import take_graphs

PARTS = {"train": "train", "valid": "val", "test": "test"}


def unpack_ogb(folder: Path, home: Home) -> PackedGraphs:
    """OGB's CSV layout; its ``.pt`` files are never opened."""
    return pack_ogb_folder(folder, split="scaffold")


def unpack_tu(folder: Path, home: Home) -> PackedGraphs:
    """TUDataset's text files."""
    return pack_tu_folder(folder, home.folder)


def unpack_alchemy(folder: Path, home: Home) -> PackedGraphs:
    """The 12,000 graphs of Alchemy-12k out of TUDataset's ``alchemy_full``, in the order train, valid, test.

    Args:
        folder: the text files together with ``train_al_10.index``, ``val_al_10.index`` and ``test_al_10.index``.
        home: names the files.
    """
    # Only labels are features, as in PyG's TUDataset by default.
    for attributes in ("node_attributes", "edge_attributes"):
        (folder / f"{home.folder}_{attributes}.txt").unlink(missing_ok=True)
    ids = {part: read_index(folder / f"{short}_al_10.index") for part, short in PARTS.items()}
    everything = pack_tu_folder(folder, home.folder)
    for part, rows in ids.items():
        check_index(folder / f"{PARTS[part]}_al_10.index", rows, len(everything), home.folder)
    chosen = take_graphs(everything, np.concatenate(list(ids.values())))
    return with_parts(chosen, [len(part) for part in ids.values()])


def unpack_zinc(folder: Path, home: Home) -> PackedGraphs:
    """The 12,000 graphs of ZINC's subset, in the order train, valid, test."""
    graphs: list[Data] = []
    sizes = []
    for short in PARTS.values():
        molecules = read_plain_pickle(folder / f"{short}.pickle")
        chosen = read_index(folder / f"{short}.index")
        check_index(folder / f"{short}.index", chosen, len(molecules), f"{short}.pickle")
        sizes.append(len(chosen))
        for molecule in (molecules[index] for index in chosen):
            bonds = molecule["bond_type"].load()
            edge_index = bonds.nonzero().t().contiguous()
            graphs.append(
                Data(
                    x=molecule["atom_type"].load().long().view(-1, 1),
                    edge_index=edge_index,
                    edge_attr=bonds[edge_index[0], edge_index[1]].long().view(-1, 1),
                    y=molecule["logP_SA_cycle_normalized"].load().float().view(1, 1),
                )
            )
    return with_parts(pack_pyg(graphs, level="graph", source=home.archive), sizes)


def unpack_csl(folder: Path, home: Home) -> PackedGraphs:
    """The 150 circular skip link graphs and their five folds."""
    matrices = read_plain_pickle(folder / "graphs_Kary_Deterministic_Graphs.pkl")
    labels = torch.load(folder / "y_Kary_Deterministic_Graphs.pt", weights_only=True)
    graphs = []
    for matrix, label in zip(matrices, labels.tolist(), strict=True):
        ends = np.stack([matrix.row, matrix.col]).astype(np.int64)
        ends = ends[:, ends[0] != ends[1]]  # The file has a self loop at every node; the dataset has none.
        nodes = matrix.shape[0]
        graphs.append(Data(edge_index=torch.from_numpy(ends), num_nodes=nodes, y=torch.tensor([int(label)])))
    folds = {part: read_index_rows(folder / f"CSL_{short}.index") for part, short in PARTS.items()}
    packed = pack_pyg(graphs, level="graph", source=home.archive)
    return replace(packed, extras=dict(packed.extras) | folds)


READERS: dict[HomeKind, Callable[[Path, Home], PackedGraphs]] = {
    "ogb": unpack_ogb,
    "tu": unpack_tu,
    "zinc": unpack_zinc,
    "csl": unpack_csl,
    "alchemy": unpack_alchemy,
}


def with_parts(graphs: PackedGraphs, sizes: list[int]) -> PackedGraphs:
    """Graphs that lie in the order train, valid, test, with that split written down."""
    ends = np.concatenate([[0], np.cumsum(sizes)])
    parts = {name: np.arange(ends[i], ends[i + 1], dtype=np.int32) for i, name in enumerate(PARTS)}
    return replace(graphs, extras=dict(graphs.extras) | parts)


def check_index(path: Path, ids: Array, graphs: int, of: str) -> None:
    """Raise where an index file names a graph that its archive does not have."""
    if ids.max() >= graphs:
        raise DataError(
            f"{path}: names graph {ids.max()}, but {of} has {graphs} graphs;"
            " the archive is not complete: fetch it again"
        )


def read_index(path: Path) -> Array:
    """All graph ids of an index file, parted by commas."""
    return read_index_rows(path).reshape(-1)


def read_index_rows(path: Path) -> Array:
    """Graph ids of an index file, a line a fold, ``(folds, n)``."""
    try:
        lines = [line.strip().strip(",") for line in path.read_text().splitlines() if line.strip()]
        rows = [[int(word) for word in line.split(",")] for line in lines]
    except (OSError, UnicodeDecodeError, ValueError) as error:
        raise DataError(f"{path}: not a readable list of graph ids ({error}); fetch it again") from error
    if not rows or len({len(row) for row in rows}) > 1 or min(map(min, rows)) < 0:
        raise DataError(f"{path}: needs lines of equally many ids >= 0, parted by commas; fetch it again")
    return np.array(rows, dtype=np.int32)
