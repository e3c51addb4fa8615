"""A table small enough for tests, on graphs of its own."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from lab.reproduce.declaration import Column, Protocol, Table, row
from lab.reproduce.plan import plan
from lab.reproduce.records import Record, load_records
from lab.reproduce.runner import run_table
from lab.reproduce.tables import METHODS
from lab.reproduce.wish import Wish
from lab.settings import open_ledger

SMALL: dict[str, Any] = {
    "prediction.channels": 4,
    "prediction.layers": 1,
    "fit.batch_size": 12,
    "fit.threads": 1,
    "fit.checkpoint_seconds": 0.0,
}


def tiny_table(data: Path | str, count: int = 2) -> Table:
    """One column of seeds over a packed file."""
    column = Column("tiny (MAE)", "tiny", str(data), "mae", False, Protocol("seed", count))
    rows = (
        row(METHODS["gin"], None, "0.50±0.10"),
        row(METHODS["random"], 2, "0.40±0.10"),
        row(METHODS["learned"], 2, "0.30±0.05"),
        row(METHODS["osan"], 2, "N/A"),
    )
    return Table("tiny", "Tiny", "tab:tiny", (column,), rows)


def tiny_wish(epochs: int = 2, **changes: Any) -> Wish:
    return replace(Wish(epochs=epochs, settings=SMALL), **changes)


def one_record(data: Path, root: Path, **changes: Any) -> Record:
    """The record of one quick run, with some fields changed."""
    ledger = open_ledger(root)
    jobs = plan(tiny_table(data), tiny_wish(1, rows=("learned-t2",), seeds=1))
    run_table(jobs, ledger)
    return replace(load_records(ledger)[0], **changes)
