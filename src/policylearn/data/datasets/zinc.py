"""ZINC-12k: penalised logP of 12,000 molecules."""

from __future__ import annotations

from pathlib import Path

from policylearn.data.datasets.archives import BENCHMARKING_GNNS, PARTS, read_index, with_parts
from policylearn.data.datasets.entry import Entry, Home, numbers, register
from policylearn.data.packed import PackedGraphs

ARCHIVE = "https://www.dropbox.com/s/feo9qle74kg48gy/molecules.zip?dl=1"


def unpack(folder: Path) -> PackedGraphs:
    """The 12,000 graphs of the subset, in the order train, valid, test."""
    from torch_geometric.data import Data

    from policylearn.data.convert.pyg import pack_pyg
    from policylearn.data.safe_pickle import read_plain_pickle

    graphs: list[Data] = []
    sizes = []
    for short in PARTS.values():
        molecules = read_plain_pickle(folder / f"{short}.pickle")
        chosen = read_index(folder / f"{short}.index", len(molecules), f"{short}.pickle")
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
    return with_parts(pack_pyg(graphs, level="graph", source=ARCHIVE), sizes)


INDICES = tuple(f"{BENCHMARKING_GNNS}/molecules/{part}.index" for part in PARTS.values())
register(
    Entry(
        "zinc", "zinc12k.npz", "ZINC-12k, penalised logP", 12_000, 277_864, 597_970, numbers("mae", "logP"), "official",
        "10k / 1k / 1k", Home(ARCHIVE, "PyG", unpack, "molecules", INDICES),
        "train targets and train bond types were rebuilt (about 0.1 % of the train graphs may carry another Kekulé"
        " form, 8 are uncertain); valid and test are original",
    )
)  # fmt: skip
