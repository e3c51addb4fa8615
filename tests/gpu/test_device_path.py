"""What can be held of the path on a GPU without one: shapes on other devices, and how often the host must wait."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensorMode
from torch_geometric.data import Batch, Data

from policylearn.bags import Selection
from policylearn.fast import accelerate
from policylearn.models import Inputs, SubgraphGNN, build_model
from policylearn.nn import Features
from tests.errors import raises_naming
from tests.gpu.host_reads import HostReads

GRAPHS = 5
CHECKS = ("bags.graphs", "bags.adjacency", "bags.selection", "nn.features", "nn.segments", "nn.sums")

READS = [
    ("none", None, 0),
    ("random", None, 1),
    ("learned", "straight_through", 0),
    ("learned", "reinforce", 2),
    ("learned", "imle", 0),
]
"""How often a training step waits for the device: once per set of picks, to know whether all graphs have as many."""


def make_batch(device: str = "cpu") -> Batch:
    graphs = []
    for size in range(4, 4 + GRAPHS):
        ring = torch.arange(size)
        ends = torch.stack([torch.cat([ring, (ring + 1) % size]), torch.cat([(ring + 1) % size, ring])])
        graphs.append(Data(x=ring.view(-1, 1) % 3, edge_index=ends, edge_attr=torch.zeros(2 * size, 1).long()))
    return Batch.from_data_list(graphs).to(device)


def make_model(policy: str, estimator: str | None) -> SubgraphGNN:
    selection = {"name": policy} | ({"estimator": estimator} if estimator else {})
    settings = {"prediction": {"layers": 2, "channels": 8}, "selection": selection}
    model = build_model(settings=settings, inputs=Inputs(Features((3,)), Features((2,))))
    assert isinstance(model, SubgraphGNN)
    return model.train()


def losses(output: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    return (output - y).abs(), torch.ones_like(output, dtype=torch.bool)


@pytest.fixture
def elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if the tensors lay on a GPU, where input is not checked."""
    for module in CHECKS:
        monkeypatch.setattr(f"policylearn.{module}.may_read", lambda tensor: False)


@pytest.mark.usefixtures("elsewhere")
@pytest.mark.parametrize(("policy", "estimator", "reads"), READS)
def test_a_training_step_waits_for_the_device_no_more_often(policy: str, estimator: str | None, reads: int) -> None:
    model, batch = make_model(policy, estimator), make_batch()
    generator = torch.Generator().manual_seed(0)
    with HostReads() as seen:
        model.objective(batch, torch.zeros(GRAPHS, 1), losses, generator=generator).loss.backward()
    assert seen.total == reads, seen.reads
    assert all("bags/selection.py" in place for place in seen.reads)


def test_on_the_cpu_input_is_still_checked() -> None:
    batch = make_batch()
    batch.x = batch.x + 7
    with raises_naming(ValueError, "category"):
        make_model("none", None)(batch)


def test_every_kind_of_read_is_counted() -> None:
    values = torch.tensor([1.0, 0.0])
    with HostReads() as seen:
        float(values[0])
        bool(values.any())
        values.nonzero()
        values.tolist()
        values.numpy()
        torch.bincount(values.long())
        values[values > 0]
        torch.repeat_interleave(torch.arange(2), torch.tensor([1, 2]))
        torch.repeat_interleave(torch.arange(2), torch.tensor([1, 2]), output_size=3)
        values.sum().relu()
    assert seen.total == 8


@pytest.fixture
def complete(monkeypatch: pytest.MonkeyPatch) -> None:
    """All graphs have as many picks, the one fact that is read from the device; and the shape of a sparse product.

    PyTorch has no such product for tensors without values, so its shape is stated here.
    """

    def shape_of_product(ptr: Tensor, columns: Tensor, dense: Tensor) -> Tensor:
        assert ptr.device == columns.device == dense.device
        return dense.new_zeros(len(ptr) - 1, dense.shape[1])

    monkeypatch.setattr(Selection, "complete", True)
    monkeypatch.setattr("policylearn.nn.sums.multiply", shape_of_product)


@pytest.mark.usefixtures("complete")
@pytest.mark.parametrize(("policy", "estimator"), [(policy, estimator) for policy, estimator, _ in READS])
def test_shapes_on_the_meta_device(policy: str, estimator: str | None) -> None:
    model = make_model(policy, estimator).to("meta")
    step = model.objective(make_batch("meta"), torch.zeros(GRAPHS, 1, device="meta"), losses)
    assert step.loss.shape == ()
    assert step.outputs.shape[1:] == (1,)
    assert step.selection.roots.device.type == "meta"
    step.loss.backward()
    for name, weight in model.named_parameters():
        assert weight.grad is None or weight.grad.shape == weight.shape, name
    assert any(weight.grad is not None for weight in model.parameters())


@pytest.mark.usefixtures("complete", "elsewhere")
@pytest.mark.parametrize("policy", ["none", "random", "learned"])
def test_inference_with_fake_tensors(policy: str) -> None:
    batch = make_batch()
    with FakeTensorMode(allow_non_fake_inputs=True) as mode, torch.no_grad():
        model = make_model(policy, None).eval()
        for name in ("x", "edge_index", "edge_attr", "batch", "ptr"):
            batch[name] = mode.from_tensor(batch[name])
        assert model(batch).shape == (GRAPHS, 1)


def test_a_compiled_model_runs_its_plain_layers_elsewhere(complete: None) -> None:
    model = accelerate(make_model("random", None)).to("meta")
    assert model.objective(make_batch("meta"), torch.zeros(GRAPHS, 1, device="meta"), losses).loss.device.type == "meta"
