"""Molecules of the Open Graph Benchmark, with its atom and bond features and its scaffold splits."""

from __future__ import annotations

from pathlib import Path

from policylearn.data.datasets.entry import Entry, Home, numbers, register, yes_no
from policylearn.data.packed import PackedGraphs
from policylearn.data.tasks import Task

TOX21 = (
    "NR-AR", "NR-AR-LBD", "NR-AhR", "NR-Aromatase", "NR-ER", "NR-ER-LBD", "NR-PPAR-gamma",
    "SR-ARE", "SR-ATAD5", "SR-HSE", "SR-MMP", "SR-p53",
)  # fmt: skip


def unpack(folder: Path) -> PackedGraphs:
    """OGB's CSV layout; its ``.pt`` files are never opened."""
    from policylearn.data.convert.ogb import pack_ogb_folder

    return pack_ogb_folder(folder, split="scaffold")


def declare(
    name: str, archive: str, title: str, sizes: tuple[int, int, int], task: Task, caveat: str | None = None
) -> None:
    """One of the sets, all of which have the same layout; ``sizes`` are graphs, nodes and directed edges."""
    address = f"http://snap.stanford.edu/ogb/data/graphproppred/csv_mol_download/{archive}.zip"
    home = Home(archive=address, credit="OGB", unpack=unpack, folder=archive)
    register(Entry(name, f"{name}.npz", title, *sizes, task, "official", "scaffold", home, caveat))


declare(
    "ogbg-molesol", "esol", "water solubility", (1_128, 14_991, 30_856), numbers("rmse", "log solubility")
)  # fmt: skip
declare(
    "ogbg-moltox21", "tox21", "toxicity, 12 assays", (7_831, 145_459, 302_190), yes_no(*TOX21),
    "features and scaffold split were recomputed; SMILES and labels are original",
)  # fmt: skip
declare("ogbg-molbace", "bace", "BACE-1 inhibition", (1_513, 51_577, 111_536), yes_no("inhibitor"))
declare(
    "ogbg-molhiv", "hiv", "HIV replication", (41_127, 1_049_163, 2_259_376), yes_no("HIV_active"),
    "features were recomputed (7 molecules without the valence check); SMILES, labels and split are original",
)  # fmt: skip
