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
register(
    Entry(
        name="exp",
        file="exp.npz",
        title="pairs that 1-WL cannot tell apart",
        graphs=1_200,
        nodes=53_336,
        edges=132_260,
        task=classes(2),
        protocol="stratified 10-fold",
        split="10 folds",
        home=Home(archive="https://github.com/ralphabb/GNN-RNI", credit="Abboud et al."),
    )
)
register(
    Entry(
        name="sr25",
        file="sr25.npz",
        title="strongly regular (25, 12, 5, 6)",
        graphs=15,
        nodes=375,
        edges=4_500,
        task=classes(15),
        protocol="none",
        split="none",
        home=Home(archive="https://users.cecs.anu.edu.au/~bdm/data/graphs.html", credit="Brendan McKay"),
    )
)
