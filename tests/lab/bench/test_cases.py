"""What is measured, with which batches, and what is not."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from lab.bench import CASES, QUICK_CASES, Settings
from lab.bench.cases import plan
from lab.bench.contenders import Batches, model_config
from lab.bench.growth import draw_graph, sizes_up_to
from lab.bench.memory import replicated_bytes, run_alone, too_large
from policylearn.settings import DataConfig
from policylearn.training import Source, load_source
from tests.training.tiny import write_graphs


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Source:
    return load_source(DataConfig(name=str(write_graphs(tmp_path_factory.mktemp("bench") / "tiny.npz", 60))))


def test_training_a_learned_policy_is_measured_with_both_estimators() -> None:
    train, infer = (group for group in plan(Settings(datasets=("ogbg-molhiv",))) if not group.deterministic)
    assert train.estimators(CASES["learned-t2"]) == ("straight_through", "rloo")
    assert train.estimators(CASES["random-t2"]) == (None,)
    assert infer.estimators(CASES["learned-t2"]) == (None,)


def test_the_full_bag_of_reddit_is_not_trained() -> None:
    groups = plan(Settings(datasets=("reddit-binary",)))
    trained = {case.name for group in groups if group.phase == "train" for case in group.cases}
    looked_at = {case.name for group in groups if group.phase == "infer" for case in group.cases}
    assert looked_at - trained == {"full"}
    assert looked_at == set(CASES)


def test_zinc_is_measured_with_and_without_deterministic_algorithms() -> None:
    groups = plan(Settings(datasets=("zinc",)))
    assert [(group.phase, group.deterministic) for group in groups] == [
        ("train", False), ("train", True), ("infer", False), ("infer", True),
    ]  # fmt: skip
    assert len({group.cases for group in groups}) == 1


def test_a_quick_run_is_shorter() -> None:
    quick = plan(Settings(datasets=("zinc",), cases=QUICK_CASES, quick=True))
    assert "learned-t8" not in {case.name for group in quick for case in group.cases}
    assert {case.name for group in quick if group.deterministic for case in group.cases} == {"learned-t2", "random-t2"}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"cases": ("learned-t3",)}, "there is no case 'learned-t3'; did you mean 'learned-t"),
        ({"rounds": 0}, "'rounds' must be >= 1 (got 0)"),
        ({"batch_size": 0}, "'batch-size' must be >= 1 (got 0)"),
        ({"growth_nodes": 10}, "'growth-nodes' must be 0 or >= 1000 (got 10)"),
    ],
)
def test_bad_settings_are_named(changes: dict, message: str) -> None:
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - the message is looked at below
        Settings(**changes)
    assert message in str(caught.value)


def test_batches_change_from_round_to_round_and_rloo_takes_a_part_of_them(source: Source) -> None:
    batches = Batches(source, 12, 7)
    assert len({tuple(rows) for rows in batches.indices}) == 7
    whole, part = batches.get(1), batches.get(1, "rloo")
    assert (whole.num_graphs, part.num_graphs) == (12, 3)
    assert torch.equal(whole.x[: part.num_nodes], part.x)
    assert batches.small().num_graphs >= 1


def test_batches_that_cannot_be_made_are_refused(source: Source) -> None:
    with pytest.raises(ValueError, match="has 36 training graphs and no batch of 37; use --batch-size"):
        Batches(source, 37, 1)
    with pytest.raises(ValueError, match="a batch of 6 cannot hold 4 bags of each graph; make it a multiple of 4"):
        Batches(source, 6, 1).get(0, "rloo")


def test_tasks_of_nodes_are_refused(tmp_path: Path) -> None:
    nodes = load_source(DataConfig(name=str(write_graphs(tmp_path / "nodes.npz", node_level=True))))
    with pytest.raises(ValueError, match="predictions per node; the benchmark takes datasets of graphs"):
        Batches(nodes, 4, 1)


def test_what_would_not_fit_into_memory_is_refused(source: Source) -> None:
    batch = Batches(source, 12, 1).get(0)

    def needed(case: str, phase: str) -> int:
        return replicated_bytes(model_config(source, CASES[case], Settings().network, None), CASES[case], phase, batch)

    assert needed("learned-t8", "train") == pytest.approx(needed("learned-t2", "train") * (36 + 9) / (3 + 3))
    assert needed("learned-t2", "infer") < needed("learned-t2", "train")
    assert needed("random-t2", "train") < needed("learned-t2", "train") < needed("full", "train")
    assert too_large(1) == ""
    assert too_large(2**60).startswith("not run: would need about 1073741824 GiB of memory")


def test_peak_memory_is_measured_in_a_process_of_its_own(source: Source) -> None:
    words = {
        "dataset": str(source.dataset.source), "case": "full", "phase": "train", "contender": "ours", "estimator": None,
        "batch_size": 36, "layers": 2, "channels": 64, "threads": 1,
    }  # fmt: skip
    found = run_alone("lab.bench.alone", words)
    rows = sum(int(n) * (int(n) + 1) for n in source.dataset.graphs.num_nodes[source.dataset.splits[0].train])
    least = rows * 64 * 4 * 2 * 4 // 4  # two layers keep their two maps of two streams, of rows that are alike once
    assert least < found["peak_bytes"] < 50 * least
    with pytest.raises(RuntimeError, match="in a process of its own failed with code 1"):
        run_alone("policylearn.absent", {})


def test_sizes_are_half_decades_from_ten_thousand() -> None:
    assert sizes_up_to(10**6) == [10_000, 31_623, 100_000, 316_228, 10**6]
    assert sizes_up_to(10**5) == [10_000, 31_623, 100_000]
    assert sizes_up_to(1000) == [100, 316, 1000]


@pytest.mark.parametrize(("family", "edges"), [("path", 2 * 99), ("grid", 4 * 90), ("sparse", None)])
def test_growing_graphs_are_sparse(family: str, edges: int | None) -> None:
    graph = draw_graph(family, 100)
    assert graph.num_nodes == 100
    assert graph.num_edges == edges or (edges is None and 350 < graph.num_edges <= 400)
    with pytest.raises(ValueError, match="there is no family 'tree' of graphs"):
        draw_graph("tree", 10)
