"""A benchmark for picks: one small part of a large sparse graph decides the label, and only a mark on it shows how.

A *wheel* is a hub and six rim nodes that are joined to it. The rim is one ring of six (kind 0) or two rings of three
(kind 1). Wheels hang by their hub on a random cubic graph, one for every 15 nodes. One wheel, the *keyed* one, has a
leaf at its hub; its kind is the label. The others, the decoys, have a kind that says nothing about the label.

Why a mark decides, and where it must be:

- Give the rim of the keyed wheel one colour and every other node a colour of its own. Each rim node has two neighbours
  on the rim and the hub, whatever the kind, so two graphs that differ in the kind of that wheel alone have the same
  numbers of edges between all colours: 1-WL cannot tell them apart.
- This holds with any set of marks outside the keyed rim. So no picks, marks on decoys, on the cubic graph and on hubs
  (the nodes of highest degree and centrality) leave every network of this family at chance, with any depth and readout.
- A mark on one node of the keyed rim decides: a walk of three steps along the rim returns to the mark, or it does not.
- Which nodes these are is visible to 1-WL without a mark, since hubs with and without a leaf differ in degree. A policy
  can find the place in a graph of any size, and T = 1 is enough: the best possible accuracy is 100 %.

The task is made for marks at a rare place. It shows that such a place can be learned on small graphs and found in large
ones; it does not show how often tasks are of this kind.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import count
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.optim.lr_scheduler import LambdaLR
from torch_geometric.data import Batch

from lab.ledger import short_hash
from lab.provenance import Provenance, forget_peak, peak
from lab.settings import policy_model
from policylearn.bags import Graphs
from policylearn.data import PackedGraphs, Task, make_batch
from policylearn.data.packed import Array
from policylearn.data.synthetic import join, shuffle_nodes
from policylearn.data.synthetic.assembly import one_graph
from policylearn.fast import accelerate
from policylearn.models import Inputs, SubgraphGNN, calibrate
from policylearn.nn import NetworkConfig, NodesThenCopies
from policylearn.training.schedules import warmup_cosine
from policylearn.wording import markdown_table

RIM = 6
WHEEL = 1 + RIM
"""Nodes of a wheel, the hub first."""
ONE_RING, TWO_RINGS = [1, 2, 3, 4, 5, 0], [1, 2, 0, 4, 5, 3]
NODES_PER_DECOY = 15
"""Graphs have one decoy for so many nodes."""
CHUNK = 100_000
"""Nodes of a test batch, or one graph."""
CALIBRATION = 20
GROWING = 0.6
"""Share of the steps over which training graphs grow: in small ones, a drawn mark hits more often."""
TASK = Task("classes", "cross_entropy", "accuracy", classes=("one ring", "two rings"))


def training_sizes(picks: int) -> tuple[int, int]:
    """Least and most nodes of training graphs: with few decoys, many picks reach all wheels whatever they learn."""
    return 25, 50 * max(2, picks)


@dataclass(frozen=True)
class PlantedConfig:
    """One training on small graphs, and the sizes that it is tested on."""

    policy: str = "learned"
    picks: int = 2
    seed: int = 0
    steps: int = 800
    graphs: int = 32
    nodes: tuple[int, int] = (25, 100)
    """Of the graphs that are trained on."""
    channels: int = 32
    layers: int = 4
    learning_rate: float = 1e-3
    tests: dict[str, int] = field(default_factory=lambda: {"200": 500, "1000": 500, "10000": 100, "100000": 20})
    """How many graphs of each size are tested."""

    @property
    def record(self) -> str:
        """Where its record goes; other settings have another name."""
        return f"{self.policy}-t{self.picks}-{self.seed}-{short_hash(self.settings)}"

    @property
    def settings(self) -> dict[str, Any]:
        """What makes it what it is."""
        return asdict(self) | {"nodes": list(self.nodes)}


@dataclass(frozen=True)
class SizeResult:
    """The test on graphs of one size.

    Args:
        n: nodes, at most.
        graphs: how many.
        accuracy: share of right labels.
        found: share of graphs with a pick on a decisive node.
        seconds: of the processor per graph, picking included.
        peak_mib: most memory of the whole process, torch and the graph included.
    """

    n: int
    graphs: int
    accuracy: float
    found: float
    seconds: float
    peak_mib: float


@dataclass(frozen=True)
class PlantedRecord(Provenance):
    """What one training gave; ``losses`` are means over tenths of the steps."""

    config: dict[str, Any]
    losses: list[float]
    train_seconds: float
    tests: list[SizeResult]


HEADINGS = ("picks", "T", "seed", "trained in s", "n", "graphs", "accuracy", "marked the place", "s per graph", "MiB")


def planted_table(records: Sequence[PlantedRecord]) -> str:
    """A row per run and size."""
    rows = []
    for record in sorted(records, key=lambda one: (one.config["policy"], one.config["picks"], one.config["seed"])):
        run = (*(str(record.config[name]) for name in ("policy", "picks", "seed")), f"{record.train_seconds:.0f}")
        rows += [
            (*run, f"{one.n:,}", str(one.graphs), f"{one.accuracy:.1%}", f"{one.found:.1%}", f"{one.seconds:.3f}",
             f"{one.peak_mib:.0f}")
            for one in record.tests
        ]  # fmt: skip
    return markdown_table(HEADINGS, rows)


def planted_graphs(sizes: Array, generator: np.random.Generator, labels: Array | None = None) -> PackedGraphs:
    """Graphs of about these sizes; the extra ``decisive`` says where a mark decides, ``(N,)``; labels are drawn."""
    labels = generator.integers(2, size=len(sizes)) if labels is None else labels
    made = [_one(int(n), int(label), generator) for n, label in zip(sizes, labels, strict=True)]
    packed = join([one_graph(pairs, len(nodes)) for pairs, nodes in made], y=labels)
    return shuffle_nodes(replace(packed, extras={"decisive": np.concatenate([nodes for _, nodes in made])}), generator)


def _one(n: int, label: int, generator: np.random.Generator) -> tuple[Array, Array]:
    """Undirected edges of a graph, and which of its nodes are decisive; the keyed wheel comes first, the leaf last."""
    wheels = 1 + max(1, n // NODES_PER_DECOY)
    first = WHEEL * wheels  # node of the cubic graph
    host = (n - first - 1) // 2 * 2
    if host < wheels:
        raise ValueError(f"'n' must be >= {(WHEEL + 1) * wheels + 2} for {wheels} wheels (got {n})")
    kinds = generator.integers(2, size=wheels)
    kinds[0] = label
    hubs = WHEEL * np.arange(wheels)[:, None]  # (wheels, 1)
    rims = hubs + 1 + np.arange(RIM)
    following = np.where(kinds[:, None] == 0, rims[:, ONE_RING], rims[:, TWO_RINGS])
    ring, leaf = first + np.arange(host), first + host
    pairs = [
        (np.broadcast_to(hubs, rims.shape), rims),
        (rims, following),
        (hubs, first + generator.choice(host, wheels, replace=False)),
        (ring, np.roll(ring, -1)),
        tuple(first + generator.permutation(host).reshape(2, -1)),
        (np.array([0]), np.array([leaf])),
    ]
    edges = np.concatenate([np.stack([np.ravel(a), np.ravel(b)]) for a, b in pairs], axis=1)
    nodes = np.arange(leaf + 1)
    return edges, (nodes >= 1) & (nodes < WHEEL)


def batches(config: PlantedConfig, stream: int, growing: float = 0.0) -> Iterator[Batch]:
    """Fresh training graphs without end; streams share nothing.

    Args:
        config: how many of which sizes.
        stream: 0 to train, 2 for the norms.
        growing: steps over which the largest size grows from the smallest.
    """
    generator = np.random.default_rng([config.seed, stream])
    for step in count(1):
        least, most = config.nodes
        most = least + round((most - least) * min(1.0, step / max(growing, 1.0)))
        sizes = generator.integers(least, most + 1, size=config.graphs)
        yield make_batch(planted_graphs(sizes, generator), range(config.graphs))


def new_model(config: PlantedConfig) -> SubgraphGNN:
    """The untrained model. It reads each copy at its root: a mean over all nodes would drown a mark."""
    selection: dict[str, Any] = {"name": config.policy}
    selection |= {} if config.policy == "none" else {"picks": config.picks}
    selection |= {"add_graph_mean": False} if config.policy == "learned" else {}
    selection |= {"seed": config.seed} if config.policy == "random" else {}
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(config.seed)
        network = NetworkConfig(channels=config.channels, layers=config.layers)
        model = policy_model(selection, network, Inputs(outputs=2))
        model.readout = NodesThenCopies("root", "sum")
    accelerate(model)
    return model


def train_planted(config: PlantedConfig) -> tuple[SubgraphGNN, list[float], float]:
    """Train on fresh small graphs; the model, the losses of all steps, and processor seconds."""
    model, draws = new_model(config), torch.Generator().manual_seed(config.seed)
    optimiser = torch.optim.Adam(model.parameters(), lr=config.learning_rate, fused=True)
    rates = LambdaLR(optimiser, warmup_cosine(config.steps, 0.05))
    started, fresh, losses = time.process_time(), batches(config, 0, config.steps * GROWING), []
    model.train()
    for _ in range(config.steps):
        batch = next(fresh)
        found = model.objective(batch, batch.y, TASK.loss_terms, generator=draws)
        optimiser.zero_grad()
        found.loss.backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        rates.step()
        losses.append(float(found.prediction_loss))
    extra = batches(config, 2)
    calibrate(model, (next(extra) for _ in range(CALIBRATION)), generator=draws)
    return model.eval(), losses, time.process_time() - started


@torch.no_grad()
def test_planted(model: SubgraphGNN, config: PlantedConfig, n: int, graphs: int) -> SizeResult:
    """Test on unseen graphs of one size."""
    generator = np.random.default_rng([config.seed, 1, n])
    right = found = 0
    seconds = most = 0.0
    together = max(1, CHUNK // n)
    for start in range(0, graphs, together):
        packed = planted_graphs(np.full(min(together, graphs - start), n), generator)
        batch = Graphs.of(make_batch(packed, range(len(packed))))
        forget_peak()
        started = time.process_time()
        selection = model.select(batch)
        output = model.predict(batch, selection)
        seconds += time.process_time() - started
        most = max(most, peak())
        right += int((output.argmax(1).numpy() == packed.y).sum())
        if selection.picks:
            found += int(packed.extras["decisive"][selection.roots.numpy()].any(0).sum())
    return SizeResult(n, graphs, right / graphs, found / graphs, seconds / graphs, most / 2**20)


def run_planted(config: PlantedConfig) -> PlantedRecord:
    """Train, and test on all sizes."""
    model, losses, seconds = train_planted(config)
    tests = [test_planted(model, config, int(n), graphs) for n, graphs in config.tests.items()]
    tenth = max(1, len(losses) // 10)
    means = [round(float(np.mean(losses[at : at + tenth])), 4) for at in range(0, len(losses), tenth)]
    return PlantedRecord(config.settings, means, seconds, tests)
