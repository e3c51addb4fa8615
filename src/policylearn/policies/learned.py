"""The learned policy: Algorithm 1 of the paper."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, Protocol, Self, cast

import torch
from torch import Tensor, nn

from policylearn.bags import Bag, BagRule, Graphs, Selection, mark_nodes
from policylearn.nn.encoders import Encoder, NetworkConfig, dtype_of, two_stream_encoder
from policylearn.nn.norms import MLP
from policylearn.nn.readouts import CopyPool, Pooled
from policylearn.nn.scope import copies_are_independent, depends_on_batch, parts_depend_on_batch
from policylearn.nn.segments import segment_argmax, segment_max, segment_mean
from policylearn.policies.draws import Pick, gumbel, selection_of
from policylearn.policies.estimators import ESTIMATORS, Estimator, Reinforce
from policylearn.policies.protocol import Evidence, check_picks, unpicked
from policylearn.policies.registry import POLICIES, PickSettings, PolicyInputs, PolicyKind
from policylearn.settings import CopyPooling, NormKind
from policylearn.settings.schema import ConfigError, DropShare, plain, put

Mode = Literal["incremental", "paper"]


class LearnedPolicy(nn.Module):
    """Picks T nodes one after the other: look at the bag, score, pick, mark, look again.

    In training nodes are drawn; in evaluation the node of the highest score is taken.

    Args:
        encoder: the selection network f.
        selector: maps a node's vector to its score.
        picks: T.
        estimator: how gradients reach the picks.
        mode: `incremental` computes each copy once, T passes in all. `paper` computes the whole bag at each step, as
            the authors' code does.
        node_dropout: share of the candidates that cannot be picked, drawn at each training step and pick.
        mask_selected: do not pick a node twice, until all are used.
        add_graph_mean: add the mean over the graph's nodes to each node's vector before scoring.
        pooling: how a node is pooled over its copies.
        tie_tolerance: scores within this relative difference count as equal in evaluation, and the lowest node id wins;
            `paper` mode takes the plain maximum.
        rule: how copies are made of the picks.
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
        rule: BagRule = mark_nodes,
    ) -> None:
        super().__init__()
        check_picks(picks)
        self.encoder, self.selector, self.picks, self.mode, self.rule = encoder, selector, picks, mode, rule
        self.estimator: Estimator = Reinforce() if estimator is None else estimator
        self.pool = CopyPool("mean") if pooling is None else pooling
        self.node_dropout, self.mask_selected, self.add_graph_mean = node_dropout, mask_selected, add_graph_mean
        self.tie_tolerance = 0.0 if mode == "paper" else tie_tolerance

    def forward(
        self,
        graphs: Graphs,
        *,
        generator: torch.Generator | None = None,
        noise: Tensor | None = None,
        sample: bool | None = None,
    ) -> Selection:
        """Pick T nodes per graph (Algorithm 1, lines 1 to 6).

        Args:
            graphs: the batch.
            generator: where noise and dropout are drawn from.
            noise: the Gumbel noise, if it is to be given, ``(T, N)``.
            sample: draw (True) or take the best (False); None draws in training only.
        """
        if not self.picks:
            return Selection.nothing(graphs.ptr)
        drawn = self.training if sample is None else sample
        view = self.look(graphs)  # line 1: the bag holds the unmarked graph
        picks: list[Pick] = []
        for step in range(self.picks):  # line 2
            free = self._candidates(picks, graphs, generator)
            logits = view.scores().where(free, -torch.inf)  # line 3: f gives a distribution over the nodes
            if drawn:  # line 4
                given = gumbel(graphs.num_nodes, generator, logits) if noise is None else noise[step]
                picks.append(self._draw(logits, given, graphs))
            else:
                best = segment_argmax(logits.detach(), graphs.batch, graphs.num_graphs, self.tie_tolerance)
                picks.append(Pick(best, logits))
            if step + 1 < self.picks:
                view.add(picks[-1])  # line 5: the copy joins the bag
        return selection_of(picks, graphs)

    def look(self, graphs: Graphs) -> View:
        """Look at the unmarked graphs."""
        return BagView(self, graphs)

    def score(self, nodes: Tensor, graphs: Graphs) -> Tensor:
        """The score of each node from its pooled vector (eq. 3), ``(N, C) -> (N,)``."""
        if self.add_graph_mean:
            nodes = nodes + segment_mean(nodes, graphs.batch, graphs.ptr).index_select(0, graphs.batch)
        return self.selector(nodes).squeeze(-1)

    def surrogate(self, selection: Selection, evidence: Evidence) -> Tensor | None:
        return self.estimator.surrogate(selection, evidence) if self.picks else None

    @property
    def depends_on_batch(self) -> bool:
        return depends_on_batch(self.encoder) or parts_depend_on_batch(self.selector)

    def _draw(self, logits: Tensor, noise: Tensor, graphs: Graphs) -> Pick:
        """Draw a node per graph (eq. 4); in training as the estimator does."""
        estimator = self.estimator if self.training else Reinforce()
        return estimator.draw(logits, noise, graphs)

    def _candidates(self, picks: list[Pick], graphs: Graphs, generator: torch.Generator | None) -> Tensor:
        """Which nodes may be picked now, ``(N,)``; at least one per graph."""
        free = unpicked([pick.nodes for pick in picks] if self.mask_selected else [], graphs)
        if not self.training or self.node_dropout == 0:
            return free
        keys = torch.rand(graphs.num_nodes, generator=generator, device=graphs.batch.device)
        keys = keys.where(free, -torch.inf)
        top = segment_max(keys, graphs.batch, graphs.num_graphs).index_select(0, graphs.batch)
        return free & ((keys >= self.node_dropout) | (keys >= top))

    def extra_repr(self) -> str:
        return f"picks={self.picks}, mode={self.mode}, estimator={self.estimator}"


class View(Protocol):
    """The nodes as the copies so far show them."""

    def add(self, pick: Pick) -> None:
        """Look at the copy of one more pick."""

    def scores(self) -> Tensor:
        """The score of each node, ``(N,)``."""


class BagView:
    """The states of nodes, pooled over the unmarked graph and the copies so far (eq. 2 and 3).

    In mode `incremental`, where copies do not see each other, a copy is computed once and its state is kept. Otherwise
    the whole bag is computed at each step.
    """

    def __init__(self, policy: LearnedPolicy, graphs: Graphs) -> None:
        self.policy, self.graphs = policy, graphs
        self.keeps = policy.mode == "incremental" and copies_are_independent(policy.encoder)
        self.picks: list[Pick] = []
        self.pooled = self._pooled(Selection.nothing(graphs.ptr), unmarked=True)

    def add(self, pick: Pick) -> None:
        self.picks.append(pick)
        if self.keeps:
            newest = self._pooled(selection_of([pick], self.graphs), unmarked=False)
            self.pooled = self.policy.pool.join(self.pooled, newest)
        else:
            self.pooled = self._pooled(selection_of(self.picks, self.graphs), unmarked=True)

    def scores(self) -> Tensor:
        return self.policy.score(self.policy.pool.finish(self.pooled), self.graphs)

    def encode(self, bag: Bag, *, unmarked: bool) -> Tensor:
        """States of all rows of a bag, ``(R, C)``; ``unmarked`` says whether slot 0 is in it."""
        return self.policy.encoder(self.graphs, bag)

    def _pooled(self, selection: Selection, *, unmarked: bool) -> Pooled:
        """Encode the copies of some picks, and pool each node over them."""
        policy = self.policy
        dtype = dtype_of(policy.encoder, policy.selector)
        bag = policy.rule(self.graphs, selection, dtype=dtype, unmarked=unmarked)
        return policy.pool.part(self.encode(bag, unmarked=unmarked), bag)


class LearnedSettings(PickSettings, frozen=True):
    """Nodes are picked by a network that is trained with the prediction network."""

    network: NetworkConfig | None = None
    """The selection network; the same as the prediction network if not given."""
    mode: Mode = "incremental"
    """One pass per pick, or the authors' way: the whole bag at each pick, with batch norms over it."""
    norm: NormKind = "layer"
    """Norm of the selection network; in paper mode it is a batch norm without running statistics."""
    estimator: str = "reinforce"
    """How gradients reach the picks: reinforce, straight_through or imle; each has settings of its own."""
    estimator_settings: dict[str, Any] = {}
    """Settings of the estimator; on the command line and in YAML they stand beside the others (`selection.tau`)."""
    node_dropout: DropShare = 0.0
    """Share of the candidates that cannot be picked, in training."""
    mask_selected: bool = True
    """Do not pick a node twice."""
    add_graph_mean: bool = True
    """Add the graph's mean to each node before scoring."""
    pooling: CopyPooling = "mean"
    """How the selection network pools the copies of a node."""

    @classmethod
    def read(cls, content: Mapping[str, Any], prefix: str) -> Self:
        """See `PolicySettings`; what is not declared here belongs to the estimator."""
        name = str(content.get("estimator", "reinforce"))
        kind = ESTIMATORS[name]
        for key in {*kind.__struct_fields__} & {*cls.__struct_fields__}:
            raise ConfigError(
                f"the estimator '{name}' has a setting '{key}', which the learned policy has too; rename it"
            )
        of_estimator = {key: value for key, value in content.items() if key in kind.__struct_fields__}
        for key in content.keys() - of_estimator.keys() - {*cls.__struct_fields__}:
            owners = [other for other, one in ESTIMATORS.items() if key in one.__struct_fields__]
            if owners:
                raise ConfigError(
                    f"'{prefix}{key}' is a setting of the estimator {' or '.join(owners)}, not of {name};"
                    f" add {prefix}estimator {owners[0]}, or leave it out"
                )
        settings = put(cls(), {key: value for key, value in content.items() if key not in of_estimator}, prefix)
        return settings.replace(estimator_settings=plain(put(kind(), of_estimator, prefix)))

    @classmethod
    def names(cls, content: Mapping[str, Any]) -> set[str]:
        return {*cls.__struct_fields__, *ESTIMATORS[str(content.get("estimator", "reinforce"))].__struct_fields__}

    def written(self) -> dict[str, Any]:
        content = plain(self)
        of_estimator: dict[str, Any] = content.pop("estimator_settings")
        return content | of_estimator


def build_learned(settings: LearnedSettings, inputs: PolicyInputs) -> LearnedPolicy:
    """The policy that settings describe."""
    paper = settings.mode == "paper"
    network = (inputs.network if settings.network is None else settings.network).replace(
        norm="batch" if paper else settings.norm, track_running_stats=not paper
    )
    return LearnedPolicy(
        two_stream_encoder(network, inputs.node_features, inputs.edge_features),
        MLP(network.channels, 2 * network.channels, 1),
        picks=settings.picks,
        estimator=cast(Estimator, put(ESTIMATORS[settings.estimator](), settings.estimator_settings)),
        mode=settings.mode,
        node_dropout=settings.node_dropout,
        mask_selected=settings.mask_selected,
        add_graph_mean=settings.add_graph_mean,
        pooling=CopyPool(settings.pooling),
        rule=inputs.rule,
    )


POLICIES.register("learned", PolicyKind(LearnedSettings, build_learned))


def draw_picks(policy: Any, graphs: Graphs, *, generator: torch.Generator) -> Selection:
    """Picks that are drawn as in training, also by a policy that is being evaluated."""
    drawn = {"sample": True} if isinstance(policy, LearnedPolicy) else {}
    return policy(graphs, generator=generator, **drawn)
