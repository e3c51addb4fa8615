"""The memory of a training step, estimated before it is taken."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from policylearn.settings import changed
from policylearn.settings.run_files import RunError
from policylearn.training import fit, load_source, make_model
from policylearn.training import memory as memory_module
from policylearn.training.memory import check_memory, estimate_bytes, free_bytes, kept_bytes, upper_bound
from policylearn.training.prepared_data import prepare_data
from tests.training.tiny import tiny_config, write_graphs


@pytest.fixture(scope="module")
def graphs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_graphs(tmp_path_factory.mktemp("data") / "tiny.npz", 200)


CASES = {
    "learned": {"selection": {"picks": 2}},
    "many picks": {"selection": {"name": "random", "picks": 8}},
    "full": {"selection": {"name": "full"}},
    "none": {"selection": {"name": "none"}},
    "system": {"model": "dss-gnn", "system": {"channels": 16, "layers": 2}},
}


@pytest.mark.parametrize("case", CASES)
def test_the_estimate_is_what_a_batch_keeps(case: str, graphs: Path) -> None:
    """Against the step of a whole batch, which the estimate never runs."""
    config = tiny_config(graphs, fit={"batch_size": 64}, **CASES[case])
    source = load_source(config.data)
    prepared, split = prepare_data(config, source), source.dataset.splits[0]
    model = make_model(config, prepared.inputs)
    whole = kept_bytes(model, prepared.dataset, split.train[:64])
    weights = 4 * sum(weight.numel() * 4 for weight in model.parameters())
    guess = estimate_bytes(config, prepared.dataset, split, model)
    assert 0.7 < (guess - weights) / whole < 2.0
    assert guess < upper_bound(config, prepared.dataset, split) + weights


def test_picks_that_need_more_than_is_free_are_refused_before_training(
    graphs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory_module, "free_bytes", lambda: 1e4)
    config = tiny_config(graphs, fit={"epochs": 1})
    source = load_source(config.data)
    with pytest.raises(RunError, match=r"12 graphs .* 1e-05 GB .* --fit.batch_size"):
        fit(config, source, tmp_path / "run")
    assert not (tmp_path / "run").exists()
    told = changed(config, {"fit": {"check_memory": False}})
    assert fit(told, source, tmp_path / "run").metrics["epochs"] == 1


def test_small_trainings_are_not_tried(graphs: Path) -> None:
    config = tiny_config(graphs)
    source = load_source(config.data)

    def never() -> torch.nn.Module:
        raise AssertionError("a model was built")

    check_memory(config, source.dataset, source.dataset.splits[0], never)


def test_a_group_that_holds_a_process_to_less_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory_module, "GROUP", tmp_path)
    machine = free_bytes()
    assert machine > 1e8
    for name, text in (("max", "3000000\n"), ("current", "2500000\n"), ("stat", "anon 5\ninactive_file 1000000\n")):
        (tmp_path / f"memory.{name}").write_text(text)
    assert free_bytes() == 1_500_000
    (tmp_path / "memory.max").write_text("max\n")
    assert free_bytes() == pytest.approx(machine, rel=0.5)
