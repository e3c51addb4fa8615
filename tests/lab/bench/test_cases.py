"""What is measured, with which batches, and what is not."""

from __future__ import annotations

from pathlib import Path

import pytest

from lab.bench import BenchSettings, run_bench
from lab.bench.cases import CASES, CONTENDERS, plan
from lab.bench.contenders import Batches, inputs_of
from lab.bench.growth import draw_graph, sizes_up_to
from lab.bench.memory import replicated_bytes, run_alone, too_large
from policylearn.settings import DataConfig
from policylearn.training import Source, load_source
from tests.training.tiny import write_graphs


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Source:
    return load_source(DataConfig(name=str(write_graphs(tmp_path_factory.mktemp("bench") / "tiny.npz", 60))))


def test_other_estimators_are_measured_in_training_alone() -> None:
    train, infer = plan(BenchSettings(datasets=("zinc",)))
    assert [case.name for case in train.cases] == list(CASES)
    assert [case.name for case in infer.cases] == ["learned-t2", "learned-t5", "random-t2", "full", "none"]
    assert CASES["straight-t2"].selection == {"name": "learned", "picks": 2, "estimator": "straight_through"}


def test_the_full_bag_of_reddit_is_not_trained() -> None:
    train, infer = plan(BenchSettings(datasets=("reddit-binary",)))
    assert "full" not in {case.name for case in train.cases}
    assert "full" in {case.name for case in infer.cases}


def test_every_contender_is_timed(source: Source) -> None:
    cases = ("learned-t2", "straight-t2", "full", "none")
    settings = BenchSettings(
        (str(source.dataset.source),), cases, 2, 1, layers=2, channels=8, batch_size=8, growth_nodes=1000,
        families=("grid",), memory=False,
    )  # fmt: skip
    told: list[int] = []
    expected: list[int] = []
    report = run_bench(settings, "bench", lambda _title, steps: told.append(steps), expected.append)
    assert [(t.case, t.contender) for t in report.timings if t.phase == "train"] == [
        (case, contender) for case in cases for contender in CONTENDERS
    ]
    assert "straight-t2" not in {t.case for t in report.timings if t.phase == "infer"}
    assert all(len(t.ms) == 2 and min(t.ms) > 0 and t.graphs == 8 for t in report.timings)
    assert [growth.family for growth in report.growth] == ["grid"]
    assert sum(told) == sum(expected)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"cases": ("learned-t3",)}, "did you mean 'learned-t"),
        ({"rounds": 0}, "'rounds' must be >= 1 (got 0)"),
        ({"batch_size": 0}, "'batch-size' must be >= 1 (got 0)"),
        ({"growth_nodes": 10}, "'growth-nodes' must be 0 or >= 1000 (got 10)"),
    ],
)
def test_bad_settings_are_named(changes: dict, message: str) -> None:
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - the message is looked at below
        BenchSettings(**changes)
    assert message in str(caught.value)


def test_batches_change_from_round_to_round(source: Source) -> None:
    batches = Batches(source, 12, 7)
    assert len({tuple(rows) for rows in batches.indices}) == 7
    assert batches.get(1).num_graphs == 12
    assert batches.small().num_graphs >= 1


def test_batches_that_cannot_be_made_are_refused(source: Source, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="has 36 training graphs and no batch of 37"):
        Batches(source, 37, 1)
    nodes = load_source(DataConfig(name=str(write_graphs(tmp_path / "nodes.npz", node_level=True))))
    with pytest.raises(ValueError, match="predictions per node"):
        Batches(nodes, 4, 1)


def test_what_would_not_fit_into_memory_is_refused(source: Source) -> None:
    batch = Batches(source, 12, 1).get(0)

    def needed(case: str, phase: str) -> int:
        return replicated_bytes(inputs_of(source), BenchSettings().network, CASES[case], phase, batch)

    assert needed("learned-t5", "train") == pytest.approx(needed("learned-t2", "train") * (15 + 6) / (3 + 3))
    assert needed("learned-t2", "infer") < needed("learned-t2", "train")
    assert needed("random-t2", "train") < needed("learned-t2", "train") < needed("full", "train")
    assert too_large(1) == ""
    assert "1073741824 GiB" in too_large(2**60)


def test_peak_memory_is_measured_in_a_process_of_its_own(source: Source) -> None:
    words = {
        "dataset": str(source.dataset.source), "case": "full", "phase": "train", "contender": "ours", "batch_size": 36,
        "layers": 2, "channels": 64, "threads": 1,
    }  # fmt: skip
    found = run_alone("lab.bench.alone", words)
    rows = sum(int(n) * (int(n) + 1) for n in source.dataset.graphs.num_nodes[source.dataset.splits[0].train])
    least = rows * 64 * 4 * 2 * 4 // 4  # two layers keep their two maps of two streams, of rows that are alike once
    assert least < found["peak_bytes"] < 50 * least
    with pytest.raises(RuntimeError, match="failed with code 1"):
        run_alone("policylearn.absent", {})


def test_sizes_are_half_decades_from_ten_thousand() -> None:
    assert sizes_up_to(10**6) == [10_000, 31_623, 100_000, 316_228, 10**6]
    assert sizes_up_to(1000) == [100, 316, 1000]


@pytest.mark.parametrize(("family", "edges"), [("path", 2 * 99), ("grid", 4 * 90), ("sparse", None)])
def test_growing_graphs_are_sparse(family: str, edges: int | None) -> None:
    graph = draw_graph(family, 100)
    assert graph.num_nodes == 100
    assert graph.num_edges == edges or (edges is None and 350 < graph.num_edges <= 400)
    with pytest.raises(ValueError, match="'tree'"):
        draw_graph("tree", 10)
