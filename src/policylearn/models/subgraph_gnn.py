"""The whole model: pick copies, look at them, predict."""

from __future__ import annotations

import warnings
from typing import Any

import torch
from torch import Tensor, nn

from policylearn.bags import Bag, BagRule, Graphs, Selection, mark_nodes, pieces
from policylearn.models.protocol import AnyBatch, LossTerms, Objective, plain_objective
from policylearn.nn.encoders import Encoder, dtype_of
from policylearn.nn.graph_columns import ColumnHeads, GraphColumns, joined
from policylearn.nn.norms import RowBatchNorm
from policylearn.nn.readouts import Readout, StreamingReadout
from policylearn.nn.scope import can_be_cut, copies_are_independent, depends_on_batch, parts_depend_on_batch
from policylearn.policies import Evidence, LearningPolicy, Policy
from policylearn.settings.schema import RunNote

STREAMED_ROWS = 1 << 18
"""Rows (node and copy) that a model holds at once at inference; a larger bag is streamed in pieces of copies."""


class SubgraphGNN(nn.Module):
    """``head(readout(encoder(rule(policy))))`` over the copies that the policy picks.

    Args:
        policy: picks the nodes to mark.
        encoder: node states of every copy. What it declares as its scope decides whether bags are cut into pieces.
        readout: from the states of all rows to one vector per graph, or per node.
        head: vectors to outputs.
        rule: how copies are made of the picks.
        columns: numbers per graph that the head reads beside its vector (see `GraphColumns`); None if there are none.
        column_heads: predict from those numbers alone; their mean prediction and the head's are averaged, and in
            `objective` each of them has a loss of its own. None if there are none.
        vector_norm: what the graphs' vectors pass before the head; None leaves them.
        max_rows: rows held at once in evaluation without gradients, where the encoder allows for pieces and the readout
            takes them.
    """

    def __init__(
        self,
        policy: Policy,
        encoder: Encoder,
        readout: Readout,
        head: nn.Module,
        *,
        rule: BagRule = mark_nodes,
        columns: GraphColumns | None = None,
        column_heads: ColumnHeads | None = None,
        vector_norm: RowBatchNorm | None = None,
        max_rows: int = STREAMED_ROWS,
    ) -> None:
        super().__init__()
        if max_rows < 1:
            raise ValueError(f"'max_rows' must be >= 1 (got {max_rows})")
        if column_heads is not None and columns is None:
            raise ValueError("'column_heads' have nothing to read without 'columns'; give both")
        self.policy, self.encoder, self.readout, self.head = policy, encoder, readout, head
        self.rule, self.columns, self.vector_norm, self.max_rows = rule, columns, vector_norm, max_rows
        self.column_heads = column_heads

    def forward(self, batch: AnyBatch, *, generator: torch.Generator | None = None) -> Tensor:
        """Select, then predict, ``(G, outputs)`` (node tasks: ``(N, outputs)``)."""
        graphs = Graphs.of(batch)
        selection = self.select(graphs, generator=generator)
        output = self.predict(graphs, selection)
        if self.training and output.requires_grad and learns_from_costs_alone(self.policy, selection):
            output.register_hook(_warn_that_the_policy_does_not_learn)  # type: ignore[no-untyped-call]
        return output

    def select(self, batch: AnyBatch, *, generator: torch.Generator | None = None) -> Selection:
        """The policy's picks for a batch."""
        graphs = Graphs.of(batch)
        return self.policy(graphs, generator=generator).validate(graphs.ptr)

    def predict(self, batch: AnyBatch, selection: Selection) -> Tensor:
        """The output for picks that are handed in, ``(G, outputs)`` (node tasks: ``(N, outputs)``)."""
        graphs = Graphs.of(batch)
        selection.validate(graphs.ptr)
        columns = self._graph_columns(graphs)
        if self.training or torch.is_grad_enabled():
            vectors = self.readout(*self._encode(graphs, selection), graphs)
        else:
            vectors = self.vectors(graphs, selection)
        return joined(self._head(vectors, columns), self.column_outputs(columns))

    def vectors(self, graphs: Graphs, selection: Selection) -> Tensor:
        """The graphs' vectors, at inference, ``(G, C)``; a large bag goes through in pieces where that is allowed."""
        readout = self.readout
        if not (can_be_cut(self.encoder) and isinstance(readout, StreamingReadout)):
            return readout(*self._encode(graphs, selection), graphs)
        kept: Any = None
        for piece, unmarked in pieces(graphs, selection, self.max_rows):
            part = readout.part(*self._encode(graphs, piece, unmarked=unmarked), graphs)
            kept = part if kept is None else readout.join(kept, part)
        return readout.finish(kept, graphs)

    def objective(
        self, batch: AnyBatch, y: Tensor, terms: LossTerms, *, generator: torch.Generator | None = None
    ) -> Objective:
        """See `GraphModel`; the mean loss, and what the policy adds so that its picks learn."""
        graphs = Graphs.of(batch)
        selection = self.select(graphs, generator=generator)
        columns = self._graph_columns(graphs)
        states, bag = self._encode(graphs, selection)
        outputs = self._head(self.readout(states, bag, graphs), columns)
        step = plain_objective(outputs, y, terms, graphs)
        total = step.loss

        def prefix_costs() -> Tensor | None:
            """Costs with the unmarked copy and the first t marked ones alone, t = 0 to T, ``(T + 1, G)``."""
            if not copies_are_independent(self.encoder):
                return None
            with torch.no_grad():
                vectors = [self._of_first_copies(graphs, selection, states, bag, t) for t in range(selection.picks)]
                shorter = [self._head(one, columns, update_statistics=False) for one in vectors]
                return torch.stack([*(plain_objective(one, y, terms, graphs).costs for one in shorter), step.costs])

        if isinstance(self.policy, LearningPolicy) and getattr(self.policy, "training", self.training):
            added = self.policy.surrogate(selection, Evidence(step.costs, prefix_costs, graphs.extras.get("past_cost")))
            total = total if added is None else total + added
        of_columns = self.column_outputs(columns)  # (H, G, outputs)
        if of_columns is not None:
            values, known = terms(of_columns.flatten(0, 1), y.repeat(len(of_columns), *([1] * (y.dim() - 1))))
            total = total + values.sum() / known.sum().clamp(min=1)
        return Objective(total, step.prediction_loss, joined(outputs, of_columns), step.costs, selection)

    @property
    def depends_on_batch(self) -> bool:
        said = getattr(self.policy, "depends_on_batch", None)
        return depends_on_batch(self.encoder) or (parts_depend_on_batch(self.policy) if said is None else said)

    def selection_parameters(self) -> list[nn.Parameter]:
        """The policy's weights; none of a policy without any."""
        return list(self.policy.parameters()) if isinstance(self.policy, nn.Module) else []

    @property
    def dtype(self) -> torch.dtype:
        """Of the marks: that of the weights; without any, torch's default."""
        return dtype_of(self.encoder, self.head)

    def _encode(self, graphs: Graphs, selection: Selection, *, unmarked: bool = True) -> tuple[Tensor, Bag]:
        """States of all rows and the bag that they are of."""
        bag = self.rule(graphs, selection, dtype=self.dtype, unmarked=unmarked)
        return self.encoder(graphs, bag), bag

    def _of_first_copies(self, graphs: Graphs, selection: Selection, states: Tensor, bag: Bag, picks: int) -> Tensor:
        """The graphs' vectors from the unmarked copy and those of the first picks alone."""
        if bag.width is None:
            first = self.rule(graphs, selection.steps(0, picks), dtype=self.dtype)
        else:
            first = Bag.uniform(graphs, bag.first_copies(bag.marks, 1 + picks), bag.slot_roots[: 1 + picks])
        return self.readout(bag.first_copies(states, 1 + picks), first, graphs)

    def _graph_columns(self, graphs: Graphs) -> Tensor | None:
        """What the head reads beside the graphs' vectors, ``(G, D)``."""
        return None if self.columns is None else self.columns(graphs)

    def column_outputs(self, columns: Tensor | None) -> Tensor | None:
        """What each column head predicts, ``(G, D) -> (H, G, outputs)``; None without such heads."""
        return None if self.column_heads is None or columns is None else self.column_heads(columns)

    def _head(self, vectors: Tensor, columns: Tensor | None, *, update_statistics: bool = True) -> Tensor:
        """The outputs, ``(G, C)`` and ``(G, D) -> (G, outputs)``."""
        if self.vector_norm is not None:
            vectors = self.vector_norm(vectors, update_statistics=update_statistics)
        if columns is not None:
            vectors = torch.cat([vectors, columns.to(vectors.dtype)], dim=1)
        return self.head(vectors)


def learns_from_costs_alone(policy: Policy, selection: Selection) -> bool:
    """Whether a policy has weights that only its surrogate moves, since its marks carry no gradient."""
    drawn = selection.log_prob
    return isinstance(policy, LearningPolicy) and drawn is not None and drawn.requires_grad and selection.marks is None


def _warn_that_the_policy_does_not_learn(_gradient: Tensor) -> None:
    warnings.warn(
        "the policy does not learn from a plain loss of 'model(batch)': its estimator needs"
        " 'model.objective(batch, y, task.loss_terms).loss.backward()', or take the estimator 'straight_through'",
        RunNote,
        stacklevel=2,
    )
