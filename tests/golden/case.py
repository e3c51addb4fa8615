"""One golden case of a comparison system, and the checks that all of them go through."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional
from torch_geometric.data import Batch

from policylearn.data import PackedGraphs, make_batch
from policylearn.data.transforms import Transform, apply
from policylearn.models import plain_objective
from policylearn.nn import Features
from tests.golden.location import GOLDEN

OUTPUTS = {torch.float64: 1e-8, torch.float32: 1e-4}
GRADIENTS = 1e-6


class Case:
    """The arrays of a file by name, floats in the precision that is asked for, and its settings.

    Args:
        path: the file.
        dtype: of the floats.
    """

    def __init__(self, path: Path, dtype: torch.dtype = torch.float64) -> None:
        with np.load(path) as file:
            self.arrays = {name: torch.from_numpy(file[name]) for name in file.files if name != "meta"}
            self.meta: dict[str, Any] = json.loads(str(file["meta"]))
        self.name, self.dtype = path.stem, dtype

    def __getitem__(self, name: str) -> Tensor:
        value = self.arrays[name]
        return value.to(self.dtype) if value.is_floating_point() else value

    def __contains__(self, name: str) -> bool:
        return name in self.arrays

    def batch(self, **extras: Tensor) -> Batch:
        """The graphs as a PyG batch, with structures as transforms would attach them."""
        ptr = self["ptr"]
        assignment = torch.repeat_interleave(torch.arange(len(ptr) - 1), ptr.diff())
        fields = {name: self[name] for name in ("x", "edge_index", "edge_attr") if name in self}
        return Batch(**fields, ptr=ptr, batch=assignment, **extras)

    def features(self, name: str) -> Features:
        """What ``meta`` says of nodes or edges: 'categorical-28' are ids, 'one-hot-3' are numbers."""
        kind = re.match(r"(categorical|one-hot|real)-(\d+)", self.meta.get(name) or "")
        if kind is None:
            return Features()
        size = int(kind[2])
        return Features((size,)) if kind[1] == "categorical" else Features(real=size)

    def named(self, prefix: str, rename: Callable[[str], str] = lambda name: name) -> dict[str, Tensor]:
        """The arrays below a prefix, under our names."""
        found = [name for name in self.arrays if name.startswith(prefix)]
        return {rename(name.removeprefix(prefix)): self[name] for name in found}

    def load(self, model: nn.Module, rename: Callable[[str], str] = lambda name: name) -> nn.Module:
        """Give a model the weights of the case; every one has its counterpart in it, and the other way round."""
        model = model.to(self.dtype)
        weights = self.named("weight/", rename)
        assert set(weights) == set(model.state_dict())
        model.load_state_dict(weights)
        return model


def packed(case: Case) -> PackedGraphs:
    """The graphs of a case as a dataset, to compute structures from."""
    ptr = case["ptr"].numpy()
    source, target = case["edge_index"].numpy()
    graph = np.searchsorted(ptr, source, side="right") - 1
    order = np.argsort(graph, kind="stable")
    edge_ptr = np.concatenate([[0], np.cumsum(np.bincount(graph, minlength=len(ptr) - 1))])
    edges = np.stack([source, target]) - ptr[graph]
    attributes = case["edge_attr"].numpy() if "edge_attr" in case else np.zeros((len(graph), 0), dtype=np.int64)
    return PackedGraphs(
        x=case["x"].numpy(),
        edge_index=edges[:, order],
        edge_attr=attributes[order],
        y=np.zeros(len(ptr) - 1),
        node_ptr=ptr,
        edge_ptr=edge_ptr,
    ).validate()


def computed(case: Case, *transforms: Transform) -> dict[str, Tensor]:
    """What transforms attach to the case's batch, in the precision of the case where `make_batch` gives less."""
    graphs = apply(transforms, packed(case))
    batch = make_batch(graphs, range(len(graphs)))
    return {
        name: torch.from_numpy(structure.values).to(case.dtype) if batch[name].is_floating_point() else batch[name]
        for name, structure in graphs.structures.items()
    }


def cases_of(systems: set[str]) -> list[Path]:
    """The cases whose ``meta`` names one of these systems."""
    return [path for path in sorted((GOLDEN / "systems").glob("*.npz")) if Case(path).meta.get("system") in systems]


def loss_terms(kind: str) -> Callable[[Tensor, Tensor], tuple[Tensor, Tensor]]:
    """The loss of every label, and that each is known, as training hands them to a model."""
    losses: Mapping[str, Callable[[Tensor, Tensor], Tensor]] = {
        "l1": lambda outputs, y: (outputs - y.view_as(outputs)).abs(),
        "mae": lambda outputs, y: (outputs - y.view_as(outputs)).abs(),
        "mse": lambda outputs, y: (outputs - y.view_as(outputs)) ** 2,
        "bce": lambda outputs, y: functional.binary_cross_entropy_with_logits(
            outputs, y.view_as(outputs), reduction="none"
        ),
        "cross-entropy": lambda outputs, y: functional.cross_entropy(outputs, y, reduction="none").unsqueeze(1),
    }

    def terms(outputs: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        values = losses[kind](outputs, y)
        return values, torch.ones_like(values, dtype=torch.bool)

    return terms


def close(got: Tensor, wanted: Tensor, tolerance: float) -> None:
    assert got.shape == wanted.shape
    difference = float((got - wanted).abs().max())
    assert difference <= tolerance, f"differs by {difference:.2e}"


def check_evaluation(case: Case, output: Tensor) -> None:
    close(output, case["eval/prediction"], OUTPUTS[case.dtype])


def check_training(case: Case, model: nn.Module, output: Tensor, rename: Callable[[str], str], members: Any) -> None:
    """Outputs, loss and new running statistics of a training step, then every gradient; unused weights have none."""
    step = plain_objective(output, case["y"], loss_terms(case.meta["loss"]), members)
    close(step.outputs.detach(), case["train/prediction"], OUTPUTS[case.dtype])
    close(step.loss.detach(), case["train/loss"], OUTPUTS[case.dtype])
    state = model.state_dict()
    for name, wanted in case.named("train/running/", rename).items():
        close(state[name], wanted, OUTPUTS[case.dtype] * max(1.0, float(wanted.abs().max())))
    if case.dtype == torch.float64:
        step.loss.backward()
        check_gradients(case, model, rename)


def check_gradients(case: Case, model: nn.Module, rename: Callable[[str], str]) -> None:
    wanted = case.named("train/grad/", rename)
    unused = {rename(name) for name in case.meta.get("no_gradient", ())}
    weights = dict(model.named_parameters())
    assert set(weights) == set(wanted)
    largest = max(float(one.abs().max()) for one in wanted.values())
    for name, gradient in wanted.items():
        got = weights[name].grad
        assert (got is None) == (name in unused), name
        if got is not None:
            assert (got - gradient).abs().max() <= GRADIENTS * largest, name
