"""An accelerated model is the plain one in outputs, gradients, statistics and names; what is unknown is left alone."""

from __future__ import annotations

import copy
import subprocess
import sys

import pytest
import torch
from torch import Tensor, nn

from policylearn.bags import DeleteNodes, EgoNets, Graphs
from policylearn.fast import Acceleration, accelerate
from policylearn.fast.acceleration import VARIABLE
from policylearn.fast.layers import CompiledTwoStreamLayer
from policylearn.models import SubgraphGNN
from policylearn.nn import CopiesThenNodes, NodesThenCopies, TwoStreamLayer
from tests.errors import raises_naming
from tests.graphs import batch_of, molecules, small_model

POLICIES = ("learned", "random", "full", "none", "degree")


def mean_square(outputs: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    return (outputs - y).square(), torch.ones_like(outputs)


def step(model: nn.Module) -> list[Tensor]:
    """The loss of a training step and its gradients."""
    batch = batch_of(*molecules(8))
    y = torch.arange(8.0, dtype=torch.float64).unsqueeze(1) / 8
    model.train().zero_grad()
    objective = model.objective(batch, y, mean_square, generator=torch.Generator().manual_seed(0))
    objective.loss.backward()
    return [objective.loss.detach(), objective.outputs.detach()] + [
        torch.zeros_like(weight) if weight.grad is None else weight.grad.clone() for weight in model.parameters()
    ]


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("norm", ["batch", "layer"])
def test_training_is_that_of_the_plain_model(policy: str, norm: str) -> None:
    plain = small_model(policy, dtype=torch.float64, norm=norm)
    fast = accelerate(copy.deepcopy(plain))
    for _ in range(2):
        for a, b in zip(step(plain), step(fast), strict=True):
            assert torch.allclose(a, b, atol=1e-8)
    for (name, a), (other, b) in zip(plain.state_dict().items(), fast.state_dict().items(), strict=True):
        assert name == other
        assert torch.allclose(a, b, atol=1e-9), name


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("cones", [True, False])
def test_inference_is_that_of_the_plain_model(policy: str, cones: bool) -> None:
    plain = small_model(policy, dtype=torch.float64).eval()
    fast = accelerate(plain, cones=cones)
    assert bool(fast.acceleration.cones) == (cones and policy != "none")
    batch = batch_of(*molecules(12))
    with torch.no_grad():
        assert torch.equal(plain.select(batch).roots, fast.select(batch).roots)
        assert torch.allclose(plain(batch), fast(batch), atol=1e-10)
    assert torch.allclose(plain(batch), fast(batch), atol=1e-10)  # with gradients


@pytest.mark.parametrize("estimator", ["reinforce", "straight_through", "imle"])
def test_every_way_to_learn(estimator: str) -> None:
    plain = small_model("learned", dtype=torch.float64, estimator=estimator)
    for a, b in zip(step(plain), step(accelerate(copy.deepcopy(plain))), strict=True):
        assert torch.allclose(a, b, atol=1e-8)


def test_the_twin_has_the_very_same_weights() -> None:
    model = small_model("learned")
    fast = accelerate(model)
    assert list(fast.state_dict()) == list(model.state_dict())
    assert all(a is b for a, b in zip(model.parameters(), fast.parameters(), strict=True))
    assert all(a is b for a, b in zip(model.buffers(), fast.buffers(), strict=True))
    fast.double()
    assert all(weight.dtype == torch.float64 for weight in (*model.parameters(), *model.buffers()))
    assert type(model) is SubgraphGNN
    assert type(model.encoder.layers[0]) is TwoStreamLayer
    assert isinstance(fast.encoder.layers[0], CompiledTwoStreamLayer)
    assert not hasattr(model, "acceleration")
    assert accelerate(fast) is fast


def test_a_twin_can_be_copied() -> None:
    fast = accelerate(small_model("learned")).eval()
    twice, batch = copy.deepcopy(fast), batch_of(*molecules(4))
    with torch.no_grad():
        assert torch.equal(fast(batch), twice(batch))
    assert not set(map(id, fast.parameters())) & set(map(id, twice.parameters()))


def test_the_report_says_what_was_swapped() -> None:
    report = accelerate(small_model("learned", layers=2)).acceleration
    assert str(report) == (
        "compiled layers: 2 of policy.encoder.layers, 2 of encoder.layers\ncones at inference: model, policy"
    )


def test_a_layer_of_ones_own_is_left_alone() -> None:
    class Doubled(TwoStreamLayer):
        def forward(self, h: Tensor, p: Tensor, bag: object, edge_attr: Tensor | None) -> tuple[Tensor, Tensor]:
            new, marks = super().forward(h, p, bag, edge_attr)
            return 2 * new, marks

    model = small_model("full", layers=2, dtype=torch.float64).eval()
    second = model.encoder.layers[1]
    model.encoder.layers[1] = Doubled(second.features, second.marks, residual=second.residual).eval()
    fast = accelerate(model)
    assert type(fast.encoder.layers[1]) is Doubled
    assert str(fast.acceleration) == (
        "compiled layers: 1 of encoder.layers\n"
        "encoder.layers.1: not compiled, as Doubled may compute something else\n"
        "model: no cones, as its encoder is not all compiled layers of two streams"
    )
    batch = batch_of(*molecules(4))
    with torch.no_grad():
        assert torch.allclose(fast(batch), model(batch), atol=1e-10)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"conv": "gcn"}, "its convolution is PyGConv, not GIN"),
        ({"norm": "none"}, "its norms are Identity, not all batch or all layer norms"),
    ],
)
def test_layers_of_other_parts_are_left_alone(changes: dict[str, str], reason: str) -> None:
    model = small_model("random", layers=2, **changes)
    report = accelerate(model).acceleration
    assert report.compiled == ()
    assert report.left["encoder.layers.0"] == f"not compiled, as {reason}"


def test_nothing_goes_past_a_hook() -> None:
    model, batch, seen = small_model("full", layers=2).eval(), batch_of(*molecules(5)), []
    with torch.no_grad():
        expected = model(batch)
        model.encoder.layers[1].marks.conv.lin2.register_forward_hook(lambda *_: seen.append("map"))
        model.encoder.register_forward_hook(lambda *_: seen.append("encoder"))
        model.readout.register_forward_hook(lambda *_: seen.append("readout"))
        fast = accelerate(model)
        assert torch.allclose(fast(batch), expected, atol=1e-5)
    assert {"map", "encoder"} <= set(seen)
    assert fast.acceleration.compiled == ("encoder.layers.0",)
    assert "hooks" in fast.acceleration.left["encoder.layers.1"]
    fast.train()(batch)
    assert seen.count("map") == 2


@pytest.mark.parametrize("place", ["encoder", "readout", "node_encoder"])
def test_cones_do_not_go_past_a_hook(place: str) -> None:
    model, batch, seen = small_model("full", layers=2).eval(), batch_of(*molecules(5)), []
    part = {"encoder": model.encoder, "readout": model.readout, "node_encoder": model.encoder.node_encoder}[place]
    part.register_forward_hook(lambda *_: seen.append(place))
    fast = accelerate(model)
    assert fast.acceleration.left["model"] == "no cones, as they would pass by hooks"
    fast(batch)
    assert seen == [place]


@pytest.mark.parametrize("rule", [EgoNets(hops=1), DeleteNodes()])
def test_other_rules_have_no_cones(rule: object) -> None:
    model = small_model("random", layers=2, dtype=torch.float64).eval()
    model.rule = rule
    fast, batch = accelerate(model), batch_of(*molecules(5))
    assert fast.acceleration.left == {"model": f"no cones, as copies are made by {type(rule).__name__}"}
    with torch.no_grad():
        assert torch.allclose(fast(batch), model(batch), atol=1e-10)


def test_other_readouts_have_no_cones() -> None:
    class Doubled(CopiesThenNodes):
        def finish(self, kept: object, graphs: Graphs) -> Tensor:
            return 2 * super().finish(kept, graphs)

    model = small_model("random", layers=2, dtype=torch.float64).eval()
    for readout in (Doubled(), NodesThenCopies()):
        model.readout = readout
        fast, batch = accelerate(model), batch_of(*molecules(5))
        assert fast.acceleration.left == {"model": f"no cones, as its readout is {type(readout).__name__}"}
        with torch.no_grad():
            assert torch.allclose(fast(batch), model(batch), atol=1e-10)


def test_paper_mode_has_no_cones_in_its_policy() -> None:
    model = small_model("learned", layers=2, mode="paper", dtype=torch.float64).eval()
    fast, batch = accelerate(model), batch_of(*molecules(5))
    assert fast.acceleration.cones == ("model",)
    assert fast.acceleration.left == {"policy": "no cones, as it looks at whole bags"}
    with torch.no_grad():
        assert torch.allclose(fast(batch), model(batch), atol=1e-9)


def test_a_model_that_is_not_known_is_left_alone() -> None:
    model = nn.Sequential(nn.Linear(3, 2), nn.ReLU())
    fast = accelerate(model)
    assert str(fast.acceleration) == "compiled layers: none\nmodel: nothing is compiled, as no layer is known here"
    assert torch.equal(fast(torch.ones(1, 3)), model(torch.ones(1, 3)))


def test_the_environment_turns_it_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "torch")
    model = small_model("learned")
    fast = accelerate(model)
    assert fast.acceleration == Acceleration(left={"model": f"nothing is compiled, as {VARIABLE} is 'torch'"})
    assert type(fast) is SubgraphGNN
    assert fast.encoder is model.encoder
    monkeypatch.setenv(VARIABLE, "quick")
    with raises_naming(ValueError, "'quick'"):
        accelerate(small_model("none"))


def test_steps_of_a_training_leave_their_memory_to_the_next() -> None:
    """In a process of its own, whose setting it is: pages that were touched are not asked for again."""
    if not sys.platform.startswith("linux"):
        pytest.skip("only glibc can be told to keep memory")
    program = """
import resource
import torch
from policylearn.fast import keep_freed_memory
def faults():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    held = [torch.empty(8 << 20, dtype=torch.uint8).fill_(1) for _ in range(8)]
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before
keep_freed_memory()
print(min(faults() for _ in range(4)))
"""
    # Without the setting it is a matter of chance: the heap is given back where nothing lies at its end.
    ran = subprocess.run([sys.executable, "-c", program], check=True, timeout=300, capture_output=True)
    assert int(ran.stdout) < 100
