"""Datasets, tasks, splits, converters, synthetic graphs and batches.

Names are imported when they are first asked for: what only lists datasets should not wait for torch and RDKit.
"""

from typing import TYPE_CHECKING

from policylearn.doors import opener

if TYPE_CHECKING:
    from policylearn.data.batches import make_batch, make_data
    from policylearn.data.convert import (
        MoleculeTable,
        pack_molecules,
        pack_networkx,
        pack_ogb_folder,
        pack_pyg,
        pack_tu_folder,
        read_csv,
        read_table,
    )
    from policylearn.data.dataset import Dataset, infer_task, load_dataset, load_file
    from policylearn.data.datasets import CATALOG, Entry
    from policylearn.data.loader import BatchLoader
    from policylearn.data.metrics import build_metric
    from policylearn.data.packed import DataError, PackedGraphs
    from policylearn.data.root import data_root
    from policylearn.data.scaffolds import scaffold_split
    from policylearn.data.splits import (
        Split,
        column_split,
        official_splits,
        random_split,
        rotating_folds,
        stratified_folds,
    )
    from policylearn.data.structures import Structure
    from policylearn.data.subset import join_graphs, take_graphs
    from policylearn.data.tasks import Scaling, Task

HOMES = {
    ".batches": ("make_batch", "make_data"),
    ".convert": (
        "MoleculeTable",
        "pack_molecules",
        "pack_networkx",
        "pack_ogb_folder",
        "pack_pyg",
        "pack_tu_folder",
        "read_csv",
        "read_table",
    ),
    ".dataset": ("Dataset", "infer_task", "load_dataset", "load_file"),
    ".datasets": ("CATALOG", "Entry"),
    ".loader": ("BatchLoader",),
    ".metrics": ("build_metric",),
    ".packed": ("DataError", "PackedGraphs"),
    ".root": ("data_root",),
    ".scaffolds": ("scaffold_split",),
    ".splits": ("Split", "column_split", "official_splits", "random_split", "rotating_folds", "stratified_folds"),
    ".structures": ("Structure",),
    ".subset": ("join_graphs", "take_graphs"),
    ".tasks": ("Scaling", "Task"),
}
"""The names of each module that belong to the room's door."""

__getattr__ = opener(__name__, HOMES)

__all__ = [
    "CATALOG",
    "BatchLoader",
    "DataError",
    "Dataset",
    "Entry",
    "MoleculeTable",
    "PackedGraphs",
    "Scaling",
    "Split",
    "Structure",
    "Task",
    "build_metric",
    "column_split",
    "data_root",
    "infer_task",
    "join_graphs",
    "load_dataset",
    "load_file",
    "make_batch",
    "make_data",
    "official_splits",
    "pack_molecules",
    "pack_networkx",
    "pack_ogb_folder",
    "pack_pyg",
    "pack_tu_folder",
    "random_split",
    "read_csv",
    "read_table",
    "rotating_folds",
    "scaffold_split",
    "stratified_folds",
    "take_graphs",
]
