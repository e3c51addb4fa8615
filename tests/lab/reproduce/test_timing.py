"""Steps that are timed are those of a training."""

from __future__ import annotations

import pytest
import torch

from lab.reproduce.timing import TrainingSteps
from policylearn.data import BatchLoader
from policylearn.training import load_source, make_model
from policylearn.training.asam import Asam
from policylearn.training.prepared_data import prepare_data
from tests.training.tiny import tiny_config, write_graphs


@pytest.mark.parametrize(
    "optim",
    [
        {},
        {"schedule": "cosine", "warmup": 0.1, "gradient_clip": 1e-9, "optimizer": "sgd"},
        {"asam_rho": 0.5},
        {"schedule": "milestones", "milestones": (3,)},
    ],
    ids=["adam", "clipped", "asam", "milestones"],
)
def test_a_step_works_without_a_trainer(optim: dict, tmp_path_factory: pytest.TempPathFactory) -> None:
    config = tiny_config(write_graphs(tmp_path_factory.mktemp("timing") / "tiny.npz"), optim=optim)
    source = load_source(config.data)
    prepared = prepare_data(config, source)
    torch.manual_seed(0)
    model = make_model(config, prepared.inputs)
    steps = TrainingSteps(model, source.dataset.task, config)
    before = [weight.detach().clone() for weight in model.parameters()]
    steps.epoch(BatchLoader(prepared.dataset.graphs, source.dataset.splits[0].train, batch_size=12), most=2)
    after = [weight.detach() for weight in model.parameters()]
    change = max(float((a - b).abs().max()) for a, b in zip(before, after, strict=True))
    assert isinstance(steps.optimizer, Asam) == bool(optim.get("asam_rho"))
    assert steps.module.passes == (2 if optim.get("asam_rho") else 1)
    if "gradient_clip" in optim:
        assert 0 <= change < 1e-10  # a step of plain descent is as short as the gradient is made
    else:
        assert change > 1e-4
