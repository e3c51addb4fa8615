"""The learned policy: look at the bag, pick a node, mark it, look again."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor, nn
from torch.nn.functional import smooth_l1_loss

from policylearn.bags import NO_PICK, BagRule, Graphs, Members, Selection, mark_nodes
from policylearn.nn import CopyPool, Encoder, dtype_of, segment_max, segment_mean
from policylearn.policies.draws import Pick, gumbel, gumbel_of, log_prob_of, selection_of, top_nodes
from policylearn.policies.estimators import Estimator, Reinforce
from policylearn.policies.masks import node_uniform
from policylearn.policies.protocol import Evidence, Policy, check_picks, unpicked
from policylearn.policies.ranked import NodeScore
from policylearn.policies.views import BagView, View
from policylearn.settings import Mode


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
            mix the copies. `paper` recomputes the whole bag at each step, as the authors' code does; so is an encoder
            run in which copies see each other.
        node_dropout: share of the candidates that cannot be picked, drawn at each training step and pick; a graph
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
        prior: logarithm of how likely each node is to be the first pick before anything is learned, up to a constant
            per graph; it is added to the scores of the first pick alone, since later picks depend on the ones before.
        gain: from the mean over a graph's nodes, pooled over the copies so far, to by how much the loss will fall with
            a further copy, one output per step, C to T channels. It learns from the losses of the first copies and
            sends no gradient into the encoder.
        stop_below: in evaluation, a graph has no further picks once the gain predicted for it is less than this; in
            units of the training loss. None always makes T picks.
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
        prior: NodeScore | None = None,
        gain: nn.Module | None = None,
        stop_below: float | None = None,
    ) -> None:
        super().__init__()
        check_picks(picks, marks_per_copy)
        if mode not in ("incremental", "paper"):
            raise ValueError(f"'mode' must be 'incremental' or 'paper' (got '{mode}')")
        if not 0 <= node_dropout < 1:
            raise ValueError(f"'node_dropout' must lie in [0, 1) (got {node_dropout})")
        if (gain is None) != (stop_below is None):
            raise ValueError("'gain' and 'stop_below' go together: one predicts what the other is compared with")
        if stop_below is not None and mode == "paper":
            raise ValueError("'stop_below' needs mode 'incremental': in paper mode a graph's picks depend on its batch")
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
        self.prior, self.gain, self.stop_below = prior, gain, stop_below

    @property
    def bags_per_graph(self) -> int:
        """K, bags drawn per graph in a training step."""
        return self.estimator.bags if self.picks else 1

    def surrogate(self, selection: Selection, evidence: Evidence) -> Tensor | None:
        """See `LearningPolicy`; the estimator's, where something was picked, and the error of predicted gains."""
        if not self.picks:
            return None
        added = self.estimator.surrogate(selection, evidence)
        error = gain_error(selection, evidence)
        return error if added is None else added if error is None else added + error

    @property
    def stops_early(self) -> bool:
        """Whether graphs may have fewer than T picks in evaluation, so that predictions from fewer must be learned."""
        return self.stop_below is not None and self.picks > 0

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
        gains: list[Tensor] = []
        going = torch.ones(members.num_graphs, dtype=torch.bool, device=members.batch.device)
        view = self.look(graphs, samples) if self.picks or self.shared else None
        seen = [] if view is None or not self.shared else [view.nodes().expand(-1, samples, -1)]
        for step in range(self.picks):
            assert view is not None
            if self.gain is not None:
                gains.append(self.predicted_gain(view.nodes(), graphs, step).expand(-1, samples).t().reshape(-1))
                going = going & self._worth_it(gains[-1])
                if not bool(going.any()):
                    break
            scores = view.scores().expand(-1, samples).t().reshape(-1)  # (N, K) -> (K * N,)
            if step == 0 and self.prior is not None:
                scores = scores + self.prior(graphs).to(scores.dtype).repeat(samples)
            logits = scores.where(self._candidates(chosen, members, generator), -torch.inf)
            if not drawn:
                nodes = top_nodes(logits.detach(), members, self.marks_per_copy, self.tie_tolerance)
                pick = Pick(nodes, logits)
            else:
                given = gumbel(members.num_nodes, generator, logits) if noise is None else noise[step]
                pick = self._draw(logits, given, members)
            chosen.append(
                pick
                if self.gain is None or bool(going.all())
                else replace(pick, nodes=pick.nodes.where(going, NO_PICK))
            )
            if self.shared or step < self.picks - 1:
                view.add(chosen[-1])
            if self.shared:
                seen.append(view.nodes())
        selection = selection_of(chosen, members)
        return replace(
            selection,
            nodes=tuple(seen) if self.shared else None,
            gains=torch.stack(gains) if gains and self.training else None,
        )

    def drawn(self, graphs: Graphs, number: int, *, seed: int = 0) -> Selection:
        """See `DrawingPolicy`."""
        uniform = node_uniform(graphs, self.picks, seed=seed + number).t()  # (T, N)
        noise = gumbel_of(uniform).to(dtype_of(self.encoder, self.selector))
        return self.forward(graphs, noise=noise, sample=True)

    def predicted_gain(self, nodes: Tensor, graphs: Graphs, step: int) -> Tensor:
        """By how much each graph's loss will fall with the copy of a step, ``(N, K, C) -> (G, K)``."""
        assert self.gain is not None
        gains: Tensor = self.gain(segment_mean(nodes.detach(), graphs.batch, graphs.ptr))  # (G, K, T)
        return gains[..., step]

    def look(self, graphs: Graphs, samples: int) -> View:
        """Look at the unmarked graphs, to pick K bags of each."""
        return BagView(self, graphs, samples)

    def score(self, nodes: Tensor, graphs: Graphs) -> Tensor:
        """The score of each node from its pooled vector, ``(N, K, C) -> (N, K)``."""
        if self.add_graph_mean:
            nodes = nodes + segment_mean(nodes, graphs.batch, graphs.ptr).index_select(0, graphs.batch)
        scores: Tensor = self.selector(nodes).squeeze(-1)
        return scores

    def _worth_it(self, gains: Tensor) -> Tensor:
        """Which graphs are to have a further pick; in training all, to learn what it brings, ``(K * G,)``."""
        assert self.stop_below is not None
        return torch.ones_like(gains, dtype=torch.bool) if self.training else gains >= self.stop_below

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
        stop = "" if self.stop_below is None else f", stop_below={self.stop_below:g}"
        return f"picks={self.picks}, mode={self.mode}, estimator={self.estimator}{stop}"


def as_learned(policy: Policy) -> LearnedPolicy:
    """A policy that is known to be a learned one, or a `TypeError`."""
    if not isinstance(policy, LearnedPolicy):
        raise TypeError(f"expected a LearnedPolicy (got {type(policy).__name__}); build one with the policy 'learned'")
    return policy


def draw_picks(policy: Policy, graphs: Graphs, *, generator: torch.Generator) -> Selection:
    """Picks that are drawn as in training, also by a policy that is being evaluated."""
    drawn = {"sample": True} if isinstance(policy, LearnedPolicy) else {}
    return policy(graphs, generator=generator, **drawn)


def gain_error(selection: Selection, evidence: Evidence) -> Tensor | None:
    """How far predicted gains are from those that came; None where none was predicted or copies see each other."""
    prefix = None if selection.gains is None else evidence.prefix_costs()
    if selection.gains is None or prefix is None:
        return None
    came = (prefix[:-1] - prefix[1:]).flatten(1)  # (T + 1, K, G) -> (T, K * G)
    return smooth_l1_loss(selection.gains, came.to(selection.gains.dtype))
