"""The whole model: pick copies, look at them, predict."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext

import torch
from torch import Tensor, nn
from torch_geometric.data import Batch, Data

from policylearn.bags import Bag, Selection
from policylearn.kernels import own_threads, use_compiled
from policylearn.nn import (
    ConeView,
    Encoder,
    GraphReadout,
    Graphs,
    NodeReadout,
    SlotPool,
    first_weight,
    is_compiled,
    mixes_rows,
)
from policylearn.policies import Policy

MAX_ROWS = 1 << 18
"""Rows (node and copy) that a model holds at once at inference; a larger bag is streamed in pieces of slots."""


class SubgraphGNN(nn.Module):
    """``head(readout(pool(encoder(bag))))`` over the copies that the policy picks.

    Args:
        policy: picks the nodes to mark.
        encoder: node states of every copy.
        readout: nodes to graph vectors, or nodes as they are.
        head: vectors to outputs.
        pool: how the copies of a node are pooled before the readout; the mean if not given.
        max_rows: rows held at once in evaluation without gradients. Where the encoder's norms take the bag's statistics
            in evaluation too, the bag is held whole as in training: a piece of it has other statistics.

    Example:
        >>> model = SubgraphGNN(policy, encoder, GraphReadout(), head)  # doctest: +SKIP
        >>> output = model(batch)  # doctest: +SKIP
    """

    def __init__(
        self,
        policy: Policy,
        encoder: Encoder,
        readout: GraphReadout | NodeReadout,
        head: nn.Module,
        *,
        pool: SlotPool | None = None,
        max_rows: int = MAX_ROWS,
    ) -> None:
        super().__init__()
        if max_rows < 1:
            raise ValueError(f"'max_rows' must be >= 1 (got {max_rows})")
        self.policy, self.encoder, self.readout, self.head = policy, encoder, readout, head
        self.pool = pool if pool is not None else SlotPool("mean")
        self.max_rows = max_rows

    def forward(self, batch: Batch | Data | Graphs, *, generator: torch.Generator | None = None) -> Tensor:
        """Select, then predict, ``(G, outputs)`` (node tasks: ``(N, outputs)``)."""
        graphs = Graphs.of(batch)
        with self.threads():
            return self.predict(graphs, self.select(graphs, generator=generator))

    def select(self, batch: Batch | Data | Graphs, *, generator: torch.Generator | None = None) -> Selection:
        """The policy's picks for a batch."""
        graphs = Graphs.of(batch)
        with self.threads():
            return self.policy(graphs, generator=generator).validate(graphs.ptr)

    def predict(self, batch: Batch | Data | Graphs, selection: Selection, *, samples: int = 1) -> Tensor:
        """The output for picks that are handed in, ``(G, outputs)`` (node tasks: ``(N, outputs)``).

        Args:
            batch: G graphs.
            selection: the picks, of this batch; with several samples those of the batch repeated, ``(T, K * G)``.
            samples: K bags a graph; the outputs are those of the batch repeated, ``(K * G, outputs)``.
        """
        graphs = Graphs.of(batch)
        selection.validate(graphs.members.repeat(samples).ptr)  # compiled loops do not look where a root lies
        if samples > 1:
            selection = selection.merge(samples, graphs.num_nodes)
        with self.threads():
            view = ConeView.of(self.encoder, graphs, self.pool, self.max_rows) if samples == 1 else None
            if view is not None:
                view.add(selection.roots)
                vectors = view.read(self.readout)  # (G, 1, C)
            else:
                vectors = self.readout(self._pooled(graphs, selection, samples), graphs)  # (G, K, C)
            output: Tensor = self.head(vectors.transpose(0, 1).flatten(0, 1))
        return output

    def threads(self) -> AbstractContextManager[None]:
        """A block in which threads work where this model spends its time: in our compiled loops or in torch."""
        compiled = use_compiled(first_weight(self.encoder, self.head))
        return own_threads() if compiled and is_compiled(self.encoder) else nullcontext()

    def _pooled(self, graphs: Graphs, selection: Selection, samples: int) -> Tensor:
        """Each node's state, pooled over its copies, ``(N, K, C)``."""
        if self.training or torch.is_grad_enabled() or samples > 1 or mixes_rows(self.encoder):
            bag = Bag.of(selection, graphs.batch, self.dtype)
            copies = 1 + (bag.slots - 1) // samples
            part = self.pool.part(self.encoder(graphs, bag), bag, samples)
            return self.pool.finish(part, copies.index_select(0, graphs.batch))
        total: Tensor | None = None
        copies = torch.zeros_like(graphs.sizes)
        for bag in Bag.chunks(selection, graphs.ptr, graphs.batch, self.dtype, self.max_rows):
            part = self.pool.part(self.encoder(graphs, bag), bag)
            total = part if total is None else self.pool.join(total, part)
            copies = copies + bag.slots
        assert total is not None, "slot 0 is always there"
        return self.pool.finish(total, copies.index_select(0, graphs.batch))

    @property
    def dtype(self) -> torch.dtype:
        """Of the marks: that of the weights; without any, torch's default."""
        return first_weight(self.encoder, self.head).dtype
