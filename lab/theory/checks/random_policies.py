"""Checks on random and one-shot policies: how likely they are to identify, and how many draws it takes."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations, pairwise, product
from math import e, log, sqrt

import numpy as np
import torch

from lab.settings import policy_model
from lab.theory.chance import (
    expected_draws,
    simulate_draws,
    success_with_replacement,
    success_without_replacement,
)
from lab.theory.checks.record import Measured, check
from lab.theory.graphs import union_family
from lab.theory.weights import draw_weights, random_one_shot
from policylearn.bags import Graphs, Selection
from policylearn.data import PackedGraphs, make_batch
from policylearn.data.synthetic import csl_members, csl_unions
from policylearn.demo.learning import covered
from policylearn.nn import NetworkConfig, segment_argmax, segment_log_softmax
from policylearn.policies import RandomPolicy
from policylearn.settings import ConvName, NormKind

GRAPHS = 4000
ERRORS_ALLOWED = 4
"""How many standard errors a simulated share may lie from the exact one."""
UNEVEN = 1e-5
"""Up to this relative difference probabilities count as equal; the rest is rounding."""
CONVS: tuple[ConvName, ...] = ("gin", "gcn", "sage", "gatv2")
NORMS: tuple[NormKind, ...] = ("none", "layer", "batch")


@check("with-replacement", "`chance.success_with_replacement`, `chance.covered`")
def with_replacement() -> Measured:
    """A random policy that draws l nodes identifies with probability l! / l^l."""
    holds, simulated = True, []
    for parts in range(1, 7):
        hits = sum(len(set(drawn)) == parts for drawn in product(range(parts), repeat=parts))
        holds &= Fraction(hits, parts**parts) == success_with_replacement(parts)
    for parts in (2, 3, 4):
        near, told = random_policy_share(17, parts, success_with_replacement(parts), replacement=True)
        holds &= near
        simulated.append(told)
    return (
        f"all l^l outcomes for l = 1 to 6; RandomPolicy on {GRAPHS:,} (17, l)-CSL graphs for l = 2, 3, 4",
        f"counts equal the formula; shares drawn (exact): {', '.join(simulated)}",
        holds,
    )


@check("without-replacement", "`chance.success_without_replacement`, `chance.covered`")
def without_replacement() -> Measured:
    """Without replacement that probability is n^l / C(nl, l)."""
    holds, simulated = True, []
    for n, parts in ((5, 3), (5, 4), (13, 2), (13, 3), (17, 2), (17, 3), (29, 2)):
        subsets = list(combinations(range(n * parts), parts))
        hits = sum(len({node // n for node in subset}) == parts for subset in subsets)
        holds &= Fraction(hits, len(subsets)) == success_without_replacement(n, parts)
    for n, parts in ((13, 2), (17, 3), (17, 4)):
        near, told = random_policy_share(n, parts, success_without_replacement(n, parts), replacement=False)
        holds &= near
        simulated.append(f"({n}, {parts}) {told}")
    return (
        f"all subsets for 7 pairs (n, l) from (5, 3) to (29, 2); RandomPolicy on {GRAPHS:,} graphs for 3 pairs",
        f"counts equal the formula; shares drawn (exact): {', '.join(simulated)}",
        holds,
    )


@check("vanishing", "`chance.success_with_replacement`")
def vanishing() -> Measured:
    """The probability l! / l^l tends to 0 as l grows."""
    values = [float(success_with_replacement(parts)) for parts in range(1, 101)]
    falling = all(later < earlier for earlier, later in pairwise(values))
    # l! <= e sqrt(l) (l / e)^l, so the chance is at most e sqrt(l) e^-l
    below = all(value <= e * sqrt(parts) * e**-parts * (1 + 1e-9) for parts, value in enumerate(values, start=1))
    return (
        "l = 1 to 100",
        f"falls with every l and stays below e √l e^-l: {values[4]:.3f} at 5, {values[9]:.1e} at 10,"
        f" {values[99]:.0e} at 100",
        falling and below,
    )


@check("draws", "`chance.expected_draws`, `chance.simulate_draws`")
def draws() -> Measured:
    """The expected number of draws before identification is l H_l = Θ(l ln l); 'around 460' for l = 100 is l ln l."""
    generator = np.random.default_rng(0)
    holds, rows = True, []
    for parts in (2, 3, 4, 10, 30, 100):
        trials = 20_000
        counted = simulate_draws(17, parts, trials, generator)
        exact, error = float(expected_draws(parts)), float(counted.std()) / sqrt(trials)
        holds &= abs(counted.mean() - exact) < ERRORS_ALLOWED * error
        rows.append(f"l = {parts}: {exact:.1f} (simulated {counted.mean():.1f}, l ln l = {parts * log(parts):.1f})")
    return (
        "l = 2, 3, 4, 10, 30, 100 components, 20,000 trials each",
        "; ".join(rows),
        holds and round(float(expected_draws(100)), 1) == 518.7,
    )


@check("uniform-first-pick", "`LearnedPolicy`, first step")
def uniform_first_pick() -> Measured:
    """On (n, l)-CSL graphs message passing on the unmarked graph selects uniformly."""
    generator = torch.Generator().manual_seed(0)
    worst, networks = 0.0, 0
    for conv in CONVS:
        for norm in NORMS:
            network = NetworkConfig(channels=16, layers=4, conv=conv)
            policy = draw_weights(policy_model({"picks": 1, "norm": norm}, network), generator).policy
            for n, parts in ((13, 2), (17, 3), (29, 2)):
                family = union_family(csl_members(n), parts)
                graphs = whole_batch(family)
                logits = policy(graphs).logits
                assert logits is not None, "a learned policy gives its scores"
                worst = max(worst, unevenness(logits, graphs))
            networks += 1
    return (
        f"{networks} selection networks with random weights ({', '.join(CONVS)}; norm {', '.join(NORMS)}) on all"
        " (13, 2)-, (17, 3)- and (29, 2)-CSL graphs",
        "every node has probability 1 / (nl), to a relative 1e-5",
        worst < UNEVEN,
    )


@check("one-shot", "`weights.OneShot`, `chance.covered`")
def one_shot_selection() -> Measured:
    """A one-shot selection (OSAN) is uniform there too and identifies with probability l! / l^l (theorem 3)."""
    generator = torch.Generator().manual_seed(0)
    holds, found = True, []
    for parts in (2, 3, 4):
        drawn = csl_unions(17, parts, GRAPHS, np.random.default_rng(parts))
        graphs = whole_batch(drawn)
        logits = random_one_shot(1, 16, 3, parts, generator)(graphs).t()  # (N, T) -> (T, N)
        holds &= unevenness(logits, graphs) < UNEVEN
        noise = -torch.empty(logits.shape).exponential_(generator=generator).log()
        roots = torch.stack([segment_argmax(row, graphs.batch, GRAPHS) for row in logits + noise])
        component = torch.from_numpy(drawn.extras["component"])
        near, told = covering_share(Selection(roots), component, parts, success_with_replacement(parts), digits=2)
        holds &= near
        found.append(told)
    return (
        f"random weights, T = l = 2, 3, 4, {GRAPHS:,} (17, l)-CSL graphs each",
        f"all T distributions uniform; shares drawn (exact): {', '.join(found)}",
        holds,
    )


def random_policy_share(n: int, components: int, exact: Fraction, *, replacement: bool) -> tuple[bool, str]:
    """How often the package's random policy, with T = l picks, covers (n, l)-CSL graphs; see `covering_share`."""
    drawn = csl_unions(n, components, GRAPHS, np.random.default_rng(0))
    graphs = whole_batch(drawn)
    policy = RandomPolicy(components, replacement=replacement)
    selection = policy(graphs, generator=torch.Generator().manual_seed(0))
    return covering_share(selection, torch.from_numpy(drawn.extras["component"]), components, exact)


def covering_share(
    selection: Selection, component: torch.Tensor, components: int, exact: Fraction, digits: int = 3
) -> tuple[bool, str]:
    """Whether the share of covered graphs lies within the standard errors allowed, and both shares as text."""
    share, p = float(covered(selection, component, components).double().mean()), float(exact)
    near = abs(share - p) <= ERRORS_ALLOWED * sqrt(p * (1 - p) / selection.roots.shape[1])
    return near, f"{share:.{digits}f} ({p:.{digits}f})"


def whole_batch(graphs: PackedGraphs) -> Graphs:
    """All graphs as one batch."""
    return Graphs.of(make_batch(graphs, range(len(graphs))))


def unevenness(logits: torch.Tensor, graphs: Graphs) -> float:
    """By how much, relative to 1 / nodes, the most unequal probability of any step is off, ``(T, N)``."""
    relative = log_chances(logits.double(), graphs).exp() * graphs.sizes.index_select(0, graphs.batch)
    return float((relative - 1).abs().max())


def log_chances(logits: torch.Tensor, graphs: Graphs) -> torch.Tensor:
    """The log-probability of each node within its graph, by step, ``(T, N)``."""
    return torch.stack([segment_log_softmax(row, graphs.batch, graphs.num_graphs) for row in logits])
