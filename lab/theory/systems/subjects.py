"""The systems that are compared: what each is built with, what is compared of it, and what is proven of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from lab.theory.systems.readings import (
    Reading,
    central_picks,
    each_deletion,
    each_tuple,
    output,
    picks_of_policy,
    uniform_picks,
    without_eigenvectors,
)
from policylearn.settings import PolicyName
from policylearn.wording import hint

Claim = Literal["none", "all", "open"]
"""Of a family's pairs: none can be told apart, all can, or nothing is proven that settles it."""

OUTPUT = "the output"


@dataclass(frozen=True)
class Proven:
    """What is proven of a system on each family.

    Args:
        sr25: on strongly regular graphs of equal parameters, which 3-WL cannot tell apart.
        csl: on circular skip link graphs, which 1-WL cannot tell apart and one mark does.
        exp: on pairs that 1-WL cannot tell apart and 3-WL does.
        why: the bound or the construction, and whose.
    """

    sr25: Claim
    csl: Claim
    exp: Claim
    why: str


@dataclass(frozen=True)
class Subject:
    """One row of the table.

    Args:
        name: of its records.
        title: for people.
        proven: what theory says.
        model: a registered system; empty for the family of policies.
        policy: the policy's name; empty for systems.
        settings: of the system, besides layers and channels.
        reading: what is compared.
        compared: the same in words.
        most_pairs: of EXP that are compared; fewer where every pair of nodes is a draw.
    """

    name: str
    title: str
    proven: Proven
    model: str = ""
    policy: PolicyName | Literal[""] = ""
    settings: Mapping[str, Any] = field(default_factory=dict)
    reading: Reading = output
    compared: str = OUTPUT
    most_pairs: int = 600


ONE_WL = Proven("none", "none", "none", "message passing is at most 1-WL (Xu et al. 2019)")
TUPLES = 20
"""Pairs of EXP for systems with a draw per pair of nodes."""


def within_3wl(why: str, csl: Claim = "open", exp: Claim = "open") -> Proven:
    """A system that 3-WL bounds, so that it cannot tell strongly regular graphs of equal parameters apart."""
    return Proven("none", csl, exp, why)


FRASCA = "at most 3-WL, as every network on one subgraph per node (Frasca et al. 2022)"
MARKED = f"{FRASCA}; one mark tells CSL graphs apart (the paper)"

SUBJECTS = (
    Subject("gin", "GIN", ONE_WL, policy="none"),
    Subject("pna", "PNA", ONE_WL, "pna", settings={"channels": 10, "edge_channels": 4}),
    Subject(
        "learned-1",
        "learned policy, T = 1",
        within_3wl(MARKED, csl="all"),
        policy="learned",
        reading=picks_of_policy,
        compared="the mean over all picks, by the policy's chances",
    ),
    Subject(
        "random-1",
        "random policy, T = 1",
        within_3wl(MARKED, csl="all"),
        policy="random",
        reading=uniform_picks,
        compared="the mean over all picks",
    ),
    Subject("full", "full bag (T = n)", within_3wl(MARKED, csl="all"), policy="full"),
    Subject(
        "ds-gnn-marked", "DS-GNN, node-marked", within_3wl(MARKED, csl="all"), "ds-gnn", settings={"bag": "marked"}
    ),
    Subject("ds-gnn-deleted", "DS-GNN, node-deleted", within_3wl(FRASCA), "ds-gnn", settings={"bag": "deleted"}),
    Subject("ds-gnn-ego", "DS-GNN, EGO+ of 3 hops", within_3wl(FRASCA), "ds-gnn", settings={"bag": "ego+", "hops": 3}),
    Subject(
        "dss-gnn-marked", "DSS-GNN, node-marked", within_3wl(MARKED, csl="all"), "dss-gnn", settings={"bag": "marked"}
    ),
    Subject("dss-gnn-deleted", "DSS-GNN, node-deleted", within_3wl(FRASCA), "dss-gnn", settings={"bag": "deleted"}),
    Subject(
        "dss-gnn-ego", "DSS-GNN, EGO+ of 3 hops", within_3wl(FRASCA), "dss-gnn", settings={"bag": "ego+", "hops": 3}
    ),
    Subject(
        "sun",
        "SUN, EGO+ of 3 hops",
        within_3wl(FRASCA),
        "sun",
        settings={"bag": "ego+", "hops": 3, "copy_readout": True, "pointwise_mlp": True},
    ),
    Subject("gnn-ak", "GNN-AK, 3 hops", within_3wl(f"more than 1-WL (Zhao et al. 2021); {FRASCA}"), "gnn-ak"),
    Subject(
        "gnn-ak-plus",
        "GNN-AK+, 3 hops",
        within_3wl(f"more than 1-WL (Zhao et al. 2021); {FRASCA}"),
        "gnn-ak-plus",
        settings={"hop_channels": 4},
    ),
    Subject(
        "gnn-sswl",
        "GNN-SSWL",
        within_3wl(
            "the most that node-based subgraph networks can, and strictly below 2-FWL (Zhang et al. 2023)", "all"
        ),
        "gnn-sswl",
    ),
    Subject(
        "gnn-sswl-plus",
        "GNN-SSWL+",
        within_3wl("as GNN-SSWL: the same class (Zhang et al. 2023)", "all"),
        "gnn-sswl-plus",
    ),
    Subject(
        "ngnn",
        "NGNN, height 4",
        within_3wl(f"more than 1-WL, tells almost all regular graphs apart (Zhang & Li 2021); {FRASCA}"),
        "ngnn",
        settings={"height": 4},
    ),
    Subject("ngnn-sun", "NGNN as in SUN's comparison, 3 hops", within_3wl(FRASCA), "ngnn-sun"),
    Subject(
        "reconstruction",
        "Reconstruction GNN, one node removed",
        within_3wl(f"more than 1-WL (Cotta et al. 2021); {FRASCA}"),
        "reconstruction",
        compared="the output for the whole deck",
    ),
    Subject(
        "osan",
        "OSAN, without noise",
        Proven(
            "none",
            "none",
            "none",
            "nodes that 1-WL takes for one tie, and ties are all kept: such masks add nothing to 1-WL",
        ),
        "osan",
        settings={"picks": 1, "votes": 1},
        compared="the output of one vote, which adds no noise",
    ),
    Subject(
        "random-osan",
        "OSAN's copies, all deletions",
        within_3wl("one deleted node per copy: at most 3-WL (Qian et al. 2022, Frasca et al. 2022)"),
        "random-osan",
        settings={"picks": 1, "keep": -1},
        reading=each_deletion,
        compared="the mean over all masks of one deleted node",
    ),
    Subject(
        "cin",
        "CIN, rings up to 6",
        Proven("open", "open", "open", "more than 1-WL, not below 3-WL (Bodnar et al. 2021)"),
        "cin",
        settings={"longest_ring": 6},
    ),
    Subject(
        "sin",
        "SIN, triangles",
        within_3wl("more than 1-WL (Bodnar et al. 2021); 2-FWL sees every triangle's three edges, so at most 3-WL"),
        "sin",
    ),
    Subject(
        "gsn",
        "GSN, cycles up to 8",
        Proven(
            "open",
            "open",
            "open",
            "more than 1-WL; not below 3-WL, which counts cycles up to 7 (Bouritsas et al. 2020)",
        ),
        "gsn",
    ),
    Subject(
        "gsn-7",
        "GSN, cycles up to 7",
        within_3wl(
            "more than 1-WL (Bouritsas et al. 2020); 3-WL counts cycles up to 7 (Fürer 2017, Arvind et al. 2020)"
        ),
        "gsn",
        settings={"longest_cycle": 7},
    ),
    Subject(
        "gin-rwse",
        "GIN + RWSE",
        within_3wl(
            "return probabilities are at most 3-WL: in a strongly regular graph they follow from its parameters"
        ),
        "gin-pe",
        settings={"encoding_channels": 2},
        reading=without_eigenvectors,
        compared="the output with a Laplacian encoding of zeros",
    ),
    Subject(
        "gin-pe",
        "GIN + RWSE & LapPE",
        Proven("open", "open", "open", "signs of eigenvectors, and those of repeated eigenvalues, are arbitrary"),
        "gin-pe",
        settings={"encoding_channels": 2},
    ),
    Subject(
        "hymn",
        "HyMN, T = 1",
        within_3wl("one mark and closed walks: at most 3-WL (Southern et al. 2025)", csl="all"),
        "hymn",
        settings={"centrality_channels": 3},
        reading=central_picks,
        compared="the mean over the most central nodes, where several are",
    ),
    Subject(
        "mag-gnn",
        "MAG-GNN, pairs of nodes",
        Proven("open", "all", "open", "two marks per copy see more than 3-WL (Kong et al. 2023)"),
        "mag-gnn",
        reading=each_tuple,
        compared="the mean over all pairs, which the agent starts from and moves to",
        most_pairs=TUPLES,
    ),
)


def find_subject(name: str) -> Subject:
    """The subject of that name, or a `ValueError` with the nearest known one."""
    for subject in SUBJECTS:
        if subject.name == name:
            return subject
    names = [subject.name for subject in SUBJECTS]
    raise ValueError(f"there is no system '{name}' here; {hint(name, names, 'there are ' + ', '.join(names))}")
