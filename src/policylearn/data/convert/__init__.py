"""Converters into the packed form: OGB and TUDataset folders, PyG data, networkx graphs, tables of SMILES.

Names are imported when they are first asked for: a process that reads molecules does without torch and PyG.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from policylearn.data.convert.lines import TableRow
    from policylearn.data.convert.nx import pack_networkx
    from policylearn.data.convert.ogb import pack_ogb_folder
    from policylearn.data.convert.pyg import pack_pyg
    from policylearn.data.convert.report import DroppedRow, Duplicate, Salt, TableReport
    from policylearn.data.convert.rows import TableRows, is_table, iter_rows, open_rows, table_columns
    from policylearn.data.convert.stacking import pack_molecules
    from policylearn.data.convert.table import MoleculeTable, read_csv, read_table
    from policylearn.data.convert.tu import pack_tu_folder

HOMES: dict[str, tuple[str, ...]] = {
    "lines": ("TableRow",),
    "nx": ("pack_networkx",),
    "ogb": ("pack_ogb_folder",),
    "pyg": ("pack_pyg",),
    "report": ("DroppedRow", "Duplicate", "Salt", "TableReport"),
    "rows": ("TableRows", "is_table", "iter_rows", "open_rows", "table_columns"),
    "stacking": ("pack_molecules",),
    "table": ("MoleculeTable", "read_csv", "read_table"),
    "tu": ("pack_tu_folder",),
}
"""The names of each module that belong to the folder's door."""


def __getattr__(name: str) -> Any:
    for module, names in HOMES.items():
        if name in names:
            return getattr(import_module(f"{__name__}.{module}"), name)
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")


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
