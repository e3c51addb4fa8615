"""A trained run as one file that torch runs without this package: `torch.export`, for batches of any size."""

from __future__ import annotations

import json
import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from policylearn.bags import Graphs
from policylearn.data.atomic import replacing
from policylearn.data.structures import REAL_COLUMNS
from policylearn.data.transforms.descriptors import BOUND
from policylearn.data.transforms.fingerprint import Fingerprint
from policylearn.nn import DESCRIPTORS
from policylearn.prediction.plain_form import PlainBatch, PlainForm
from policylearn.prediction.predictor import Predictor, load
from policylearn.settings.run_files import RunError
from policylearn.training.evaluation import answers

ABOUT_FILE = "policylearn.json"
"""The file within the exported one that says what goes in and what comes out."""
TOLERANCE = 1e-4


class ExportForm(nn.Module):
    """What is exported: the tensors of a batch in, values in the data's units out."""

    def __init__(self, predictor: Predictor) -> None:
        super().__init__()
        self.members = nn.ModuleList(PlainForm(model) for model in predictor.models)
        self.task = predictor.task
        stored = next((one for one in predictor.run.facts.transforms if one["name"] == DESCRIPTORS), {})
        self.clip = float(stored.get("clip", 0.0))
        self.register_buffer("mean", torch.tensor(stored.get("mean", ()), dtype=torch.float64))
        self.register_buffer("deviation", torch.tensor(stored.get("deviation", ()), dtype=torch.float64))

    mean: Tensor
    deviation: Tensor

    def forward(
        self,
        x: Tensor,
        edge_index: Tensor,
        batch: Tensor,
        sizes: Tensor,
        edge_attr: Tensor | None = None,
        x_real: Tensor | None = None,
        descriptors: Tensor | None = None,
    ) -> dict[str, Tensor]:
        """Answer; for the shapes see `describe`."""
        ready = None if descriptors is None else self.standardised(descriptors)
        given = PlainBatch(x, edge_index, batch, sizes, edge_attr, x_real, ready)
        found = [member(given) for member in self.members]
        values = torch.stack([answers(outputs, self.task) for outputs, _ in found])  # (members, G, outputs)
        if len(found) > 1:
            return {"values": values.mean(0), "std": values.std(0)}
        picks = found[0][1]
        return {"values": values[0], "picks": picks} if picks.shape[0] else {"values": values[0]}

    def standardised(self, raw: Tensor) -> Tensor:
        """RDKit's numbers as the network was trained on them; see the transform `Descriptors`, ``(G, D)``."""
        size = raw.abs()
        beyond = BOUND * (1.0 + (size.clamp(min=BOUND) / BOUND).log())
        values = (torch.where(size > BOUND, raw.sign() * beyond, raw) - self.mean) / self.deviation
        return torch.where(values.isnan(), 0.0, values).clamp(-self.clip, self.clip).float()


def export_run(run: str | Path, path: str | Path) -> dict[str, Any]:
    """Write a run or an ensemble as a ``.pt2`` file, check what it answers, and give what is written about it."""
    target = Path(path)
    if target.suffix != ".pt2":
        raise ValueError(f"the exported file must end in .pt2, as torch writes it (got '{path}')")
    whole = load(run)
    # Intervals are calibrated for both together.
    predictor = whole if whole.blend is None else replace(whole, blend=None, calibration=None)
    try:
        form = ExportForm(predictor).eval()
    except RunError as error:
        raise RunError(f"{run}: cannot be exported: {error}") from error
    about = describe(predictor)
    if whole.blend is not None:
        about["left_out"] = "the models beside the network and the intervals: the file holds the network alone"
    example = example_batch(predictor, sizes=(3, 4, 6))
    any_size = {name: {1 if name == "edge_index" else 0: torch.export.Dim.DYNAMIC} for name in example}
    with replacing(target) as part, quiet_tracer(), torch.no_grad():
        program = torch.export.export(form, (), kwargs=example, dynamic_shapes=any_size, strict=False)
        named = part.with_suffix(".pt2")  # torch writes to no other name
        try:
            torch.export.save(program, named, extra_files={ABOUT_FILE: json.dumps(about, indent=2)})
            check_export(named, predictor)
            named.replace(part)
        finally:
            named.unlink(missing_ok=True)
    return about


def describe(predictor: Predictor) -> dict[str, Any]:
    """What a user of the file must know: inputs, outputs, labels, and how to make the inputs."""
    facts, task = predictor.run.facts, predictor.task
    names = list(example_batch(predictor, sizes=(3,)))
    meanings = {
        "x": "(N, F) category ids of nodes, int64, or numbers, float32; atoms as ogb's smiles2graph has them",
        "edge_index": "(2, E) int64, both directions of each edge, nodes counted through the batch",
        "batch": "(N,) int64, the graph of each node, from 0",
        "sizes": "(G,) int64, nodes of each graph",
        "edge_attr": "(E, D) category ids of edges, int64, or numbers, float32",
        "x_real": "(N, F') float32, the columns of the transforms below, one after the other",
        "descriptors": "(G, D') float64, RDKit's descriptors in the order of 'columns' below, as RDKit computes them",
    }
    calibration = predictor.calibration
    found = None if calibration is None else asdict(replace(calibration, coverage=None))
    return {
        "format": 1,
        "task": task.kind,
        "level": task.level,
        "targets": list(task.targets),
        "classes": list(task.classes),
        **predictor.run.model_facts,
        "members": len(predictor.models),
        "inputs": {name: meanings[name] for name in names},
        "outputs": {
            "values": "numbers in the data's units, or probabilities; a row per graph (per node in node tasks)",
            **({"std": "over the members"} if predictor.others else {"picks": "(T, G) nodes, counted in their graph"}),
        },
        "atoms": "ogb" if facts.featuriser else None,
        "node_categories": list(facts.node_features.categorical),
        "edge_categories": list(facts.edge_features.categorical),
        "transforms": [one for one in facts.transforms if one["name"] != Fingerprint.name],
        "calibration": found,
        "versions": facts.versions,
    }


def example_batch(predictor: Predictor, sizes: tuple[int, ...]) -> dict[str, Tensor]:
    """Rings of these sizes with the features that the run takes, drawn with a fixed seed."""
    facts, draw = predictor.run.facts, torch.Generator().manual_seed(0)
    starts = [sum(sizes[:at]) for at in range(len(sizes))]
    pairs = [(start + at, start + (at + 1) % n) for start, n in zip(starts, sizes, strict=True) for at in range(n)]
    edges = torch.tensor([*pairs, *((b, a) for a, b in pairs)], dtype=torch.long).reshape(-1, 2).t().contiguous()

    def columns(rows: int, categories: tuple[int, ...], real: int) -> Tensor:
        if categories:
            return torch.stack([torch.randint(size, (rows,), generator=draw) for size in categories], dim=1)
        return torch.rand(rows, real, generator=draw) if real else torch.ones(rows, 1)

    node, edge, nodes = facts.node_features, facts.edge_features, sum(sizes)
    found = {
        "x": columns(nodes, node.categorical, node.real),
        "edge_index": edges,
        "batch": torch.repeat_interleave(torch.arange(len(sizes)), torch.tensor(sizes)),
        "sizes": torch.tensor(sizes),
    }
    if edge.present:
        found["edge_attr"] = columns(len(edges[0]), edge.categorical, edge.real)
    if facts.columns.get(REAL_COLUMNS):
        found["x_real"] = torch.rand(nodes, facts.columns[REAL_COLUMNS], generator=draw)
    if facts.columns.get(DESCRIPTORS):
        spread = torch.randn(len(sizes), facts.columns[DESCRIPTORS], generator=draw, dtype=torch.float64)
        found["descriptors"] = spread * 50
    return found


def check_export(path: Path, predictor: Predictor) -> None:
    """Raise unless the file answers as the model does, on a batch of other sizes than the traced one."""
    example = example_batch(predictor, sizes=(5, 3, 9, 7, 4))
    program = torch.export.load(path).module()
    found = program(**example)["values"]
    if "descriptors" in example:
        example["descriptors"] = ExportForm(predictor).standardised(example["descriptors"])
    graphs = Graphs.of({name: values for name, values in example.items() if name != "sizes"})
    expected = torch.stack([answers(model(graphs), predictor.task) for model in predictor.models]).mean(0)
    apart = float((found - expected).abs().max() / (1 + expected.abs().max()))
    if not apart <= TOLERANCE:
        folder = predictor.run.folder
        raise RunError(f"{folder}: the exported program departs from the model by {apart:.2g}, so it is not written")


@contextmanager
def quiet_tracer() -> Iterator[None]:
    """The tracer's notes on its own inner workings are no news for a user."""
    logging.disable(logging.WARNING)
    try:
        with warnings.catch_warnings(action="ignore"):
            yield
    finally:
        logging.disable(logging.NOTSET)
