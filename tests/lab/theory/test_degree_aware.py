"""The appendix's weights: exactly the nodes of degree greater than d, each once."""

from __future__ import annotations

import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch_geometric.data import Data

from lab.theory.weights import appendix_weights, degree_aware_policy
from policylearn.bags import Graphs

NODES = st.integers(1, 14)


@settings(max_examples=40, deadline=None)
@given(st.data(), NODES, st.integers(1, 5), st.booleans(), st.booleans())
def test_exactly_the_nodes_of_larger_degree(
    data: st.DataObject, nodes: int, threshold: int, mask: bool, sample: bool
) -> None:
    pairs = [(a, b) for a in range(nodes) for b in range(a)]
    chosen = data.draw(st.lists(st.sampled_from(pairs), unique=True) if pairs else st.just([]))
    edges = torch.tensor([*chosen, *((b, a) for a, b in chosen)], dtype=torch.long).reshape(-1, 2).t()
    degree = torch.bincount(edges[0], minlength=nodes)
    wanted = (degree > threshold).nonzero().flatten().tolist()
    graphs = Graphs.of(Data(edge_index=edges.contiguous(), num_nodes=nodes))
    policy = degree_aware_policy(threshold, len(wanted), mask_selected=mask)
    with torch.no_grad():
        roots = policy(graphs, sample=sample, generator=torch.Generator().manual_seed(0)).roots
    assert sorted(roots.flatten().tolist()) == wanted


def test_scores_are_those_of_the_proof() -> None:
    """A star with a tail: node 0 has degree 3, node 1 degree 2, the rest 1; d = 1."""
    edges = torch.tensor([[0, 1], [0, 2], [0, 3], [1, 4]]).t()
    graphs = Graphs.of(Data(edge_index=torch.cat([edges, edges.flip(0)], dim=1), num_nodes=5))
    policy = degree_aware_policy(1, 3, mask_selected=False)
    with torch.no_grad():
        selection = policy(graphs, sample=False)
    assert selection.logits is not None
    scores = (selection.logits / 200).tolist()
    assert scores == [[1, 1, 0, 0, 0], [0, 1, 0, 0, 0], [0, 0, 0, 0, 0]]
    assert selection.roots[:2].flatten().tolist() == [0, 1]


def test_the_last_layer_is_what_keeps_a_node_from_being_picked_again() -> None:
    policy = degree_aware_policy(1, 3, mask_selected=False)
    weights = appendix_weights(policy, 1)
    weights["encoder.layers.3.features.conv.conv.lin_root.weight"][0, 0] = 0
    policy.load_state_dict(weights)
    edges = torch.combinations(torch.arange(4)).t()
    graphs = Graphs.of(Data(edge_index=torch.cat([edges, edges.flip(0)], dim=1), num_nodes=4))
    with torch.no_grad():
        assert policy(graphs, sample=False).roots.flatten().tolist() == [0, 0, 0]
