"""The learned policy: look at the bag, pick a node, mark it, look again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn

from policylearn.bags import Bag, Selection
from policylearn.nn import (
    ConeView,
    Encoder,
    Graphs,
    Members,
    SlotPool,
    first_weight,
    segment_argmax,
    segment_log_softmax,
    segment_max,
    segment_mean,
)
from policylearn.policies.estimators import ESTIMATORS, Estimator, gapped, gumbel, straight_through
from policylearn.policies.protocol import unpicked

Mode = Literal["incremental", "paper"]


@dataclass(frozen=True)
class _Pick:
    roots: Tensor  # (G,)
    logits: Tensor  # (N,)
    log_prob: Tensor | None = None  # (G,)
    marks: Tensor | None = None  # (N,)


class LearnedPolicy(nn.Module):
    r"""Picks T nodes one after the other, each with a view of the copies chosen so far (eq. 3 and 4 of the paper).

    .. math:: p_{t+1} = \mathrm{MLP}(\mathrm{pool}(\{h_0, \dots, h_t\})), \quad v_{t+1} \sim p_{t+1}

    In training nodes are drawn, in evaluation the node of the highest score is taken.

    Args:
        encoder: the selection network's encoder.
        selector: maps a node's vector to its score.
        picks: T.
        mode: `incremental` computes each copy once and keeps its state, one pass a step; it needs norms that do not mix
            the copies. `paper` runs the whole bag anew at each step, as the authors' code does.
        estimator: how gradients reach the picks: `rloo` (score function, see `models.objective`),
            `straight_through` (the paper's) or `gapped` (a form of it that varies less).
        samples: K, bags drawn a graph for `rloo`.
        standardise: whether `rloo` divides its advantages by their standard deviation.
        tau: temperature of `straight_through` and `gapped`.
        node_dropout: share of the candidates that cannot be picked, drawn anew at each training step and pick; a graph
            always keeps one.
        mask_selected: do not pick a node twice, until all are used.
        add_graph_mean: add the mean over the graph's nodes to each node's vector before scoring.
        pooling: how the copies of a node are pooled.
        tie_tolerance: scores within this relative difference count as equal in evaluation, and the lowest node id wins.
            `paper` mode takes the plain maximum.
    """

    def __init__(
        self,
        encoder: Encoder,
        selector: nn.Module,
        *,
        picks: int,
        mode: Mode = "incremental",
        estimator: Estimator = "rloo",
        samples: int = 4,
        standardise: bool = True,
        tau: float = 1.0,
        node_dropout: float = 0.0,
        mask_selected: bool = True,
        add_graph_mean: bool = True,
        pooling: SlotPool | None = None,
        tie_tolerance: float = 1e-4,
    ) -> None:
        super().__init__()
        if picks < 0:
            raise ValueError(f"'picks' must be >= 0 (got {picks}); use FullPolicy for every node")
        if mode not in ("incremental", "paper"):
            raise ValueError(f"'mode' must be 'incremental' or 'paper' (got '{mode}')")
        if estimator not in ESTIMATORS:
            raise ValueError(f"'estimator' must be one of {', '.join(ESTIMATORS)} (got '{estimator}')")
        if estimator == "rloo" and samples < 2:
            raise ValueError(
                f"'samples' must be >= 2 for 'rloo' (got {samples}); one bag has no others to compare with"
            )
        if not tau > 0:
            raise ValueError(f"'tau' must be > 0 (got {tau})")
        if not 0 <= node_dropout < 1:
            raise ValueError(f"'node_dropout' must lie in [0, 1) (got {node_dropout})")
        self.encoder, self.selector = encoder, selector
        self.pool = pooling if pooling is not None else SlotPool("mean")
        self.picks, self.mode = picks, mode
        self.estimator, self.samples, self.standardise, self.tau = estimator, samples, standardise, tau
        self.node_dropout, self.mask_selected = node_dropout, mask_selected
        self.add_graph_mean = add_graph_mean
        self.tie_tolerance = 0.0 if mode == "paper" else tie_tolerance

    def forward(
        self,
        graphs: Graphs,
        *,
        generator: torch.Generator | None = None,
        noise: Tensor | None = None,
        sample: bool | None = None,
        samples: int = 1,
    ) -> Selection:
        """Pick T nodes a graph.

        Args:
            graphs: the batch.
            generator: where noise and dropout are drawn from.
            noise: the Gumbel noise, if it is to be given, ``(T, K * N)``.
            sample: draw (True) or take the best (False); None draws in training only.
            samples: K independent bags a graph. The result is that for ``graphs.repeat(samples)``, at less cost: the
                unmarked graph is looked at once, and the copies of all samples share one adjacency.
        """
        drawn = self.training if sample is None else sample
        members = graphs.members.repeat(samples)
        chosen: list[_Pick] = []
        seen: Tensor | None = None
        by_cones = self.picks > 0 and self.mode == "incremental" and samples == 1
        view = ConeView.of(self.encoder, graphs, self.pool, graphs.num_nodes) if by_cones else None
        for step in range(self.picks):
            if view is None:
                seen = self._look(graphs, chosen, seen, samples)
                scores = self.score(self.pool.finish(seen, step + 1), graphs)  # (N, K or 1)
            else:
                if chosen:
                    view.add(chosen[-1].roots.unsqueeze(0))
                scores = view.scores(self.selector, add_graph_mean=self.add_graph_mean).unsqueeze(1)
            scores = scores.expand(-1, samples).t().reshape(-1)  # (N, K) -> (K * N,)
            logits = scores.where(self._candidates(chosen, members, generator), -torch.inf)
            if not drawn:
                roots = segment_argmax(logits.detach(), members.batch, members.num_graphs, self.tie_tolerance)
                chosen.append(_Pick(roots, logits))
                continue
            given = gumbel(members.num_nodes, generator, logits) if noise is None else noise[step]
            chosen.append(self._draw(logits, given, members))
        return _joined(chosen, members)

    def score(self, nodes: Tensor, graphs: Graphs) -> Tensor:
        """The score of each node from its pooled vector, ``(N, K, C) -> (N, K)``."""
        if self.add_graph_mean:
            nodes = nodes + segment_mean(nodes, graphs.batch, graphs.ptr).index_select(0, graphs.batch)
        scores: Tensor = self.selector(nodes).squeeze(-1)
        return scores

    def _look(self, graphs: Graphs, chosen: list[_Pick], seen: Tensor | None, samples: int) -> Tensor:
        """What the copies so far show of each node, pooled but not finished, ``(N, K, C)``; at first ``(N, 1, C)``."""
        dtype = first_weight(self.encoder, self.selector).dtype
        if self.mode == "paper" or seen is None:
            bag = Bag.of(self._side_by_side(chosen, graphs, samples), graphs.batch, dtype)
            return self.pool.part(self.encoder(graphs, bag), bag, samples if chosen else 1)
        bag = Bag.of_picks(self._side_by_side(chosen[-1:], graphs, samples), graphs.batch, dtype)
        newest = self.encoder(graphs, bag).view(graphs.num_nodes, samples, -1)  # (N * K, C) -> (N, K, C)
        return self.pool.join(seen, newest)

    @staticmethod
    def _side_by_side(chosen: list[_Pick], graphs: Graphs, samples: int) -> Selection:
        """The picks of all samples as copies of one batch, sample by sample and step by step, ``(K * T, G)``."""
        if not chosen:
            return Selection(graphs.ptr.new_zeros(0, graphs.num_graphs))
        return _joined(chosen, graphs.members.repeat(samples)).merge(samples, graphs.num_nodes)

    def _candidates(self, chosen: list[_Pick], members: Members, generator: torch.Generator | None) -> Tensor:
        """Which nodes may be picked now, ``(K * N,)``; at least one a graph."""
        free = unpicked([pick.roots for pick in chosen] if self.mask_selected else [], members)
        if not self.training or self.node_dropout == 0:
            return free
        keys = torch.rand(members.num_nodes, generator=generator, device=members.batch.device)
        keys = keys.where(free, -torch.inf)
        top = segment_max(keys, members.batch, members.num_graphs).index_select(0, members.batch)
        return free & ((keys >= self.node_dropout) | (keys >= top))

    def _draw(self, logits: Tensor, noise: Tensor, members: Members) -> _Pick:
        if self.training and self.estimator != "rloo":
            through = gapped if self.estimator == "gapped" else straight_through
            roots, marks = through(logits, noise, self.tau, members.batch, members.num_graphs)
            return _Pick(roots, logits, marks=marks)
        roots = segment_argmax((logits + noise).detach(), members.batch, members.num_graphs)
        log_prob = segment_log_softmax(logits, members.batch, members.num_graphs).index_select(0, roots)
        return _Pick(roots, logits, log_prob=log_prob)

    def extra_repr(self) -> str:
        return f"picks={self.picks}, mode={self.mode}, estimator={self.estimator}"


def _joined(chosen: list[_Pick], members: Members) -> Selection:
    """The picks so far as one selection."""
    if not chosen:
        return Selection(members.ptr.new_zeros(0, members.num_graphs))

    def stacked(parts: list[Tensor | None]) -> Tensor | None:
        present = [part for part in parts if part is not None]
        return torch.stack(present) if len(present) == len(parts) else None

    return Selection(
        roots=torch.stack([pick.roots for pick in chosen]),
        logits=stacked([pick.logits for pick in chosen]),
        log_prob=stacked([pick.log_prob for pick in chosen]),
        marks=stacked([pick.marks for pick in chosen]),
    )
