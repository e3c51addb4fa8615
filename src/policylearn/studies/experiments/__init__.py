"""The paper's tables as declarations, the runs behind our figures, and the ledger that keeps them."""

from policylearn.studies.experiments.comparisons import take_over
from policylearn.studies.experiments.declaration import (
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
from policylearn.studies.experiments.plan import Job, Wish, plan
from policylearn.studies.experiments.records import Record, load_records, open_ledger, run_folder
from policylearn.studies.experiments.report import make_report, write_report
from policylearn.studies.experiments.runner import run_table
from policylearn.studies.experiments.tables import TABLES

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
