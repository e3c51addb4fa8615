"""CSL: circular skip link graphs, told apart by the length of their skips."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from policylearn.data.datasets.archives import BENCHMARKING_GNNS, PARTS, read_index_rows
from policylearn.data.datasets.entry import Entry, Home, classes
from policylearn.data.datasets.registry import register
from policylearn.data.packed import PackedGraphs

ARCHIVE = "https://www.dropbox.com/s/rnbkp5ubgk82ocu/CSL.zip?dl=1"


def unpack(folder: Path) -> PackedGraphs:
    """The 150 graphs and their five folds."""
    import torch
    from torch_geometric.data import Data

    from policylearn.data.convert.pyg import pack_pyg
    from policylearn.data.safe_pickle import read_plain_pickle

    matrices = read_plain_pickle(folder / "graphs_Kary_Deterministic_Graphs.pkl")
    labels = torch.load(folder / "y_Kary_Deterministic_Graphs.pt", weights_only=True)
    graphs = []
    for matrix, label in zip(matrices, labels.tolist(), strict=True):
        ends = np.stack([matrix.row, matrix.col]).astype(np.int64)
        ends = ends[:, ends[0] != ends[1]]  # The file has a self loop at every node; the dataset has none.
        nodes = matrix.shape[0]
        graphs.append(Data(edge_index=torch.from_numpy(ends), num_nodes=nodes, y=torch.tensor([int(label)])))
    folds = {part: read_index_rows(folder / f"CSL_{short}.index") for part, short in PARTS.items()}
    packed = pack_pyg(graphs, level="graph", source=ARCHIVE)
    return replace(packed, extras=dict(packed.extras) | folds)


register(
    Entry(
        name="csl",
        file="csl.npz",
        title="circular skip links",
        graphs=150,
        nodes=6_150,
        edges=24_600,
        task=classes(10),
        protocol="official",
        split="5 folds",
        home=Home(
            archive=ARCHIVE,
            credit="PyG",
            unpack=unpack,
            indices=tuple(f"{BENCHMARKING_GNNS}/CSL/CSL_{part}.index" for part in PARTS.values()),
        ),
    )
)
