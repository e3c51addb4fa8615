"""Faults that models once had, each with the test that would find it again."""

from __future__ import annotations

import warnings

import pytest
import torch

from policylearn.data import Task
from policylearn.models import Inputs, System, build_model
from policylearn.nn import Features
from policylearn.settings.schema import RunNote, Settings
from tests.errors import raises_naming
from tests.graphs import ATOMS, BONDS, batch_of, molecules

TASK = Task("regression", "mse", "rmse")
ESTIMATORS = ["reinforce", "straight_through", "imle"]


def model_with(estimator: str) -> torch.nn.Module:
    torch.manual_seed(0)
    settings = {"prediction": {"channels": 8, "layers": 2}, "selection": {"estimator": estimator}}
    return build_model(settings=settings, inputs=Inputs(Features((ATOMS,)), Features((BONDS,))))


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_the_objective_in_evaluation_mode_is_the_loss_of_the_output(estimator: str) -> None:
    model, batch = model_with(estimator).eval(), batch_of(*molecules(4))
    y = torch.arange(4.0).unsqueeze(1)
    with torch.no_grad():
        step = model.objective(batch, y, TASK.loss_terms)
        output = model(batch)
    assert torch.allclose(step.outputs, output, atol=1e-6)
    assert torch.allclose(step.loss, TASK.compute_loss(output, y), atol=1e-6)
    assert torch.equal(step.loss, step.prediction_loss)


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_a_plain_loss_that_teaches_the_policy_nothing_is_warned_of(estimator: str) -> None:
    model, batch = model_with(estimator), batch_of(*molecules(4))
    y = torch.arange(4.0).unsqueeze(1)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RunNote)
        model.objective(batch, y, TASK.loss_terms).loss.backward()
        model(batch)  # without a way back there is nothing to say
    model.zero_grad()
    loss = TASK.compute_loss(model(batch), y)
    if estimator == "reinforce":
        with pytest.warns(RunNote):
            loss.backward()
    else:
        with warnings.catch_warnings():
            warnings.simplefilter("error", RunNote)
            loss.backward()
    moved = any(weight.grad is not None and bool(weight.grad.any()) for weight in model.policy.parameters())
    assert moved == (estimator != "reinforce")


@pytest.mark.parametrize(("conv", "reads"), [("gin", True), ("gatv2", True), ("gcn", False), ("sage", False)])
def test_convolutions_that_ignore_edge_features_say_so(conv: str, reads: bool) -> None:
    settings = {"prediction": {"channels": 8, "layers": 1, "conv": conv}}
    without, with_edges = Inputs(Features((5,))), Inputs(Features((5,)), Features((4, 3)))
    with warnings.catch_warnings():
        warnings.simplefilter("error", RunNote)
        build_model(settings=settings, inputs=without)
        if reads:
            build_model(settings=settings, inputs=with_edges)
    if not reads:
        with pytest.warns(RunNote, match=f"'{conv}'"):
            build_model(settings=settings, inputs=with_edges)


@pytest.mark.parametrize(("policy", "used"), [("none", False), ("random", True)])
def test_a_bag_rule_without_picks_is_warned_of(policy: str, used: bool) -> None:
    settings = {"selection": {"name": policy}, "bag": {"rule": "ego"}, "prediction": {"channels": 8}}
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        build_model(settings=settings)
    assert [("'ego'" in str(one.message)) for one in said if one.category is RunNote] == [True] * (not used)


def test_a_model_without_an_objective_is_refused() -> None:
    lacking = System("lacking", "of a test", Settings, lambda _settings, _inputs: torch.nn.Linear(1, 1))
    with raises_naming(ValueError, "'lacking'", "objective and depends_on_batch"):
        lacking.build(Settings(), Inputs())
