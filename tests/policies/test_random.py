from __future__ import annotations

import torch

from policylearn.bags import Graphs
from policylearn.policies import RandomPolicy
from tests.graphs import batch_of, molecules, permuted, repeated, symmetric_graphs


def draws(policy: RandomPolicy, copies: int = 3000, nodes: int = 4) -> torch.Tensor:
    data = symmetric_graphs()[nodes - 3]
    graphs = repeated(data, copies)
    return policy(graphs, generator=torch.Generator().manual_seed(0)).local_roots(graphs.ptr)


def test_draws_are_uniform_with_and_without_replacement() -> None:
    for replacement in (True, False):
        roots = draws(RandomPolicy(2, replacement=replacement))
        pairs = torch.bincount(roots[0] * 4 + roots[1], minlength=16).view(4, 4) / roots.shape[1]
        same = torch.eye(4).bool()
        wanted = torch.full((4, 4), 1 / 16) if replacement else torch.full((4, 4), 1 / 12).masked_fill(same, 0)
        assert (pairs - wanted).abs().max() < 5 * (0.1 / roots.shape[1]) ** 0.5


def test_training_draws_change_and_follow_the_generator() -> None:
    policy = RandomPolicy(2).train()
    graphs = Graphs.of(batch_of(*molecules(20)))
    a, b = (policy(graphs, generator=torch.Generator().manual_seed(seed)).roots for seed in (0, 0))
    assert torch.equal(a, b)
    assert not torch.equal(a, policy(graphs, generator=torch.Generator().manual_seed(1)).roots)
    assert not torch.equal(policy(graphs).roots, policy(graphs).roots)


def test_evaluation_draws_belong_to_the_graph() -> None:
    policy = RandomPolicy(3).eval()
    graphs = molecules(20)
    together = Graphs.of(batch_of(*graphs))
    roots = policy(together).local_roots(together.ptr)
    for place, data in enumerate(graphs):
        alone = Graphs.of(batch_of(data))
        assert torch.equal(policy(alone).roots[:, 0], roots[:, place])


def test_evaluation_draws_depend_on_seed_and_structure_not_on_the_order_of_edges() -> None:
    data = molecules(6, seed=5)[3]
    first = RandomPolicy(3, seed=0).eval()
    shuffled = data.clone()
    order = torch.randperm(data.num_edges, generator=torch.Generator().manual_seed(0))
    shuffled.edge_index, shuffled.edge_attr = data.edge_index[:, order], data.edge_attr[order]
    assert torch.equal(first(Graphs.of(data)).roots, first(Graphs.of(shuffled)).roots)
    seeds = {tuple(RandomPolicy(3, seed=s).eval()(Graphs.of(data)).roots[:, 0].tolist()) for s in range(10)}
    assert len(seeds) > 5
    orders = (torch.randperm(data.num_nodes, generator=torch.Generator().manual_seed(s)) for s in range(10))
    relabelled = {tuple(first(Graphs.of(permuted(data, o))).roots[:, 0].tolist()) for o in orders}
    assert len(relabelled) > 5


def test_evaluation_draws_are_uniform_over_graphs() -> None:
    policy = RandomPolicy(1).eval()
    base = symmetric_graphs()[9]  # a cycle of 12: cut edges at random to get many different structures
    generator = torch.Generator().manual_seed(0)
    variants = []
    for _ in range(600):
        data = base.clone()
        keep = torch.rand(12, generator=generator).lt(0.7).repeat(2)
        data.edge_index, data.edge_attr = data.edge_index[:, keep], data.edge_attr[keep]
        variants.append(data)
    graphs = Graphs.of(batch_of(*variants))
    counts = torch.bincount(policy(graphs).local_roots(graphs.ptr)[0], minlength=12)
    chi2 = ((counts - 50) ** 2 / 50).sum()
    assert chi2 < 31.3, counts  # 99.9 % of chi-square with 11 degrees of freedom
