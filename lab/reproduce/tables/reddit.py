"""Reddit-Binary: the main text's table and the appendix's longer one."""

from __future__ import annotations

from lab.reproduce import methods as m
from lab.reproduce.declaration import Column, Protocol, Table, row

ACCURACY = Column("RDT-B (ACC)", "reddit-binary", "reddit-binary", "accuracy", True, Protocol("fold", 10), factor=100.0)

MESSAGE_PASSING = (
    row(m.GIN, None, "92.4±2.5"),
    row(m.SIN, None, "92.2±1.0"),
    row(m.CIN, None, "92.4±2.1"),
)
OURS = (
    row(m.FULL, None, "OOM"),
    row(m.RANDOM, 20, "92.6±1.5"),
    row(m.RANDOM, 2, "92.4±1.0"),
    row(m.LEARNED, 2, "93.0±0.9"),
)
RANDOM_COPIES = (row(m.RANDOM_DS_GNN, 2, "91.3±1.6"), row(m.RANDOM_DSS_GNN, 2, "92.7±0.8"))

REDDIT = Table("reddit", "Reddit-Binary", "tab:tud", (ACCURACY,), (*MESSAGE_PASSING, *OURS))
REDDIT_FULL = Table(
    "reddit-full",
    "Reddit-Binary, all methods",
    "tab:tud-full",
    (ACCURACY,),
    (*MESSAGE_PASSING, *RANDOM_COPIES, *OURS),
)
