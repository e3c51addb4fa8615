"""Cost of inference on one graph as it grows, and of T picks over a single look at the unmarked graph."""

from __future__ import annotations

import copy
from collections.abc import Callable

import numpy as np
import torch
from torch_geometric.data import Batch

from lab.bench.cases import Settings
from lab.bench.interleave import TimedStep, interleave
from lab.bench.record import Growth, OverOnce
from policylearn.bags import Selection
from policylearn.data import PackedGraphs, make_batch
from policylearn.data.synthetic import grid, path
from policylearn.data.synthetic.assembly import one_graph
from policylearn.fast import accelerate
from policylearn.models import ModelConfig, NetworkConfig, PolicyConfig, SubgraphGNN, build_model, calibrate
from policylearn.nn import Graphs
from policylearn.policies import as_learned

PICKS, MANY_PICKS = 2, 5
FEWEST_NODES = 10**4
CALIBRATION_NODES = 100
ROUNDS = 3
EDGES_A_NODE = 2
SEED = 0


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
        ends = np.random.default_rng(SEED).integers(nodes, size=(2, EDGES_A_NODE * nodes))
        return one_graph(ends[:, ends[0] != ends[1]], nodes)
    raise ValueError(f"there is no family '{family}' of graphs; use path, grid or sparse")


def measure_growth(family: str, settings: Settings, tell: Callable[[str, int], None]) -> Growth:
    """Inference with T = 2 on graphs of rising size, the sizes turn by turn."""
    graphs = {nodes: draw_graph(family, nodes) for nodes in sizes_up_to(settings.growth_nodes)}
    model = prepared_model(family, PICKS, settings.network)

    def entry(nodes: int) -> TimedStep[int]:
        return TimedStep(nodes, lambda _turn: look(model, graphs[nodes]), growth_rounds(settings))

    spent = interleave(
        [entry(nodes) for nodes in graphs], before=lambda nodes: tell(f"{family} of {nodes:,} nodes, T = {PICKS}", 1)
    )
    nodes = tuple(int(graph.num_nodes) for graph in graphs.values())
    return Growth(family, PICKS, nodes, tuple(_ms(seconds) for seconds in spent.values()))


def growth_steps(settings: Settings) -> int:
    """How many steps `measure_growth` tells of."""
    return len(sizes_up_to(settings.growth_nodes)) * growth_rounds(settings)


def growth_rounds(settings: Settings) -> int:
    """How often each graph is timed: large graphs take long, and a quick run cannot wait."""
    return 1 if settings.quick else min(ROUNDS, settings.rounds)


def measure_over_once(family: str, settings: Settings, tell: Callable[[str, int], None]) -> OverOnce:
    """Inference with T = 5 on the largest graph against both networks once on the unmarked graph.

    The latter is a policy with a single pick, which looks at the unmarked graph alone, and a prediction from an empty
    selection. The graph's edges are sorted beforehand for both.
    """
    graphs = Graphs.of(draw_graph(family, settings.growth_nodes))
    model = prepared_model(family, MANY_PICKS, settings.network)
    single = copy.copy(as_learned(model.policy))  # the same networks
    single.picks = 1
    nothing = Selection(graphs.ptr.new_zeros(0, graphs.num_graphs))

    def once(_turn: int) -> None:
        with torch.no_grad():
            single(graphs)
            model.predict(graphs, nothing)

    rounds = growth_rounds(settings)
    entries = [TimedStep("picks", lambda _turn: look(model, graphs), rounds), TimedStep("once", once, rounds)]
    title = f"{family} of {graphs.num_nodes:,} nodes, T = {MANY_PICKS}"
    spent = interleave(entries, before=lambda key: tell(f"{title}: {key}", 1))
    return OverOnce(family, MANY_PICKS, graphs.num_nodes, _ms(spent["picks"]), _ms(spent["once"]))


def over_once_steps(settings: Settings) -> int:
    """How many steps `measure_over_once` tells of."""
    return 2 * growth_rounds(settings)


def prepared_model(family: str, picks: int, network: NetworkConfig) -> SubgraphGNN:
    """A model for graphs without features, compiled and with norms that know a small graph of the family."""
    small = draw_graph(family, CALIBRATION_NODES)
    torch.manual_seed(SEED)
    model = accelerate(build_model(ModelConfig(prediction=network, policy=PolicyConfig(picks=picks)))).eval()
    calibrate(model, [small], generator=torch.Generator().manual_seed(SEED))
    look(model, small)
    return model


def look(model: SubgraphGNN, graph: Batch | Graphs) -> None:
    """Inference."""
    with torch.no_grad():
        model(graph)


def _ms(seconds: list[float]) -> tuple[float, ...]:
    return tuple(1000 * value for value in seconds)
