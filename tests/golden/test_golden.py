"""Numbers from the authors' implementation, reproduced in `paper` mode."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor
from torch_geometric.data import Batch

from policylearn.bags import Graphs, Selection
from policylearn.models import Inputs, SubgraphGNN, build_model
from policylearn.nn import Features
from policylearn.policies import FullPolicy, LearnedPolicy
from tests.golden.location import GOLDEN

CASES = sorted(GOLDEN.glob("*.npz"))

pytestmark = pytest.mark.skipif(
    not CASES, reason=f"no golden cases in {GOLDEN}; set POLICYLEARN_GOLDEN to their folder"
)


class Golden:
    """One case: the graphs, a model with the given weights, and the numbers to meet."""

    def __init__(self, path: Path, dtype: torch.dtype = torch.float64) -> None:
        with np.load(path) as file:
            self.arrays = {name: torch.from_numpy(file[name]) for name in file.files if name != "meta"}
            self.meta = json.loads(str(file["meta"]))
        self.dtype = dtype
        self.graphs = Graphs.of(self.batch())
        self.model = self.build()

    def batch(self) -> Batch:
        x, ptr, edge_attr = self["x"], self["ptr"], self.arrays.get("edge_attr")
        if not self.edge_kind.present:
            edge_attr = None
        assignment = torch.repeat_interleave(torch.arange(len(ptr) - 1), ptr.diff())
        return Batch(x=x, edge_index=self["edge_index"], edge_attr=edge_attr, ptr=ptr, batch=assignment)

    def __getitem__(self, name: str) -> Tensor:
        value = self.arrays[name]
        return value.to(self.dtype) if value.is_floating_point() else value

    @staticmethod
    def feature_kind(text: str | None) -> Features:
        if not text or text == "none":
            return Features()
        kind, size = text.rsplit("-", 1)
        return Features((int(size),)) if kind == "categorical" else Features(real=int(size))

    @property
    def edge_kind(self) -> Features:
        return self.feature_kind(self.meta.get("edge_features"))

    def build(self) -> SubgraphGNN:
        meta = self.meta
        selection = {"picks": meta["T"], "mode": "paper", "estimator": "straight_through", "tau": meta["tau"]}
        network = {name: meta[name] for name in ("channels", "layers", "residual")}
        inputs = Inputs(self.feature_kind(meta["node_features"]), self.edge_kind)
        model = build_model(settings={"prediction": network, "selection": selection}, inputs=inputs).to(self.dtype)
        assert isinstance(model, SubgraphGNN)
        weights = self.named("weight/")
        assert set(weights) == set(model.state_dict()), "every weight has its counterpart"
        model.load_state_dict(weights)
        return model

    def named(self, prefix: str) -> dict[str, Tensor]:
        """The arrays below ``prefix``, under the names of our model's weights."""
        inner = "tables.0" if self.meta["node_features"].startswith("categorical") else "linear"
        found = (name for name in self.arrays if name.startswith(prefix))
        return {ours(name.removeprefix(prefix), inner): self[name] for name in found}

    def padded(self, values: Tensor) -> Tensor:
        """Per-node values as the cases store them, (T, N) -> (T, G, max n)."""
        sizes = self.graphs.sizes.tolist()
        out = torch.full((len(values), len(sizes), max(sizes)), -torch.inf, dtype=values.dtype)
        for graph, part in enumerate(values.split(sizes, dim=1)):
            out[:, graph, : part.shape[1]] = part
        return out

    def flat(self, values: Tensor) -> Tensor:
        """The inverse of `padded`."""
        sizes = self.graphs.sizes.tolist()
        return torch.cat([values[:, graph, :size] for graph, size in enumerate(sizes)], dim=1)


def ours(name: str, inner: str) -> str:
    """The name that a weight of the authors' network has in our model."""
    network, name = name.split(".", 1)
    name = re.sub(r"layers\.(\d+)\.h\.", r"layers.\1.features.", name)
    name = re.sub(r"layers\.(\d+)\.p\.", r"layers.\1.marks.", name)
    name = re.sub(r"(features|marks)\.norm2", r"\1.norm", name)
    name = re.sub(r"(features|marks)\.norm1", r"\1.conv.norm", name)
    name = re.sub(r"(features|marks)\.(eps|lin1|lin2)", r"\1.conv.\2", name)
    name = name.replace("features.edge_embedding.weight", "features.conv.edges.tables.0.weight")
    name = name.replace("node_encoder.", f"node_encoder.{inner}.")
    if name.startswith("selector"):
        return f"policy.{name}"
    if name.startswith("head"):
        return name
    return ("policy.encoder." if network == "selection" else "encoder.") + name


@pytest.fixture(params=CASES, ids=lambda path: path.stem)
def path(request: pytest.FixtureRequest) -> Path:
    return request.param


def close(got: Tensor, wanted: Tensor, tolerance: float) -> None:
    assert got.shape == wanted.shape
    assert torch.equal(got.isinf(), wanted.isinf())
    difference = (got - wanted)[~wanted.isinf()].abs().max()
    assert difference <= tolerance, f"differs by {difference:.2e}"


PRECISIONS = [(torch.float64, 1e-8), (torch.float32, 1e-4)]


@pytest.mark.parametrize(("dtype", "tolerance"), PRECISIONS, ids=["float64", "float32"])
def test_evaluation(path: Path, dtype: torch.dtype, tolerance: float) -> None:
    golden = Golden(path, dtype)
    model, graphs = golden.model.eval(), golden.graphs
    with torch.no_grad():
        selection = model.select(graphs)
        assert torch.equal(selection.local_roots(graphs.ptr), golden["eval/learned/selected"])
        assert selection.logits is not None
        close(golden.padded(selection.logits), golden["eval/learned/logits"], tolerance)
        close(model.predict(graphs, selection), golden["eval/learned/prediction"], tolerance)
        close(model.predict(graphs, FullPolicy()(graphs)), golden["eval/full/prediction"], tolerance)
        given = Selection(golden["eval/given/roots"] + graphs.ptr[:-1])
        close(model.predict(graphs, given), golden["eval/given/prediction"], tolerance)


@pytest.mark.parametrize(("dtype", "tolerance"), PRECISIONS, ids=["float64", "float32"])
def test_training_forward(path: Path, dtype: torch.dtype, tolerance: float) -> None:
    golden = Golden(path, dtype)
    model, graphs = golden.model.train(), golden.graphs
    assert isinstance(model.policy, LearnedPolicy)
    selection = model.policy(graphs, noise=golden.flat(golden["train/noise"]))
    assert torch.equal(selection.local_roots(graphs.ptr), golden["train/selected"])
    output = model.predict(graphs, selection)
    close(output.detach(), golden["train/prediction"], tolerance)
    close((output - golden["y"]).abs().mean().detach(), golden["train/loss"], tolerance)


def test_every_gradient(path: Path) -> None:
    golden = Golden(path)
    model, graphs = golden.model.train(), golden.graphs
    assert isinstance(model.policy, LearnedPolicy)
    output = model.predict(graphs, model.policy(graphs, noise=golden.flat(golden["train/noise"])))
    (output - golden["y"]).abs().mean().backward()
    wanted = golden.named("train/grad/")
    gradients = {name: weight.grad for name, weight in model.named_parameters()}
    assert set(gradients) == set(wanted)
    for part in ("policy.", ""):
        names = [name for name in wanted if name.startswith("policy.") == bool(part)]
        largest = max(float(wanted[name].abs().max()) for name in names)
        for name in names:
            gradient = gradients[name]
            assert gradient is not None, name
            assert (gradient - wanted[name]).abs().max() <= 1e-6 * largest, name


def test_streaming_the_full_bag_changes_nothing(path: Path) -> None:
    golden = Golden(path)
    model, graphs = golden.model.eval(), golden.graphs
    with torch.no_grad():
        for max_rows in (1, 50, 333, 1 << 20):
            model.max_rows = max_rows
            close(model.predict(graphs, FullPolicy()(graphs)), golden["eval/full/prediction"], 1e-8)
