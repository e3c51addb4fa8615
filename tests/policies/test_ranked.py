from __future__ import annotations

import networkx as nx
import pytest
import torch

from policylearn.bags import Graphs
from policylearn.policies import RankedPolicy, degree, ranked, subgraph_centrality
from tests.graphs import batch_of, data_of, molecules


def test_degree_counts_edges() -> None:
    graphs = Graphs.of(batch_of(data_of(nx.star_graph(3)), data_of(nx.path_graph(3))))
    assert degree(graphs).tolist() == [3, 1, 1, 1, 1, 2, 1]
    assert RankedPolicy(degree, 2)(graphs).roots.tolist() == [[0, 5], [1, 4]]


@pytest.mark.parametrize("entries", [1, 1000, 1 << 22])
def test_centrality_equals_networkx(entries: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ranked, "DENSE_ENTRIES", entries)
    networks = [nx.gnp_random_graph(n, 0.4, seed=n) for n in (1, 5, 12, 7, 6, 13, 14)] + [nx.star_graph(300)]
    scores = subgraph_centrality(Graphs.of(batch_of(*[data_of(network) for network in networks])))
    wanted = torch.cat(
        [torch.tensor(list(nx.subgraph_centrality_exp(n).values()), dtype=torch.float64) for n in networks]
    )
    assert torch.allclose(scores.exp(), wanted, rtol=1e-6)


def test_any_score_will_do() -> None:
    graphs = Graphs.of(batch_of(*molecules(4)))
    last = RankedPolicy(lambda g: torch.arange(g.num_nodes, dtype=torch.float64), 1, tie_tolerance=0.0)(graphs)
    assert last.roots[0].tolist() == (graphs.ptr[1:] - 1).tolist()
