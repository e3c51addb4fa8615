"""Alchemy-12k: twelve quantum properties of 12,000 molecules."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from policylearn.data.datasets.archives import PARTS, TU_ARCHIVES, check_index, read_index, with_parts
from policylearn.data.datasets.entry import Entry, Home, numbers, register
from policylearn.data.packed import PackedGraphs
from policylearn.data.subset import take_graphs

FOLDER = "alchemy_full"
INDICES = {part: f"{short}_al_10.index" for part, short in PARTS.items()}


def unpack(folder: Path) -> PackedGraphs:
    """The 12,000 graphs out of TUDataset's ``alchemy_full``, in the order train, valid, test."""
    from policylearn.data.convert.tu import pack_tu_folder

    # Only labels are features, as in PyG's TUDataset by default.
    for attributes in ("node_attributes", "edge_attributes"):
        (folder / f"{FOLDER}_{attributes}.txt").unlink(missing_ok=True)
    ids = {part: read_index(folder / name) for part, name in INDICES.items()}
    everything = pack_tu_folder(folder, FOLDER)
    for part, rows in ids.items():
        check_index(folder / INDICES[part], rows, len(everything), FOLDER)
    chosen = take_graphs(everything, np.concatenate(list(ids.values())))
    return with_parts(chosen, [len(part) for part in ids.values()])


register(
    Entry(
        name="alchemy",
        file="alchemy.npz",
        title="Alchemy-12k, 12 quantum properties",
        graphs=12_000,
        nodes=None,
        edges=None,
        task=numbers("mae", *(f"property{column}" for column in range(12))),
        protocol="official",
        split="10k / 1k / 1k",
        home=Home(
            archive=f"{TU_ARCHIVES}/{FOLDER}.zip",
            credit="TUDataset",
            unpack=unpack,
            folder=FOLDER,
            by_hand=tuple(INDICES.values()),
            by_hand_from="the Alchemy experiments of Morris et al. (github.com/chrsmrrs/SpeqNets and sparsewl)",
        ),
        scaling="standardise",
    )
)
