"""The paper's tables as declarations, the runs behind our figures, and the ledger that keeps them."""

from lab.reproduce.comparisons import take_over
from lab.reproduce.declaration import (
    Cell,
    Column,
    Experiment,
    Method,
    PaperRow,
    Printed,
    Protocol,
    Table,
    row,
)
from lab.reproduce.plan import Job, Wish, plan
from lab.reproduce.records import Record, load_records, open_ledger, run_folder
from lab.reproduce.report import make_report, write_report
from lab.reproduce.runner import run_table
from lab.reproduce.tables import TABLES

__all__ = [
    "TABLES",
    "Cell",
    "Column",
    "Experiment",
    "Job",
    "Method",
    "PaperRow",
    "Printed",
    "Protocol",
    "Record",
    "Table",
    "Wish",
    "load_records",
    "make_report",
    "open_ledger",
    "plan",
    "row",
    "run_folder",
    "run_table",
    "take_over",
    "write_report",
]
