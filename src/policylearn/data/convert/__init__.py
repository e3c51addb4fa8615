"""Converters into the packed form: OGB and TUDataset folders, PyG data, networkx graphs, tables of SMILES."""

from policylearn.data.convert.lines import TableRow
from policylearn.data.convert.nx import pack_networkx
from policylearn.data.convert.ogb import pack_ogb_folder
from policylearn.data.convert.pyg import pack_pyg
from policylearn.data.convert.report import DroppedRow, Duplicate, Salt, TableReport
from policylearn.data.convert.rows import TableRows, is_table, iter_rows, open_rows, table_columns
from policylearn.data.convert.stacking import pack_molecules
from policylearn.data.convert.table import MoleculeTable, read_csv, read_table
from policylearn.data.convert.tu import pack_tu_folder

__all__ = [
    "DroppedRow",
    "Duplicate",
    "MoleculeTable",
    "Salt",
    "TableReport",
    "TableRow",
    "TableRows",
    "is_table",
    "iter_rows",
    "open_rows",
    "pack_molecules",
    "pack_networkx",
    "pack_ogb_folder",
    "pack_pyg",
    "pack_tu_folder",
    "read_csv",
    "read_table",
    "table_columns",
]
