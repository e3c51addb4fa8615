"""Twins of the model and of the learned policy: threads for the compiled layers, and at inference cones of marks."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

import torch
from torch import Tensor, nn

from policylearn.bags import Bag, Graphs, Selection
from policylearn.fast.cones import ConePool, ConeStates
from policylearn.fast.encoders import CompiledTwoStreamEncoder, UnmarkedStates
from policylearn.fast.memory import keep_freed_memory
from policylearn.fast.rows import Rows
from policylearn.fast.threads import own_threads
from policylearn.models import SubgraphGNN
from policylearn.models.protocol import AnyBatch, LossTerms, Objective
from policylearn.policies import LearnedPolicy
from policylearn.policies.bag_view import BagView, View
from policylearn.policies.draws import Pick


@contextmanager
def model_threads(model: object) -> Iterator[None]:
    """A block in which threads work where this model spends its time: in compiled loops, or else in torch.

    An accelerated model does it by itself for each pass.
    """
    acceleration = getattr(model, "acceleration", None)
    if acceleration is None or not acceleration.takes_threads or not isinstance(model, nn.Module):
        yield
        return
    with own_threads() if next(model.parameters()).device.type == "cpu" else nullcontext():
        yield


@contextmanager
def while_training(model: object) -> Iterator[None]:
    """A block for a whole training loop: threads go where the work is, and a step leaves its memory for the next."""
    keep_freed_memory()
    with model_threads(model):
        yield


class CompiledSubgraphGNN(SubgraphGNN):
    """See `SubgraphGNN`.

    Args:
        cones: whether the encoder, the rule and the readout allow for cones.
    """

    cones: bool = False

    def forward(self, batch: AnyBatch, *, generator: torch.Generator | None = None) -> Tensor:
        """See `SubgraphGNN`."""
        with model_threads(self):
            return super().forward(batch, generator=generator)

    def select(self, batch: AnyBatch, *, generator: torch.Generator | None = None) -> Selection:
        """See `SubgraphGNN`."""
        with model_threads(self):
            return super().select(batch, generator=generator)

    def predict(self, batch: AnyBatch, selection: Selection) -> Tensor:
        """See `SubgraphGNN`."""
        with model_threads(self):
            return super().predict(batch, selection)

    def objective(
        self, batch: AnyBatch, y: Tensor, terms: LossTerms, *, generator: torch.Generator | None = None
    ) -> Objective:
        """See `SubgraphGNN`."""
        with model_threads(self):
            return super().objective(batch, y, terms, generator=generator)

    def vectors(self, graphs: Graphs, selection: Selection) -> Tensor:
        """See `SubgraphGNN`; of each marked copy only its cone is computed."""
        encoder: Any = self.encoder
        readout: Any = self.readout
        cones = ConeStates.of(encoder, graphs) if self.cones and selection.marks is None else None
        if cones is None:
            return super().vectors(graphs, selection)
        pool = ConePool(cones, readout.pool.how, self.max_rows)
        pool.add(selection.roots.unsqueeze(1))
        if readout.level == "node":
            return pool.nodes()
        vectors: Tensor = readout.of_means(pool.means(), graphs.sizes)
        return vectors


class CompiledLearnedPolicy(LearnedPolicy):
    """See `LearnedPolicy`; each copy that it looks at is computed within its cone."""

    def look(self, graphs: Graphs) -> View:
        """See `LearnedPolicy`."""
        encoder: Any = self.encoder
        cones = ConeStates.of(encoder, graphs)
        return CompiledBagView(self, graphs) if cones is None else ConeView(self, cones)


class CompiledBagView(BagView):
    """See `BagView`; the copies of all steps have rows alike, so what the loops need of them is prepared once.

    What marks do not reach is as in the first look, where norms know each row alone.
    """

    rows: Rows | None = None
    unmarked: UnmarkedStates | None = None

    def encode(self, bag: Bag, *, unmarked: bool) -> Tensor:
        """See `BagView`."""
        encoder = self.policy.encoder
        assert isinstance(encoder, CompiledTwoStreamEncoder), (
            "this view is that of an encoder whose layers are compiled"
        )
        if bag.marks.device.type == "cpu" and (self.rows is None or not self.rows.serve(bag)):
            self.rows = Rows.of(bag)
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
        self.policy, self.pool = policy, ConePool(cones, policy.pool.how, cones.graphs.num_nodes)

    def add(self, pick: Pick) -> None:
        """Look at the copies of one more step."""
        self.pool.add(pick.nodes.view(1, 1, -1))

    def scores(self) -> Tensor:
        """The score of each node, ``(N,)``."""
        return self.pool.scores(self.policy.selector, add_graph_mean=self.policy.add_graph_mean)
