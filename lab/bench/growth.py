"""Cost of inference on one graph as it grows."""

from __future__ import annotations

import numpy as np
import torch
from torch_geometric.data import Batch

from lab.bench.cases import BenchSettings
from lab.bench.groups import Tell
from lab.bench.interleave import TimedStep, interleave, milliseconds
from lab.bench.record import Growth
from lab.policy_model import policy_model
from policylearn.data import PackedGraphs, make_batch
from policylearn.data.synthetic import grid, path
from policylearn.data.synthetic.assembly import one_graph
from policylearn.fast import accelerate
from policylearn.models import calibrate

PICKS = 2
FEWEST_NODES = 10**4
CALIBRATION_NODES = 100
ROUNDS = 3
EDGES_PER_NODE = 2


def sizes_up_to(most: int) -> list[int]:
    """Half decades from 10^4 up to ``most``; three of them if it is too small for that."""
    sizes = [most]
    while len(sizes) < 3 or sizes[-1] / 10**0.5 > 0.99 * FEWEST_NODES:
        sizes.append(round(most / 10 ** (len(sizes) / 2)))
    return sizes[::-1]


def draw_graph(family: str, nodes: int) -> Batch:
    """A path, a square grid of about that many nodes, or a sparse random graph with two edges per node."""
    return make_batch(_packed(family, nodes), [0])


def _packed(family: str, nodes: int) -> PackedGraphs:
    if family == "path":
        return path(nodes)
    if family == "grid":
        side = round(nodes**0.5)
        return grid(side, side)
    if family == "sparse":
        ends = np.random.default_rng(0).integers(nodes, size=(2, EDGES_PER_NODE * nodes))
        return one_graph(ends[:, ends[0] != ends[1]], nodes)
    raise ValueError(f"there is no family '{family}' of graphs; use path, grid or sparse")


def measure_growth(family: str, settings: BenchSettings, tell: Tell) -> Growth:
    """Inference with T = 2 on graphs of rising size, the sizes turn by turn.

    The model is compiled on a small graph of the family, which its norms take their statistics from.
    """
    small = draw_graph(family, CALIBRATION_NODES)
    torch.manual_seed(0)
    model = accelerate(policy_model({"picks": PICKS}, settings.network)).eval()
    calibrate(model, [small], generator=torch.Generator().manual_seed(0))
    graphs = {nodes: draw_graph(family, nodes) for nodes in sizes_up_to(settings.growth_nodes)}

    def entry(nodes: int) -> TimedStep[int]:
        return TimedStep(nodes, lambda _turn: model(graphs[nodes]), growth_rounds(settings))

    with torch.no_grad():
        model(small)
        entries = [entry(nodes) for nodes in graphs]
        spent = interleave(entries, before=lambda nodes: tell(f"{family} of {nodes:,} nodes, T = {PICKS}", 1))
    sizes = tuple(int(graph.num_nodes) for graph in graphs.values())
    return Growth(family, PICKS, sizes, tuple(map(milliseconds, spent.values())))


def growth_steps(settings: BenchSettings) -> int:
    """How many steps `measure_growth` tells of."""
    return len(sizes_up_to(settings.growth_nodes)) * growth_rounds(settings)


def growth_rounds(settings: BenchSettings) -> int:
    """How often each graph is timed: large graphs take long, and a quick run cannot wait."""
    return 1 if settings.quick else min(ROUNDS, settings.rounds)
