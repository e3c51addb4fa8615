"""The learned policy: look at the bag, pick a node, mark it, look again."""

from __future__ import annotations

from dataclasses import replace
from typing import Protocol

import torch
from torch import Tensor, nn

from policylearn.bags import Bag, BagRule, Graphs, Members, Selection, mark_nodes
from policylearn.nn import (
    CopyPool,
    Encoder,
    Pooled,
    copies_are_apart,
    dtype_of,
    segment_max,
    segment_mean,
)
from policylearn.policies.draws import Pick, gumbel, log_prob_of, selection_of, top_nodes
from policylearn.policies.estimators import Estimator, Reinforce
from policylearn.policies.protocol import Evidence, Policy, check_picks, unpicked
from policylearn.settings import Mode


class View(Protocol):
    """What the copies so far show of each node."""

    def add(self, pick: Pick) -> None:
        """Look at the copies of one more step."""

    def nodes(self) -> Tensor:
        """Each node, pooled over slot 0 and the copies so far, ``(N, K, C)``; before the first pick ``(N, 1, C)``."""

    def scores(self) -> Tensor:
        """The score of each node in each of K bags, ``(N, K)``; before the first pick ``(N, 1)``."""


class LearnedPolicy(nn.Module):
    r"""Picks T nodes one after the other, each with a view of the copies chosen so far (eq. 3 and 4 of the paper).

    .. math:: p_{t+1} = \mathrm{MLP}(\mathrm{pool}(\{h_0, \dots, h_t\})), \quad v_{t+1} \sim p_{t+1}

    In training nodes are drawn, in evaluation the node of the highest score is taken.

    Args:
        encoder: the selection network's encoder.
        selector: maps a node's vector to its score.
        picks: T.
        estimator: how gradients reach the picks.
        mode: `incremental` computes each copy once and keeps its state, one pass per step; it needs norms that do not
            mix the copies. `paper` runs the whole bag anew at each step, as the authors' code does; so is an encoder
            run in which copies see each other.
        node_dropout: share of the candidates that cannot be picked, drawn anew at each training step and pick; a graph
            always keeps one.
        mask_selected: do not pick a node twice, until all are used.
        add_graph_mean: add the mean over the graph's nodes to each node's vector before scoring.
        pooling: how the copies of a node are pooled.
        tie_tolerance: scores within this relative difference count as equal in evaluation, and the lowest node id wins.
            `paper` mode takes the plain maximum.
        marks_per_copy: k, nodes marked in each copy: the k best of one draw.
        rule: how copies are made of the picks.
        shared: whether the encoder is the prediction network's own, which then predicts from what the policy has seen:
            each copy is computed once for both. Its weights are the model's and not the policy's.
    """

    encoder: Encoder

    def __init__(
        self,
        encoder: Encoder,
        selector: nn.Module,
        *,
        picks: int,
        estimator: Estimator | None = None,
        mode: Mode = "incremental",
        node_dropout: float = 0.0,
        mask_selected: bool = True,
        add_graph_mean: bool = True,
        pooling: CopyPool | None = None,
        tie_tolerance: float = 1e-4,
        marks_per_copy: int = 1,
        rule: BagRule = mark_nodes,
        shared: bool = False,
    ) -> None:
        super().__init__()
        check_picks(picks, marks_per_copy)
        if mode not in ("incremental", "paper"):
            raise ValueError(f"'mode' must be 'incremental' or 'paper' (got '{mode}')")
        if not 0 <= node_dropout < 1:
            raise ValueError(f"'node_dropout' must lie in [0, 1) (got {node_dropout})")
        self.selector, self.shared = selector, shared
        if shared:
            self.__dict__["encoder"] = encoder  # not registered: it is a part of the model already
        else:
            self.encoder = encoder
        self.pool = pooling if pooling is not None else CopyPool("mean")
        self.picks, self.mode, self.rule = picks, mode, rule
        self.estimator: Estimator = Reinforce() if estimator is None else estimator
        self.node_dropout, self.mask_selected = node_dropout, mask_selected
        self.add_graph_mean, self.marks_per_copy = add_graph_mean, marks_per_copy
        self.tie_tolerance = 0.0 if mode == "paper" else tie_tolerance

    @property
    def bags_per_graph(self) -> int:
        """K, bags drawn per graph in a training step."""
        return self.estimator.bags if self.picks else 1

    def surrogate(self, selection: Selection, evidence: Evidence) -> Tensor | None:
        """See `LearningPolicy`; the estimator's, where something was picked."""
        return self.estimator.surrogate(selection, evidence) if self.picks else None

    def forward(
        self,
        graphs: Graphs,
        *,
        generator: torch.Generator | None = None,
        noise: Tensor | None = None,
        sample: bool | None = None,
        samples: int = 1,
    ) -> Selection:
        """Pick T nodes per graph.

        Args:
            graphs: the batch.
            generator: where noise and dropout are drawn from.
            noise: the Gumbel noise, if it is to be given, ``(T, K * N)``.
            sample: draw (True) or take the best (False); None draws in training only.
            samples: K independent bags per graph. The result is that for the batch repeated K times.
        """
        drawn = self.training if sample is None else sample
        members = graphs.members.repeat(samples)
        chosen: list[Pick] = []
        view = self.look(graphs, samples) if self.picks or self.shared else None
        seen = [] if view is None or not self.shared else [view.nodes().expand(-1, samples, -1)]
        for step in range(self.picks):
            assert view is not None
            scores = view.scores().expand(-1, samples).t().reshape(-1)  # (N, K) -> (K * N,)
            logits = scores.where(self._candidates(chosen, members, generator), -torch.inf)
            if not drawn:
                nodes = top_nodes(logits.detach(), members, self.marks_per_copy, self.tie_tolerance)
                chosen.append(Pick(nodes, logits))
            else:
                given = gumbel(members.num_nodes, generator, logits) if noise is None else noise[step]
                chosen.append(self._draw(logits, given, members))
            if self.shared or step < self.picks - 1:
                view.add(chosen[-1])
            if self.shared:
                seen.append(view.nodes())
        selection = selection_of(chosen, members)
        return replace(selection, nodes=tuple(seen)) if self.shared else selection

    def look(self, graphs: Graphs, samples: int) -> View:
        """Look at the unmarked graphs, to pick K bags of each."""
        return BagView(self, graphs, samples)

    def score(self, nodes: Tensor, graphs: Graphs) -> Tensor:
        """The score of each node from its pooled vector, ``(N, K, C) -> (N, K)``."""
        if self.add_graph_mean:
            nodes = nodes + segment_mean(nodes, graphs.batch, graphs.ptr).index_select(0, graphs.batch)
        scores: Tensor = self.selector(nodes).squeeze(-1)
        return scores

    def _candidates(self, chosen: list[Pick], members: Members, generator: torch.Generator | None) -> Tensor:
        """Which nodes may be picked now, ``(K * N,)``; at least one per graph."""
        free = unpicked([pick.nodes for pick in chosen] if self.mask_selected else [], members)
        if not self.training or self.node_dropout == 0:
            return free
        keys = torch.rand(members.num_nodes, generator=generator, device=members.batch.device)
        keys = keys.where(free, -torch.inf)
        top = segment_max(keys, members.batch, members.num_graphs).index_select(0, members.batch)
        return free & ((keys >= self.node_dropout) | (keys >= top))

    def _draw(self, logits: Tensor, noise: Tensor, members: Members) -> Pick:
        if self.training:
            return self.estimator.draw(logits, noise, members, self.marks_per_copy)
        nodes = top_nodes((logits + noise).detach(), members, self.marks_per_copy)
        return Pick(nodes, logits, log_prob=log_prob_of(logits, nodes, members))

    def extra_repr(self) -> str:
        return f"picks={self.picks}, mode={self.mode}, estimator={self.estimator}"


class BagView:
    """The states of nodes pooled over slot 0 and the copies so far.

    Copies are computed once and kept where they do not see each other; else the whole bag is run anew at each step, and
    the K bags of a graph one at a time.
    """

    def __init__(self, policy: LearnedPolicy, graphs: Graphs, samples: int) -> None:
        self.policy, self.graphs, self.samples = policy, graphs, samples
        self.apart = copies_are_apart(policy.encoder)
        self.keeps = self.apart and policy.mode == "incremental"
        self.together = self.apart and getattr(policy.rule, "shares_edges", False)
        self.chosen: list[Pick] = []
        self.seen = self._whole([Selection.nothing(graphs.ptr)])

    def add(self, pick: Pick) -> None:
        """See `View`."""
        self.chosen.append(pick)
        members = self.graphs.members.repeat(self.samples)
        if self.keeps:
            newest = selection_of([pick], members).split(self.samples, self.graphs.num_nodes)
            self.seen = self.policy.pool.join(self.seen, self._newest(newest))
        else:
            self.seen = self._whole(selection_of(self.chosen, members).split(self.samples, self.graphs.num_nodes))

    def nodes(self) -> Tensor:
        """See `View`."""
        return self.policy.pool.finish(self.seen)

    def scores(self) -> Tensor:
        """See `View`."""
        return self.policy.score(self.nodes(), self.graphs)

    def _newest(self, selections: list[Selection]) -> Pooled:
        """The copies of one step alone, ``(N, K, C)``."""
        if self.together:
            # One copy per sample: those of a node, side by side, are its K samples.
            states = self._states(Selection.side_by_side(selections), unmarked=False)[0]
            return Pooled(states.view(self.graphs.num_nodes, self.samples, -1), 1)
        pool = self.policy.pool
        return pool.stack([pool.part(*self._states(one, unmarked=False)) for one in selections])

    def _whole(self, selections: list[Selection]) -> Pooled:
        """Slot 0 and all copies so far, ``(N, K, C)``."""
        pool = self.policy.pool
        if self.together and len(selections) > 1:
            return pool.part_of_samples(*self._states(Selection.side_by_side(selections)), len(selections))
        return pool.stack([pool.part(*self._states(one)) for one in selections])

    def _states(self, selection: Selection, *, unmarked: bool = True) -> tuple[Tensor, Bag]:
        bag = self.bag_of(selection, unmarked=unmarked)
        return self.policy.encoder(self.graphs, bag), bag

    def bag_of(self, selection: Selection, *, unmarked: bool) -> Bag:
        """The copies of some picks."""
        policy = self.policy
        dtype = dtype_of(policy.encoder, policy.selector)
        return policy.rule(self.graphs, selection, dtype=dtype, unmarked=unmarked)


def as_learned(policy: Policy) -> LearnedPolicy:
    """A policy that is known to be a learned one, or a `TypeError`."""
    if not isinstance(policy, LearnedPolicy):
        raise TypeError(f"expected a LearnedPolicy (got {type(policy).__name__}); build one with the policy 'learned'")
    return policy


def draw_picks(policy: Policy, graphs: Graphs, *, generator: torch.Generator) -> Selection:
    """Picks that are drawn as in training, also by a policy that is being evaluated."""
    drawn = {"sample": True} if isinstance(policy, LearnedPolicy) else {}
    return policy(graphs, generator=generator, **drawn)
