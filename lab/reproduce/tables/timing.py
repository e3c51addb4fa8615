"""Running times, and the errors that stand beside them."""

from __future__ import annotations

from lab.reproduce import methods as m
from lab.reproduce.declaration import Column, Measure, Protocol, Table, row
from lab.reproduce.tables.zinc import MAE

ROUNDS = Protocol("round", 5)
"""The paper does not say how many it took."""
GPU = "The paper's times are those of a GPU, so ours compare with each other and not with them."


def time(title: str, slug: str, dataset: str, measure: Measure) -> Column:
    """A column of milliseconds."""
    return Column(title, slug, dataset, "milliseconds", False, ROUNDS, measure=measure)


REDDIT_TIMING = Table(
    "reddit-timing",
    "Reddit-Binary, time on the test graphs of one fold",
    "tab:timing",
    (
        time("det=True (ms)", "deterministic", "reddit-binary", "test_ms_deterministic"),
        time("det=False (ms)", "usual", "reddit-binary", "test_ms"),
    ),
    (
        row(m.FULL, None, "OOM", "OOM"),
        row(m.RANDOM, 20, "1360.0±1.3", "180.65±5.2"),
        row(m.RANDOM, 2, "216.7±0.4", "39.7±2.3"),
        row(m.LEARNED, 2, "411.7±0.6", "77.4±1.2"),
    ),
    note=f"{GPU} RTX A6000.",
)

ZINC_TIMING = Table(
    "zinc-timing",
    "ZINC-12k, time of a training epoch and of the test graphs",
    "tab:zinc-runtimes",
    (
        time("Train time (ms)", "train", "zinc", "train_ms"),
        time("Test time (ms)", "test", "zinc", "test_ms"),
        MAE,
    ),
    (
        row(m.GIN, None, "1370.10±10.79", "84.81±0.26", "0.163±0.004"),
        row(m.FULL, None, "4872.79±14.30", "197.38±0.30", "0.087±0.003"),
        row(m.OSAN, 2, "2964.46±30.36", "227.93±0.21", "0.177±0.016"),
        row(m.RANDOM, 2, "2114.00±27.88", "107.02±0.22", "0.136±0.005"),
        row(m.LEARNED, 2, "2489.25±9.42", "150.38±0.33", "0.120±0.003"),
    ),
    note=f"{GPU} RTX A6000.",
)

ZINC_TIMING_CIN = Table(
    "zinc-timing-cin",
    "ZINC-12k, time on the test graphs beside CIN",
    "tab:zinc-runtimes-cin",
    (time("Time (ms)", "test", "zinc", "test_ms"), MAE),
    (
        row(m.GIN, None, "126.91±0.82", "0.163±0.004"),
        row(m.CIN, None, "471.00±3.00", "0.079±0.006"),
        row(m.LEARNED, 2, "235.14±0.21", "0.120±0.003"),
        row(m.LEARNED, 5, "411.19±0.39", "0.109±0.005"),
    ),
    note=f"{GPU} A100 in the table's title, V100 in the text.",
)
