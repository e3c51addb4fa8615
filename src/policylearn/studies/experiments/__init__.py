"""The paper's tables as declarations, the runs behind our figures, and the ledger that keeps them."""

from policylearn.studies.experiments.declaration import (
    Cell,
    Column,
    Experiment,
    Method,
    Printed,
    Protocol,
    Row,
    Table,
    row,
)
from policylearn.studies.experiments.ledger import Ledger, LedgerError, Record
from policylearn.studies.experiments.plan import Job, Wish, plan
from policylearn.studies.experiments.report import make_report, write_report
from policylearn.studies.experiments.runner import Outcome, run_jobs
from policylearn.studies.experiments.tables import TABLES

__all__ = [
    "TABLES",
    "Cell",
    "Column",
    "Experiment",
    "Job",
    "Ledger",
    "LedgerError",
    "Method",
    "Outcome",
    "Printed",
    "Protocol",
    "Record",
    "Row",
    "Table",
    "Wish",
    "make_report",
    "plan",
    "row",
    "run_jobs",
    "write_report",
]
