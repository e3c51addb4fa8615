"""Graphs for tests: random ones, symmetric ones and corner cases."""

from __future__ import annotations

from collections.abc import Iterable

import hypothesis.strategies as st
import networkx as nx
import torch
from torch import Tensor
from torch_geometric.data import Batch, Data

from policylearn.bags import RULES, Graphs
from policylearn.models import Inputs, SubgraphGNN, build_model
from policylearn.models.systems.policy_learn import PolicyLearnSettings
from policylearn.nn import Features, NetworkConfig
from policylearn.policies import POLICIES as POLICIES_BY_NAME

ATOMS, BONDS = 5, 3
POLICIES = ("learned", "random", "full", "none", "degree", "centrality")


def data_of(graph: nx.Graph, generator: torch.Generator | None = None) -> Data:
    """Both directions of each edge; categories are 0 unless a generator is given to draw them from."""
    graph = nx.convert_node_labels_to_integers(graph)
    edges = torch.tensor(list(graph.edges), dtype=torch.long).reshape(-1, 2).t()
    edge_index = torch.cat([edges, edges.flip(0)], dim=1)
    nodes, count = graph.number_of_nodes(), edges.shape[1]
    if generator is None:
        return Data(torch.zeros(nodes, 1).long(), edge_index, torch.zeros(2 * count, 1).long())
    bonds = torch.randint(BONDS, (count, 1), generator=generator)
    return Data(torch.randint(ATOMS, (nodes, 1), generator=generator), edge_index, torch.cat([bonds, bonds]))


@st.composite
def random_graphs(draw: st.DrawFn, max_nodes: int = 12) -> Data:
    """Any simple graph with random categories, isolated nodes and several components included."""
    nodes = draw(st.integers(1, max_nodes))
    density = draw(st.sampled_from([0.0, 0.2, 0.5, 1.0]))
    seed = draw(st.integers(0, 2**31))
    graph = nx.gnp_random_graph(nodes, density, seed=seed)
    return data_of(graph, torch.Generator().manual_seed(seed))


def symmetric_graphs() -> list[Data]:
    """Graphs in which many nodes are alike, so that scores tie."""
    graphs = [nx.cycle_graph(n) for n in range(3, 13)]
    graphs += [nx.complete_graph(n) for n in range(2, 8)]
    graphs += [nx.circulant_graph(13, [1, k]) for k in (2, 3, 5)]
    graphs += [nx.disjoint_union(nx.cycle_graph(3), nx.cycle_graph(3)), nx.cycle_graph(6)]
    graphs += [nx.petersen_graph(), nx.hypercube_graph(3), nx.star_graph(5), nx.empty_graph(4)]
    graphs += [nx.complete_bipartite_graph(a, b) for a in (2, 3) for b in (3, 4)]
    graphs += [nx.disjoint_union(nx.circulant_graph(13, [1, 5]), nx.circulant_graph(13, [1, 3]))]
    return [data_of(graph) for graph in graphs]


def molecules(count: int, seed: int = 0) -> list[Data]:
    """Random sparse connected graphs with categories."""
    generator = torch.Generator().manual_seed(seed)
    sizes = torch.randint(2, 20, (count,), generator=generator).tolist()
    trees = [nx.random_labeled_tree(size, seed=seed + i) for i, size in enumerate(sizes)]
    return [data_of(tree, generator) for tree in trees]


def batch_of(*graphs: Data) -> Batch:
    return Batch.from_data_list(list(graphs))


def permuted(data: Data, order: Tensor) -> Data:
    """The same graph with node ``order[i]`` in place i."""
    place = torch.empty_like(order)
    place[order] = torch.arange(len(order))
    return Data(data.x[order], place[data.edge_index], data.edge_attr)


def repeated(data: Data, times: int) -> Graphs:
    """A batch of one graph many times over."""
    numbers = torch.arange(times)
    edges = data.edge_index.unsqueeze(1) + numbers.unsqueeze(1) * data.num_nodes  # (2, E) -> (2, K, E)
    return Graphs.of(
        {
            "x": data.x.repeat(times, 1),
            "edge_attr": data.edge_attr.repeat(times, 1),
            "edge_index": edges.reshape(2, -1),
            "batch": numbers.repeat_interleave(data.num_nodes),
        }
    )


def small_model(
    policy: str = "learned", *, seed: int = 0, dtype: torch.dtype = torch.float32, **changes
) -> SubgraphGNN:
    """A small model with random norm statistics, as training would leave them.

    Args:
        policy: its name.
        seed: of the weights.
        dtype: of the weights.
        changes: settings of inputs, model, network, bag and policy; each goes wherever a setting has its name.
    """
    torch.manual_seed(seed)
    inputs = {"node_features": Features((ATOMS,)), "edge_features": Features((BONDS,))}
    inputs |= _named(changes, Inputs.__dataclass_fields__)
    bag = _named(changes, {"rule"}.union(*(rule.__struct_fields__ for rule in RULES.values())))
    model = _named(changes, PolicyLearnSettings.__struct_fields__)
    network = _named(changes, NetworkConfig.__struct_fields__)
    of_policy = {*POLICIES_BY_NAME[policy].settings.__struct_fields__}
    rest = {k: v for k, v in changes.items() if k in of_policy or k not in {*inputs, *bag, *model, *network}}
    settings = {
        "prediction": {"channels": 8, "layers": 3} | network,
        "selection": {"name": policy} | rest,
        "bag": bag,
        **model,
    }
    built = build_model(settings=settings, inputs=Inputs(**inputs))
    assert isinstance(built, SubgraphGNN)
    with torch.no_grad():
        for name, value in built.state_dict().items():
            if "norm" in name and value.is_floating_point():
                value.copy_(torch.rand_like(value) + 0.5)
    return built.to(dtype)


def _named(changes: dict, names: Iterable[str]) -> dict:
    return {name: changes[name] for name in names if name in changes}
