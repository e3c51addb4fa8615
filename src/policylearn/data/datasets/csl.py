"""Graphs that 1-WL cannot tell apart: CSL (circular skip links), EXP (planar pairs) and SR25 (strongly regular)."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from policylearn.data.datasets.archives import BENCHMARKING_GNNS, PARTS, read_index_rows
from policylearn.data.datasets.entry import Entry, Home, classes, register
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


INDICES = tuple(f"{BENCHMARKING_GNNS}/CSL/CSL_{part}.index" for part in PARTS.values())
register(
    Entry(
        "csl", "csl.npz", "circular skip links", 150, 6_150, 24_600, classes(10), "official", "5 folds",
        Home(ARCHIVE, "PyG", unpack, indices=INDICES),
    )
)  # fmt: skip
register(
    Entry(
        "exp", "exp.npz", "pairs that 1-WL cannot tell apart", 1_200, 53_336, 132_260, classes(2),
        "stratified 10-fold", "10 folds", Home("https://github.com/ralphabb/GNN-RNI", "Abboud et al."),
    )
)  # fmt: skip
register(
    Entry(
        "sr25", "sr25.npz", "strongly regular (25, 12, 5, 6)", 15, 375, 4_500, classes(15), "none", "none",
        Home("https://users.cecs.anu.edu.au/~bdm/data/graphs.html", "Brendan McKay"),
    )
)  # fmt: skip
