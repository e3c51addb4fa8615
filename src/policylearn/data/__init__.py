"""Datasets, tasks, splits, converters, synthetic graphs and batches."""

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
from policylearn.data.splits import Split, column_split, official_splits, random_split, stratified_folds
from policylearn.data.structures import Structure
from policylearn.data.subset import take_graphs
from policylearn.data.tasks import Scaling, Task

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
    "scaffold_split",
    "stratified_folds",
    "take_graphs",
]
