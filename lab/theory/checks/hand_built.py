"""Checks on depth and on hand-written weights: what the paper says that the architecture can do, done by ours."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import torch
from torch import Tensor
from torch_geometric.data import Batch

from lab.theory.checks.families import SIZES, csl_families
from lab.theory.checks.random_policies import log_chances, whole_batch
from lab.theory.checks.record import Measured, check
from lab.theory.depth import diameters, layers_needed, mark_is_seen
from lab.theory.graphs import union_family
from lab.theory.weights import (
    OneShot,
    covering_model,
    covering_policy,
    degree_aware_policy,
    one_shot_policy,
    random_one_shot,
    table_one_shot,
)
from policylearn.bags import Graphs
from policylearn.data import PackedGraphs, make_batch
from policylearn.data.synthetic import csl_members, join, shuffle_nodes
from policylearn.data.synthetic.assembly import one_graph
from policylearn.demo.learning import covered
from policylearn.policies import NoPolicy

ORDERS = 5


@check("layers", "`depth.layers_needed`, `depth.mark_is_seen`")
def enough_layers() -> Measured:
    """With n layers a mark is seen in all of its CSL component, and with n / 2 too; the diameter is enough."""
    holds, found = True, []
    for n in SIZES:
        members = csl_members(n)
        needed, across = layers_needed(members), diameters(members)
        holds &= bool((needed == across).all() and across.max() <= n // 2)
        holds &= bool(mark_is_seen(members, n).all() and mark_is_seen(members, n // 2).all())
        found.append(f"{across.min()} to {across.max()} for n = {n}")
    return (
        "all CSL classes of n = 13, 17, 29, every node marked",
        f"n and n / 2 suffice; the least number is each graph's diameter: {', '.join(found)}",
        holds,
    )


@check("covering-weights", "`weights.covering_policy`")
def covering() -> Measured:
    """There are weights with which the selection network picks from a new component each step (theorem 2)."""
    generator = np.random.default_rng(0)
    least, graphs, tried = 1.0, 0, {}
    for n, members, size in csl_families(whole=True):
        layers = int(diameters(members).max())
        family = random_orders(union_family(members, size), ORDERS, generator)
        least = min(least, *coverages(family, size, layers))
        graphs += len(family)
        tried[n] = f"n = {n} with l up to {size} and {layers} layers"
    return (
        f"{'; '.join(tried.values())}; every class in {ORDERS} random node orders; argmax and draws,"
        " mask_selected on and off",
        f"coverage {least:.1f} in all {graphs:,} graphs and 4 ways each",
        least == 1.0,
    )


@check("too-shallow", "`weights.covering_policy`")
def too_shallow() -> Measured:
    """With one layer less than a component's diameter they do not."""
    generator, torch_generator = np.random.default_rng(0), torch.Generator().manual_seed(0)
    failing = classes = 0
    for parts in map(csl_members, SIZES):
        pairs = union_family(parts, 2)
        for k, diameter in enumerate(diameters(parts).tolist()):
            graphs = shuffle_nodes(pairs, generator)
            member = graphs.extras["member"].reshape(len(pairs), -1)
            rows = np.repeat(np.flatnonzero((member == k).any(axis=1)), 40)
            batch, of_node = Graphs.of(make_batch(graphs, rows)), torch.from_numpy(member[rows]).flatten()
            policy = covering_policy(2, diameter - 1, mask_selected=False)
            first, second = of_node[policy(batch, sample=True, generator=torch_generator).roots]
            failing += bool(((first == k) & (second == k)).any())
            classes += 1
    return (
        f"the {classes} CSL classes of n = 13, 17, 29, each in pairs with the others, drawn",
        f"{failing} of {classes} classes are picked from twice",
        failing == classes,
    )


@check("identification", "`weights.covering_model`")
def identification() -> Measured:
    """With T = l, Policy-learn identifies the isomorphism type of any (n, l)-CSL graph (theorem 2)."""
    generator, torch_generator = np.random.default_rng(0), torch.Generator().manual_seed(0)
    holds, tried = True, []
    for n, members, size in csl_families():
        family = random_orders(union_family(members, size), ORDERS, generator)
        batch = make_batch(family, np.arange(len(family)))
        model = covering_model(size, int(diameters(members).max()), 4, torch_generator)
        (spread, gap), graphs = separation(model(batch), batch.y), Graphs.of(batch)
        _, unmarked = separation(model.predict(graphs, NoPolicy()(graphs)), batch.y)
        holds &= gap > 1000 * spread and unmarked < 1e-12
        tried.append(f"({n}, {size})")
    return (
        f"(n, l) = {', '.join(tried)}; every class in {ORDERS} random node orders; random prediction weights",
        "outputs of different classes differ by more than 1,000 times what node order changes; unmarked, not at all",
        holds,
    )


@check("degree-aware-weights", "`weights.degree_aware_policy`")
def degree_aware() -> Measured:
    """There are weights with which exactly the m nodes of degree greater than d are picked in T = m steps."""
    torch_generator = torch.Generator().manual_seed(0)
    holds, asked = True, 0
    graphs = random_graphs(200, np.random.default_rng(0))
    batch = whole_batch(graphs)
    degree = batch.adjacency.target_ptr.diff()
    for threshold in range(1, 7):
        wanted = degree > threshold
        per_graph = torch.zeros(len(graphs), dtype=torch.long).index_add(0, batch.batch, wanted.long())
        for mask, sample in product((True, False), (False, True)):
            policy = degree_aware_policy(threshold, int(per_graph.max()), mask_selected=mask)
            roots = policy(batch, sample=sample, generator=torch_generator).roots
            first = torch.arange(len(roots)).unsqueeze(1) < per_graph  # the graph's own T = m steps
            picked = torch.zeros_like(wanted)
            picked[roots[first]] = True
            holds &= bool((picked == wanted).all())
        asked += int((per_graph > 0).sum())
    return (
        "200 random graphs of 1 to 25 nodes, d = 1 to 6; argmax and draws, mask_selected on and off",
        f"exact in all {asked:,} cases with such nodes, 4 ways each",
        holds,
    )


@check("one-shot-weights", "`weights.one_shot_policy`")
def any_one_shot() -> Measured:
    """There are weights with which Policy-learn gives the T distributions of any one-shot network, one per step."""
    torch_generator = torch.Generator().manual_seed(0)
    graphs = random_graphs(50, np.random.default_rng(0))
    worst = {torch.float32: 0.0, torch.float64: 0.0}
    for dtype in worst:
        for picks in (1, 2, 5, 10):
            batch = make_batch(graphs, np.arange(len(graphs)))
            for layers in (1, 3):
                network = random_one_shot(1, 12, layers, picks, torch_generator).to(dtype)
                worst[dtype] = max(worst[dtype], difference(network, batch, torch_generator))
            batch.x = 3 * torch.randn(len(batch.x), picks, generator=torch_generator)
            worst[dtype] = max(worst[dtype], difference(table_one_shot(picks).to(dtype), batch, torch_generator))
    return (
        "random GraphConv networks of 1 and 3 layers and random tables of scores, T = 1, 2, 5 and 10,"
        " 50 random graphs, scores up to 10",
        "log-probabilities agree to 1e-5 in single and 1e-12 in double precision",
        worst[torch.float32] < 1e-5 and worst[torch.float64] < 1e-12,
    )


@torch.no_grad()
def coverages(family: PackedGraphs, components: int, layers: int) -> list[float]:
    """Coverage by argmax and by drawing, with and without the mask."""
    generator = torch.Generator().manual_seed(0)
    batch = whole_batch(family)
    component = torch.from_numpy(family.extras["component"])
    shares = []
    for mask, sample in product((True, False), (False, True)):
        policy = covering_policy(components, layers, mask_selected=mask)
        selection = policy(batch, sample=sample, generator=generator)
        shares.append(float(covered(selection, component, components).double().mean()))
    return shares


def separation(outputs: Tensor, labels: Tensor) -> tuple[float, float]:
    """Largest difference within a class, and least distance between the means of two, in units of the largest output.

    Shapes:
        outputs ``(G, C)``, labels ``(G,)`` from 0 without gaps.
    """
    scaled = outputs / outputs.abs().max().clamp(min=torch.finfo(outputs.dtype).tiny)
    means = torch.stack([scaled[labels == label].mean(0) for label in range(int(labels.max()) + 1)])
    spread = (scaled - means[labels]).abs().max()
    distances = (means.unsqueeze(0) - means.unsqueeze(1)).abs().amax(-1)  # (classes, classes)
    distances.fill_diagonal_(torch.inf)
    return float(spread), float(distances.min())


@torch.no_grad()
def difference(network: OneShot, batch: Batch, generator: torch.Generator) -> float:
    """Largest difference of log-probabilities between a one-shot network and the policy that hosts it.

    The network's scores are scaled to at most 10 in size first: rounding grows with them.
    """
    graphs = Graphs.of(batch)
    network.head.weight *= 10 / network(graphs).abs().max()
    wanted = network(graphs).t()  # (N, T) -> (T, N)
    logits = one_shot_policy(network)(graphs, sample=True, generator=generator).logits
    assert logits is not None, "a learned policy gives its scores"
    return float((log_chances(wanted, graphs) - log_chances(logits, graphs)).abs().max())


def random_orders(family: PackedGraphs, times: int, generator: np.random.Generator) -> PackedGraphs:
    """Every graph several times, each time with its nodes in a new random order; extras of the nodes move along."""
    extras = {name: np.tile(rows, times) for name, rows in family.extras.items()}
    return shuffle_nodes(replace(join([family] * times), extras=extras), generator)


def random_graphs(count: int, generator: np.random.Generator) -> PackedGraphs:
    """Random graphs of 1 to 25 nodes and of all densities."""
    graphs = []
    for size in generator.integers(1, 26, size=count).tolist():
        pairs = np.stack(np.triu_indices(size, k=1))
        graphs.append(one_graph(pairs[:, generator.random(pairs.shape[1]) < generator.random()], size))
    return join(graphs)
