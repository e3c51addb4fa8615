"""DS-GNN, DSS-GNN, SUN and OSAN: each equal to its official code."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional
from torch_geometric.data import Batch

import policylearn.models.systems  # noqa: F401  every file registers its systems
from policylearn.bags import Graphs, Selection
from policylearn.models import Inputs
from policylearn.models.registry import SYSTEMS
from policylearn.models.systems.osan import VOTE_NOISE, spread, uneven_masks
from policylearn.nn import Features
from policylearn.training.asam import Asam, scaled_weights
from tests.golden.location import GOLDEN

FORMS = {"zincgin": "zinc", "gin": "ogb", "originalgin": "tu"}
BAGS = {"ego_nets_plus": "ego+", "ego_nets": "ego", "node_deleted": "deleted", "node_marked": "marked"}
PRECISIONS = pytest.mark.parametrize("dtype", [torch.float64, torch.float32], ids=["float64", "float32"])


class Case:
    """One file: its arrays, and the system that it is of with the weights that it gives."""

    def __init__(self, path: Path, dtype: torch.dtype = torch.float64) -> None:
        with np.load(path) as file:
            self.arrays = {name: torch.from_numpy(file[name]) for name in file.files if name != "meta"}
            self.meta: dict[str, Any] = json.loads(str(file["meta"]))
        self.dtype = dtype
        fields = {name: self[name] for name in ("x", "edge_index", "edge_attr") if name in self.arrays}
        membership = torch.repeat_interleave(torch.arange(len(self["ptr"]) - 1), self["ptr"].diff())
        self.graphs = Graphs.of(Batch(**fields, ptr=self["ptr"], batch=membership))
        self.model: Any = self._build().to(dtype)
        weights = self.named("weight/")
        assert set(weights) == set(self.model.state_dict()), "every weight has its counterpart"
        self.model.load_state_dict(weights)

    def __getitem__(self, name: str) -> Tensor:
        value = self.arrays[name]
        return value.to(self.dtype) if value.is_floating_point() else value

    def named(self, prefix: str) -> dict[str, Tensor]:
        """The arrays below ``prefix`` under our names, but for those of maps that no output reads."""
        dead = {name.rsplit(".", 1)[0] for name in self.meta["unused"]}
        dead |= {name.rsplit(".", 1)[0] for name in dead if ".readout." in name}
        names = (name.removeprefix(prefix) for name in self.arrays if name.startswith(prefix))
        return {
            self.ours(name): self[prefix + name]
            for name in names
            if not any(name.startswith(part + ".") for part in dead)
        }

    @property
    def inputs(self) -> Inputs:
        """What nodes and edges come with, from the shapes of the weights that read them."""
        if self.meta.get("dataset") in ("zinc", "alchemy"):  # OSAN reads these as one-hot rows
            first = "node_encoder" if self.meta["policy"] == "node_ordered" else "layers.0.lin1"
            nodes = self[f"weight/prediction.{first}.weight"].shape[1]
            edges = self["weight/prediction.layers.0.edge_lin1.weight"].shape[1]
            return Inputs(Features((nodes,)), Features((edges,)), self.meta["tasks"])
        nodes, edges = (
            tuple(len(self[name]) for name in self.arrays if re.fullmatch(pattern, name))
            for pattern in (
                r"weight/(prediction\.)?node_encoder\.(\d+\.)?weight",
                r"weight/(prediction\.)?layers\.0\.(own\.)?edge_embedding\.(\d+\.)?weight",
            )
        )
        return Inputs(Features(nodes), Features(edges), self.meta["tasks"])

    def _build(self) -> nn.Module:
        meta = self.meta
        if meta["source"] == "OSAN":
            return self._build_osan()
        common = {"form": FORMS[meta["gnn"]], "bag": BAGS[meta["policy"]], "hops": meta.get("hops") or 2}
        common |= {"layers": meta["layers"], "channels": meta["channels"]}
        if meta["model"] == "ds":
            common |= {"jumping": meta["jk"], "set_channels": tuple(meta["set_channels"]), "dropout": 0.0}
        if meta["model"] == "sun":
            for ours, theirs in (
                ("pointwise_mlp", "use_mlp"),
                ("copy_readout", "use_readout"),
                ("residual", "residual"),
            ):
                if theirs in meta:
                    common[ours] = meta[theirs]
            common = {"pointwise_mlp": True, "copy_readout": True, "residual": False, "dropout": 0.0} | common
        name = {"ds": "ds-gnn", "dss": "dss-gnn", "sun": "sun"}[meta["model"]]
        if "roots" in self.arrays:
            name, common["picks"] = f"random-{name}", len(self["roots"])
        system = SYSTEMS[name]
        model = system.build(system.settings(**common), self.inputs)
        assert isinstance(model, nn.Module)
        return model

    def _build_osan(self) -> nn.Module:
        meta = self.meta
        form = "ogb" if meta["dataset"].startswith("ogb") else meta["dataset"]
        settings = {"form": form, "picks": meta["T"], "keep": meta["k"], "remove_rows": meta["remove_node"]}
        settings |= {"layers": meta["layers"], "channels": meta["channels"], "dropout": 0.0, "votes": 1}
        if meta["learned"]:
            settings |= {"aux_weight": meta["aux_weight"], "strength": meta["beta"]}
        if meta["policy"] == "node_ordered":
            settings |= {"ordered": True, "order_channels": meta["order_channels"]}
            settings["order_size"] = self["weight/prediction.order_encoder.weight"].shape[1]
        assert meta["full_graph"]
        system = SYSTEMS["osan" if meta["learned"] else "random-osan"]
        model = system.build(system.settings(**settings), self.inputs)
        assert isinstance(model, nn.Module)
        return model

    def ours(self, name: str) -> str:
        """The name that a weight of the official network has in our model."""
        if self.meta["source"] == "OSAN":
            name = osan_name(name, ordered=self.meta["policy"] == "node_ordered")
            return name.replace(".maps.0.", ".map.") if self.meta["dataset"] == "alchemy" else name
        name = re.sub(r"edge_embedding\.weight", "edge_embedding.0.weight", name)
        name = re.sub(r"edge_embedding\.(\d+)\.", r"edges.tables.\1.", name)
        name = re.sub(r"^node_encoder\.weight", "node_encoder.0.weight", name)
        name = re.sub(r"^node_encoder\.(\d+)\.", r"input.node_encoder.tables.\1.", name)
        name = re.sub(r"^layers\.(\d+)\.readout\.other\.", r"layers.\1.copy_readout.", name)
        name = re.sub(r"^layers\.(\d+)\.readout\.root\.", r"layers.\1.copy_readout_root.", name)
        name = re.sub(r"^layers\.(\d+)\.point\.", r"layers.\1.", name)
        if not self.meta.get("use_mlp", True):
            name = re.sub(r"\.(vv|kk|kv|root|copy_readout|copy_readout_root)\.lin1\.", r".\1.", name)
        stream = r"^(layers\.\d+\.(?:(?:own|own_root|shared|shared_root)\.)?)"
        if not re.match(r"layers\.\d+\.(vv|kk|kv|root|copy_readout|copy_readout_root)\.", name):
            name = re.sub(stream + r"(eps|lin1|lin2|norm1|edges)", r"\1conv.\2", name)
            name = name.replace("norm2", "norm")
        name = name.replace("norm1", "norm")
        name = re.sub(r"^set\.(\d+)\.(own|pooled)\.", r"set.\2.\1.", name)
        if self.meta.get("model") == "sun":
            name = re.sub(r"^head\.lin(\d)", r"head\1", name)
        return name

    def outputs(self) -> Tensor:
        """The model's outputs in the mode that it is in, with the given picks where there are any."""
        if "roots" in self.arrays:
            return self.model.predict(self.graphs, self.selection)
        return self.model(self.graphs)

    @property
    def selection(self) -> Selection:
        if "roots" in self.arrays:
            return Selection(self["roots"] + self.graphs.ptr[:-1])
        return self.model.policy(self.graphs)

    def loss(self, outputs: Tensor) -> Tensor:
        y = self["y"]
        known = ~y.isnan()
        losses: dict[str, Callable[..., Tensor]] = {
            "mae": functional.l1_loss,
            "mse": functional.mse_loss,
            "bce": functional.binary_cross_entropy_with_logits,
        }
        return losses[self.meta["loss"]](outputs[known], y[known])

    def terms(self, outputs: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        """The loss of each label, as training hands it to a model."""
        known = ~y.isnan()
        filled = y.nan_to_num(0.0)
        each: dict[str, Callable[..., Tensor]] = {
            "mae": functional.l1_loss,
            "mse": functional.mse_loss,
            "bce": functional.binary_cross_entropy_with_logits,
        }
        values = each[self.meta["loss"]](outputs, filled, reduction="none")
        return values.where(known, 0.0), known

    def check_gradients(self) -> None:
        wanted = self.named("train/grad/")
        weights = dict(self.model.named_parameters())
        assert set(weights) == set(wanted)
        for network in ("scorer.", ""):
            names = [name for name in wanted if name.startswith("scorer.") == bool(network)]
            largest = max((float(wanted[name].abs().max()) for name in names), default=0.0)
            for name in names:
                gradient = weights[name].grad
                gradient = torch.zeros_like(weights[name]) if gradient is None else gradient
                assert (gradient - wanted[name]).abs().max() <= 1e-6 * largest, name


def osan_name(name: str, *, ordered: bool) -> str:
    network, name = name.split(".", 1)
    name = re.sub(r"^layers\.(\d+)\.(eps|lin1|lin2|norm1)", r"convs.\1.\2", name).replace("norm1", "norm")
    name = re.sub(r"^node_encoder\.(\d+)\.", r"node_encoder.tables.\1.", name)
    if network == "selection":
        name = re.sub(r"^layers\.(\d+)\.(lin|edge_lin|norm)\.", r"\2s.\1.", name)
        name = re.sub(r"^edge_encoder\.(\d+)\.", r"edge_encoder.encoder.tables.\1.", name)
        return "scorer." + name.replace("node_out", "out")
    name = re.sub(r"^layers\.(\d+)\.edge_lin", r"convs.\1.edges.lin", name)
    name = re.sub(r"^layers\.(\d+)\.edge_embedding\.", r"convs.\1.edges.encoder.tables.", name)
    name = re.sub(r"^layers\.(\d+)\.norm2?\.", r"norms.\1.", name)
    name = re.sub(r"^head\.lin4|^head(?!\.lin)", "out", name)
    name = re.sub(r"^set2set\.", "set2set.lstm.", name)
    name = re.sub(r"^head\.lin(\d)", lambda found: f"maps.{int(found[1]) - 1}", name)
    if ordered and not name.startswith(("node_encoder", "order_encoder")):
        name = f"gine.{name}"
    return f"network.{name}"


def close(got: Tensor, wanted: Tensor) -> None:
    assert got.shape == wanted.shape
    tolerance = 1e-8 if wanted.dtype == torch.float64 else 1e-4 * max(1.0, float(wanted.abs().max()))
    difference = (got.detach() - wanted).abs().max()
    assert difference <= tolerance, f"differs by {difference:.2e}"


def kind_of(path: Path) -> str | None:
    """Which of this page's systems a case is of, by its ``meta``; None if of another page."""
    with np.load(path) as file:
        meta = json.loads(str(file["meta"]))
    if meta.get("source") == "OSAN":
        return "osan" if meta["learned"] else "random-osan"
    return str(meta["model"]) if meta.get("source") in ("ESAN", "SUN") and "model" in meta else None


KINDS = {path: kind_of(path) for path in sorted((GOLDEN / "systems").glob("*.npz"))}
CASES = [path for path, kind in KINDS.items() if kind in ("ds", "dss", "sun", "osan", "random-osan")]


def cases(*kinds: str) -> pytest.MarkDecorator:
    chosen = [path for path in CASES if KINDS[path] in kinds]
    return pytest.mark.parametrize("path", chosen, ids=[path.stem for path in chosen])


@PRECISIONS
@cases("ds", "dss", "sun")
def test_evaluation(path: Path, dtype: torch.dtype) -> None:
    case = Case(path, dtype)
    case.model.eval()
    close(case.outputs(), case["eval/prediction"])
    with torch.no_grad():
        close(case.outputs(), case["eval/prediction"])


@PRECISIONS
@cases("ds", "dss", "sun")
def test_training_pass(path: Path, dtype: torch.dtype) -> None:
    case = Case(path, dtype)
    case.model.train()
    outputs = case.outputs()
    close(outputs, case["train/prediction"])
    close(case.loss(outputs), case["train/loss"])
    state = case.model.state_dict()
    after = case.named("train/after/")
    assert after
    for name, value in after.items():
        close(state[name], value)


@cases("ds", "dss", "sun")
def test_every_gradient(path: Path) -> None:
    case = Case(path)
    case.model.train()
    if "roots" in case.arrays:
        case.loss(case.outputs()).backward()
    else:
        step = case.model.objective(case.graphs, case["y"], case.terms)
        close(step.loss, case["train/loss"])
        step.loss.backward()
    case.check_gradients()


@cases("ds", "dss", "sun")
def test_bags(path: Path) -> None:
    """The rows with their marks, and the edges of every copy."""
    case = Case(path)
    graphs = case.graphs
    bag = case.model.rule(graphs, case.selection, dtype=torch.float64, unmarked=False)
    local = bag.root - graphs.ptr[bag.graph_of_row]
    rows = torch.cat([bag.node.unsqueeze(1), local.unsqueeze(1), bag.marks, graphs.x[bag.node].double()], dim=1)
    wanted = torch.cat([case["bag/node"].unsqueeze(1), case["bag/root"].unsqueeze(1), case["bag/x"]], dim=1)
    assert sorted(rows.tolist()) == sorted(wanted.tolist())
    edges = bag.row_adjacency
    source, target = bag.node[edges.source], bag.node[edges.target]
    kept = torch.stack([bag.graph_of_row[edges.source], local[edges.source], source, target])
    assert sorted(kept.t().tolist()) == sorted(case["bag/edges"].t().tolist())


@cases("ds")
def test_copies_in_pieces_give_the_same(path: Path) -> None:
    case = Case(path)
    case.model.eval()
    case.model.max_rows = 50
    with torch.no_grad():
        close(case.outputs(), case["eval/prediction"])


@cases("ds", "dss", "sun", "osan", "random-osan")
def test_number_of_weights(path: Path) -> None:
    """As many as in the official network, but for those that no output reads."""
    case = Case(path)
    dead = {name: case[f"weight/{name}"].numel() for name in case.meta["unused"]}
    chosen = sum(size for name, size in dead.items() if name.startswith("selection."))
    apart = getattr(case.model, "selection_parameters", list)
    selection = sum(weight.numel() for weight in apart())
    assert selection == case.meta.get("parameters_selection", 0) - chosen
    rest = sum(weight.numel() for weight in case.model.parameters()) - selection
    assert rest == case.meta["parameters"] - (sum(dead.values()) - chosen)


@PRECISIONS
@cases("osan")
def test_osan_evaluation(path: Path, dtype: torch.dtype) -> None:
    case = Case(path, dtype)
    model, graphs = case.model.eval(), case.graphs
    scores = model.scorer(graphs)
    close(scores, case["eval/logits"])
    mask = model.solve(scores, graphs)
    assert torch.equal(mask, case["eval/mask"])
    close(model.predict(graphs, mask, scores), case["eval/prediction"])
    close(model(graphs), case["eval/prediction"])
    noise = case["eval/vote/noise"]
    moved = scores + VOTE_NOISE * spread(scores, graphs) * noise
    assert torch.equal(model.solve(moved, graphs), case["eval/vote/mask"])
    close(model.vote(graphs, scores, noise), case["eval/vote/prediction"])


@PRECISIONS
@cases("osan")
def test_osan_training_pass(path: Path, dtype: torch.dtype) -> None:
    case = Case(path, dtype)
    model, graphs = case.model.train(), case.graphs
    scores = model.scorer(graphs)
    close(scores, case["train/logits"])
    scores.retain_grad()
    mask, moved = model.draw(scores, case["train/noise"], graphs)
    mask.retain_grad()
    assert torch.equal(mask, case["train/mask"])
    outputs = model.predict(graphs, mask, moved)
    close(outputs, case["train/prediction"])
    task, aux = case.loss(outputs), model.settings.aux_weight * uneven_masks(mask, graphs)
    close(task, case["train/task_loss"])
    close(aux, case["train/aux_loss"])
    (task + aux).backward()
    largest = max(1.0, float(case["train/mask_gradient"].abs().max()))
    close(mask.grad / largest, case["train/mask_gradient"] / largest)
    assert torch.equal(scores.grad, case["train/logits_gradient"])
    assert torch.equal(mask.detach() - scores.grad, case["train/target_mask"])


@cases("osan")
def test_osan_gradients(path: Path) -> None:
    case = Case(path)
    step = case.model.train().objective(case.graphs, case["y"], case.terms, noise=case["train/noise"])
    close(step.loss, case["train/loss"])
    close(step.prediction_loss, case["train/task_loss"])
    step.loss.backward()
    case.check_gradients()


@PRECISIONS
@cases("random-osan")
def test_random_osan(path: Path, dtype: torch.dtype) -> None:
    case = Case(path, dtype)
    close(case.model.eval().predict(case.graphs, case["mask"]), case["eval/prediction"])
    outputs = case.model.train().predict(case.graphs, case["mask"])
    close(outputs, case["train/prediction"])
    loss = case.loss(outputs)
    close(loss, case["train/loss"])
    if dtype == torch.float64:
        loss.backward()
        case.check_gradients()


@cases("random-osan")
def test_random_osan_keeps_as_many_as_the_official_draw(path: Path) -> None:
    case = Case(path)
    (mask,) = case.model.train().draw(case.graphs, 1, torch.Generator().manual_seed(0))
    sizes = [part.sum(0).tolist() for part in mask.split(case.graphs.sizes.tolist())]
    assert sizes == [part.sum(0).tolist() for part in case["mask"].split(case.graphs.sizes.tolist())]


@cases("sun")
def test_asam_steps(path: Path) -> None:
    """Two steps of ASAM over SGD: the loss of each second pass, and the weights after both."""
    case = Case(path)
    if "asam" not in case.meta:
        assert not case.named("asam/")
        return
    wanted = case.meta["asam"]
    model = case.model.train()
    sgd = torch.optim.SGD(model.parameters(), lr=wanted["lr"], momentum=wanted.get("momentum", 0.9))
    asam = Asam(sgd, scaled_weights(model), rho=wanted["rho"], eta=wanted.get("eta", 0.01))

    def closure() -> Tensor:
        asam.zero_grad()
        loss = model.objective(case.graphs, case["y"], case.terms).loss
        loss.backward()
        return loss

    steps = sum(name.startswith("asam/") and name.endswith("/loss") for name in case.arrays)
    for step in range(steps):
        close(asam.step(closure), case[f"asam/{step}/loss"])
    weights = dict(model.named_parameters())
    after = case.named("asam/weight/")
    assert set(after) == set(weights)
    for name, value in after.items():
        close(weights[name], value)
