"""Where each dataset officially lives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

HomeKind = Literal["ogb", "tu", "zinc", "csl", "alchemy", "by hand"]


@dataclass(frozen=True)
class Home:
    """An official source.

    Args:
        kind: how it is read; "by hand" has no archive that can be fetched and converted.
        archive: address of the archive, or of the page to visit.
        folder: the folder inside the archive.
        indices: addresses of index files that belong to it.
        credit: who keeps it.
    """

    kind: HomeKind
    archive: str
    credit: str
    folder: str = ""
    indices: tuple[str, ...] = ()

    @property
    def archive_name(self) -> str:
        """The archive's file name."""
        return self.archive.split("?")[0].rsplit("/", 1)[1]


BENCHMARKING_GNNS = "https://raw.githubusercontent.com/graphdeeplearning/benchmarking-gnns/master/data"


def ogb_home(name: str) -> Home:
    """An archive of OGB's graph property prediction."""
    folder = "http://snap.stanford.edu/ogb/data/graphproppred/csv_mol_download"
    return Home("ogb", f"{folder}/{name}.zip", "OGB", name)


def tu_home(name: str) -> Home:
    """An archive of TUDataset."""
    return Home("tu", f"https://www.chrsmrrs.com/graphkerneldatasets/{name}.zip", "TUDataset", name)


ZINC = Home(
    "zinc",
    "https://www.dropbox.com/s/feo9qle74kg48gy/molecules.zip?dl=1",
    "PyG",
    "molecules",
    tuple(f"{BENCHMARKING_GNNS}/molecules/{part}.index" for part in ("train", "val", "test")),
)
CSL = Home(
    "csl",
    "https://www.dropbox.com/s/rnbkp5ubgk82ocu/CSL.zip?dl=1",
    "PyG",
    "",
    tuple(f"{BENCHMARKING_GNNS}/CSL/CSL_{part}.index" for part in ("train", "val", "test")),
)
ALCHEMY = Home(
    "alchemy",
    "https://www.chrsmrrs.com/graphkerneldatasets/alchemy_full.zip",
    "TUDataset",
    "alchemy_full",
)
EXP = Home("by hand", "https://github.com/ralphabb/GNN-RNI", "Abboud et al.")
SR25 = Home("by hand", "https://users.cecs.anu.edu.au/~bdm/data/graphs.html", "Brendan McKay")
COUNTING = Home("by hand", "https://github.com/leichen2018/GNN-Substructure-Counting", "Chen et al.")
