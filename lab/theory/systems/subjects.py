"""The systems that are compared: what each is built with, what is compared of it, and what is proven of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from lab.settings import look_up
from lab.theory.systems.readings import (
    Reading,
    central_picks,
    each_deletion,
    output,
    picks_of_policy,
    uniform_picks,
    without_eigenvectors,
)
from policylearn.settings.run_config import POLICY_LEARN

Claim = Literal["none", "all", "open"]
"""Of a family's pairs: none can be distinguished, all can, or nothing is proven that settles it."""


@dataclass(frozen=True)
class Proven:
    """What is proven of a system on each family.

    Args:
        why: the bound or the construction, and whose.
        sr25: on strongly regular graphs of equal parameters, which 3-WL cannot distinguish.
        csl: on circular skip link graphs, which 1-WL cannot distinguish and one mark does.
        exp: on pairs that 1-WL cannot distinguish and 3-WL does.
    """

    why: str
    sr25: Claim = "open"
    csl: Claim = "open"
    exp: Claim = "open"


@dataclass(frozen=True)
class Subject:
    """One row of the table.

    Args:
        settings: of the system, besides layers and channels.
        compared: the same in words.
    """

    name: str
    title: str
    model: str
    settings: Mapping[str, Any]
    proven: Proven
    reading: Reading = output
    compared: str = "the output"


def one_wl(why: str) -> Proven:
    """A system that 1-WL bounds, so that it distinguishes no pair of any family."""
    return Proven(why, "none", "none", "none")


def within_3wl(why: str, csl: Claim = "open") -> Proven:
    """A system that 3-WL bounds, so that it cannot distinguish strongly regular graphs of equal parameters."""
    return Proven(why, "none", csl)


MESSAGES = one_wl("message passing is at most 1-WL (Xu et al. 2019)")
BOUND = "at most 3-WL, as every network on one subgraph per node (Frasca et al. 2022)"
NODES = within_3wl(BOUND)
MARKS = within_3wl(f"{BOUND}; one mark tells CSL graphs apart (the paper)", "all")
EGO = {"bag": "ego+", "hops": 3}


def policy(name: str, **more: Any) -> dict[str, Any]:
    """The settings of Policy-learn with a policy."""
    return {"selection": {"name": name, **more}}


# fmt: off
SUBJECTS = (
    Subject("gin", "GIN", POLICY_LEARN, policy("none"), MESSAGES),
    Subject("pna", "PNA", "pna", {"channels": 10, "edge_channels": 4}, MESSAGES),
    Subject("learned-1", "learned policy, T = 1", POLICY_LEARN, policy("learned", picks=1), MARKS,
            picks_of_policy, "the mean over all picks, by the policy's chances"),
    Subject("random-1", "random policy, T = 1", POLICY_LEARN, policy("random", picks=1), MARKS,
            uniform_picks, "the mean over all picks"),
    Subject("full", "full bag (T = n)", POLICY_LEARN, policy("full"), MARKS),
    Subject("ds-gnn-marked", "DS-GNN, node-marked", "ds-gnn", {"bag": "marked"}, MARKS),
    Subject("ds-gnn-deleted", "DS-GNN, node-deleted", "ds-gnn", {"bag": "deleted"}, NODES),
    Subject("ds-gnn-ego", "DS-GNN, EGO+ of 3 hops", "ds-gnn", EGO, NODES),
    Subject("dss-gnn-marked", "DSS-GNN, node-marked", "dss-gnn", {"bag": "marked"}, MARKS),
    Subject("dss-gnn-deleted", "DSS-GNN, node-deleted", "dss-gnn", {"bag": "deleted"}, NODES),
    Subject("dss-gnn-ego", "DSS-GNN, EGO+ of 3 hops", "dss-gnn", EGO, NODES),
    Subject("sun", "SUN, EGO+ of 3 hops", "sun", {**EGO, "copy_readout": True, "pointwise_mlp": True}, NODES),
    Subject("gnn-ak", "GNN-AK, 3 hops", "gnn-ak", {},
            within_3wl(f"more than 1-WL (Zhao et al. 2021); {BOUND}")),
    Subject("gnn-ak-plus", "GNN-AK+, 3 hops", "gnn-ak-plus", {"hop_channels": 4},
            within_3wl(f"more than 1-WL (Zhao et al. 2021); {BOUND}")),
    Subject("gnn-sswl", "GNN-SSWL", "gnn-sswl", {},
            within_3wl("the most that node-based subgraph networks can, and strictly below 2-FWL (Zhang et al. 2023)",
                       "all")),
    Subject("gnn-sswl-plus", "GNN-SSWL+", "gnn-sswl-plus", {},
            within_3wl("as GNN-SSWL: the same class (Zhang et al. 2023)", "all")),
    Subject("ngnn", "NGNN, height 4", "ngnn", {"height": 4},
            within_3wl(f"more than 1-WL, tells almost all regular graphs apart (Zhang & Li 2021); {BOUND}")),
    Subject("ngnn-sun", "NGNN as in SUN's comparison, 3 hops", "ngnn-sun", {}, NODES),
    Subject("reconstruction", "Reconstruction GNN, one node removed", "reconstruction", {},
            within_3wl(f"more than 1-WL (Cotta et al. 2021); {BOUND}"), output, "the output for the whole deck"),
    Subject("osan", "OSAN, without noise", "osan", {"picks": 1, "votes": 1},
            one_wl("nodes that 1-WL takes for one tie, and ties are all kept: such masks add nothing to 1-WL"),
            output, "the output of one vote, which adds no noise"),
    Subject("random-osan", "OSAN's copies, all deletions", "random-osan", {"picks": 1, "keep": -1},
            within_3wl("one deleted node per copy: at most 3-WL (Qian et al. 2022, Frasca et al. 2022)"),
            each_deletion, "the mean over all masks of one deleted node"),
    Subject("cin", "CIN, rings up to 6", "cin", {"longest_ring": 6},
            Proven("more than 1-WL, not below 3-WL (Bodnar et al. 2021)")),
    Subject("sin", "SIN, triangles", "sin", {},
            within_3wl("more than 1-WL (Bodnar et al. 2021); 2-FWL sees every triangle's three edges,"
                       " so at most 3-WL")),
    Subject("gsn", "GSN, cycles up to 8", "gsn", {},
            Proven("more than 1-WL; not below 3-WL, which counts cycles up to 7 (Bouritsas et al. 2020)")),
    Subject("gsn-7", "GSN, cycles up to 7", "gsn", {"longest_cycle": 7},
            within_3wl("more than 1-WL (Bouritsas et al. 2020); 3-WL counts cycles up to 7"
                       " (Fürer 2017, Arvind et al. 2020)")),
    Subject("gin-rwse", "GIN + RWSE", "gin-pe", {"encoding_channels": 2},
            within_3wl("return probabilities are at most 3-WL: in a strongly regular graph they follow from its"
                       " parameters"),
            without_eigenvectors, "the output with a Laplacian encoding of zeros"),
    Subject("gin-pe", "GIN + RWSE & LapPE", "gin-pe", {"encoding_channels": 2},
            Proven("signs of eigenvectors, and those of repeated eigenvalues, are arbitrary")),
    Subject("hymn", "HyMN, T = 1", "hymn", {"centrality_channels": 3},
            within_3wl("one mark and closed walks: at most 3-WL (Southern et al. 2025)", "all"),
            central_picks, "the mean over the most central nodes, where several are"),
)
# fmt: on


def find_subject(name: str) -> Subject:
    """The subject of that name."""
    return look_up("system", name, {subject.name: subject for subject in SUBJECTS})
