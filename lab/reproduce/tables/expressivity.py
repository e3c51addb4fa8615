"""CSL and EXP, where ordinary message passing guesses."""

from __future__ import annotations

from lab.reproduce import methods as m
from lab.reproduce.declaration import Column, Protocol, Table, row

EXPRESSIVITY = Table(
    "expressivity",
    "CSL and EXP",
    "tab:expressivity",
    (
        Column("CSL (ACC)", "csl", "csl", "accuracy", True, Protocol("fold", 5), factor=100.0),
        Column("EXP (ACC)", "exp", "exp", "accuracy", True, Protocol("fold", 10), factor=100.0),
    ),
    (
        row(m.GIN, None, "10.00±0.0", "51.20±2.1"),
        row(m.FULL, None, "100.00±0.0", "100.00±0.0"),
        row(m.RANDOM, 2, "100.00±0.0", "89.92±2.5"),
        row(m.LEARNED, 2, "100.00±0.0", "100.00±0.0"),
    ),
)
