"""Twins of the model and of the learned policy, which compute cones of marks alone at inference."""

from __future__ import annotations

from typing import Any, Self

from torch import Tensor

from policylearn.bags import Bag, Graphs, Selection
from policylearn.fast.cones import ConePool, ConeStates
from policylearn.fast.encoders import CompiledTwoStreamEncoder, UnmarkedStates
from policylearn.models import SubgraphGNN
from policylearn.nn import segment_mean
from policylearn.policies import BagView, LearnedPolicy, View
from policylearn.policies.draws import Pick


class CompiledSubgraphGNN(SubgraphGNN):
    """See `SubgraphGNN`; of each marked copy only its cone is computed at inference."""

    @classmethod
    def of(cls, model: SubgraphGNN, policy: Any, encoder: Any) -> Self:
        """One of the very same parts, with another policy and encoder."""
        names = "rule", "columns", "column_heads", "vector_norm", "max_rows"
        twin = cls(policy, encoder, model.readout, model.head, **{name: getattr(model, name) for name in names})
        twin.training = model.training
        return twin

    def vectors(self, graphs: Graphs, selection: Selection) -> Tensor:
        """See `SubgraphGNN`."""
        encoder: Any = self.encoder
        readout: Any = self.readout
        cones = ConeStates.of(encoder, graphs) if selection.marks is None else None
        if cones is None:
            return super().vectors(graphs, selection)
        pool = ConePool(cones, readout.pool.how, self.max_rows)
        pool.add(selection.roots)
        nodes = pool.nodes()
        if readout.level == "node":
            return nodes
        vectors: Tensor = readout.of_means(segment_mean(nodes, graphs.batch, graphs.ptr), graphs.sizes)
        return vectors


class CompiledLearnedPolicy(LearnedPolicy):
    """See `LearnedPolicy`; each copy that it looks at is computed within its cone."""

    @classmethod
    def of(cls, policy: LearnedPolicy, encoder: Any) -> Self:
        """One of the very same parts, with another encoder."""
        names = "picks", "estimator", "mode", "node_dropout", "mask_selected", "add_graph_mean", "tie_tolerance", "rule"
        kept = {name: getattr(policy, name) for name in names}
        twin = cls(encoder, policy.selector, pooling=policy.pool, **kept)
        twin.training = policy.training
        return twin

    def look(self, graphs: Graphs) -> View:
        """See `LearnedPolicy`."""
        encoder: Any = self.encoder
        cones = ConeStates.of(encoder, graphs)
        return CompiledBagView(self, graphs) if cones is None else ConeView(self, cones)


class CompiledBagView(BagView):
    """See `BagView`; what marks do not reach is as in the first look, where norms know each row alone."""

    unmarked: UnmarkedStates | None = None

    def encode(self, bag: Bag, *, unmarked: bool) -> Tensor:
        """See `BagView`."""
        encoder = self.policy.encoder
        assert isinstance(encoder, CompiledTwoStreamEncoder), "all layers of the encoder are compiled"
        states = None
        if self.keeps and unmarked:
            self.unmarked = encoder.unmarked(self.graphs, bag)
            states = None if self.unmarked is None else self.unmarked.of_nodes()
        elif self.unmarked is not None and not unmarked:
            states = encoder.merged(self.graphs, bag, self.unmarked)
        return encoder(self.graphs, bag) if states is None else states


class ConeView:
    """The states of nodes pooled over slot 0 and the copies so far, see `policies.learned.View`."""

    def __init__(self, policy: LearnedPolicy, cones: ConeStates) -> None:
        self.policy, self.pool = policy, ConePool(cones, policy.pool.how, cones.network.graphs.num_nodes)

    def add(self, pick: Pick) -> None:
        """Look at the copies of one more step."""
        self.pool.add(pick.nodes.view(1, -1))

    def scores(self) -> Tensor:
        """The score of each node, ``(N,)``."""
        return self.policy.score(self.pool.nodes(), self.pool.cones.network.graphs)
