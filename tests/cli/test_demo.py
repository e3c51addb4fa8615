"""The demo: it runs from nothing, is the same for the same seed, and its graphs are what it says."""

from __future__ import annotations

from itertools import islice

import pytest
import torch

from policylearn.cli import demo, main


def test_it_prints_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo", "--steps", "2"]) == 0
    text = capsys.readouterr().out
    assert "200 new graphs after 2 steps" in text
    assert all(name in text for name in ("learned", "random", "guessing", "25.0%"))


def test_the_same_seed_gives_the_same_table(capsys: pytest.CaptureFixture[str]) -> None:
    tables = []
    for seed in (3, 3, 4):
        main(["demo", "--steps", "2", "--seed", str(seed)])
        tables.append(capsys.readouterr().out.split("new graphs")[1])
    assert tables[0] == tables[1] != tables[2]


def test_no_steps_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo", "--steps", "0"]) == 2
    assert "'steps' must be >= 1 (got 0)" in capsys.readouterr().err


def test_graphs_are_three_rings_each() -> None:
    for batch in islice(demo.fresh_graphs([0], 5), 3):
        assert batch.num_graphs == 5
        assert torch.bincount(batch.component + 3 * batch.batch).tolist() == [demo.CYCLE] * 15
        source, target = batch.edge_index
        assert torch.equal(batch.component[source], batch.component[target])
        assert int(batch.y.max()) < demo.CLASSES


def test_training_moves_both_networks() -> None:
    torch.manual_seed(0)
    model = demo.small_model()
    before = {name: value.clone() for name, value in model.named_parameters()}
    demo.train(model, demo.fresh_graphs([0], 8), 2, torch.Generator().manual_seed(0))
    moved = {name.split(".")[0] for name, value in model.named_parameters() if not torch.equal(value, before[name])}
    assert {"policy", "encoder", "head"} <= moved
