"""Reddit-Binary: threads of questions or of discussions."""

from __future__ import annotations

from pathlib import Path

from policylearn.data.datasets.archives import TU_ARCHIVES
from policylearn.data.datasets.entry import Entry, Home, classes, register
from policylearn.data.packed import PackedGraphs

FOLDER = "REDDIT-BINARY"


def unpack(folder: Path) -> PackedGraphs:
    """TUDataset's text files."""
    from policylearn.data.convert.tu import pack_tu_folder

    return pack_tu_folder(folder, FOLDER)


register(
    Entry(
        name="reddit-binary",
        file="reddit-binary.npz",
        title="threads: questions or discussion",
        graphs=2_000,
        nodes=859_254,
        edges=1_991_016,
        task=classes(2),
        protocol="stratified 10-fold",
        split="10 folds",
        home=Home(archive=f"{TU_ARCHIVES}/{FOLDER}.zip", credit="TUDataset", unpack=unpack, folder=FOLDER),
    )
)
