"""Datasets from TUDataset: Alchemy-12k (twelve quantum properties) and Reddit-Binary (kinds of threads)."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from policylearn.data.datasets.archives import PARTS, read_index, with_parts
from policylearn.data.datasets.entry import Entry, Home, classes, numbers, register
from policylearn.data.packed import PackedGraphs
from policylearn.data.subset import take_graphs

TU_ARCHIVES = "https://www.chrsmrrs.com/graphkerneldatasets"
ALCHEMY, REDDIT = "alchemy_full", "REDDIT-BINARY"
INDICES = tuple(f"{part}_al_10.index" for part in PARTS.values())


def unpack_alchemy(folder: Path) -> PackedGraphs:
    """The 12,000 graphs out of TUDataset's ``alchemy_full``, in the order train, valid, test."""
    from policylearn.data.convert.tu import pack_tu_folder

    everything = pack_tu_folder(folder, ALCHEMY, attributes=False)  # only labels are features, as PyG has them
    ids = [read_index(folder / name, len(everything), ALCHEMY) for name in INDICES]
    return with_parts(take_graphs(everything, np.concatenate(ids)), [len(part) for part in ids])


def unpack_reddit(folder: Path) -> PackedGraphs:
    """TUDataset's text files."""
    from policylearn.data.convert.tu import pack_tu_folder

    return pack_tu_folder(folder, REDDIT)


register(
    Entry(
        "alchemy", "alchemy.npz", "Alchemy-12k, 12 quantum properties", 12_000, None, None,
        numbers("mae", *(f"property{column}" for column in range(12))), "official", "10k / 1k / 1k",
        Home(
            f"{TU_ARCHIVES}/{ALCHEMY}.zip", "TUDataset", unpack_alchemy, ALCHEMY, by_hand=INDICES,
            by_hand_from="the Alchemy experiments of Morris et al. (github.com/chrsmrrs/SpeqNets and sparsewl)",
        ),
        scaling="standardise",
    )
)  # fmt: skip
register(
    Entry(
        "reddit-binary", "reddit-binary.npz", "threads: questions or discussion", 2_000, 859_254, 1_991_016, classes(2),
        "stratified 10-fold", "10 folds", Home(f"{TU_ARCHIVES}/{REDDIT}.zip", "TUDataset", unpack_reddit, REDDIT),
    )
)  # fmt: skip
