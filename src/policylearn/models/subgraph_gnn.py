"""The whole model: pick copies, look at them, predict."""

from __future__ import annotations

import warnings
from functools import cache
from typing import Any

import torch
from torch import Tensor, nn

from policylearn.bags import Bag, BagRule, Graphs, Selection, mark_nodes, pieces, unmarked_apart
from policylearn.models.protocol import AnyBatch, LossTerms, Objective, graph_costs
from policylearn.nn import (
    ColumnHeads,
    CopiesThenNodes,
    Encoder,
    GraphColumns,
    Readout,
    RowBatchNorm,
    StreamingReadout,
    can_be_cut,
    copies_are_apart,
    depends_on_batch,
    dtype_of,
    joined,
)
from policylearn.policies import DrawingPolicy, Evidence, Policy, bags_per_graph, surrogate_loss
from policylearn.settings.notes import RunNote

STREAMED_ROWS = 1 << 18
"""Rows (node and copy) that a model holds at once at inference; a larger bag is streamed in pieces of copies."""


def learns_from_costs_alone(policy: Policy, selection: Selection) -> bool:
    """Whether a policy has weights that only its surrogate moves, since its marks carry no gradient."""
    drawn, marks = selection.log_prob, selection.marks
    return hasattr(policy, "surrogate") and drawn is not None and drawn.requires_grad and marks is None


def _say_that_the_policy_does_not_learn(_gradient: Tensor) -> None:
    warnings.warn(
        "the policy does not learn from a plain loss of 'model(batch)': its estimator needs"
        " 'model.objective(batch, y, task.loss_terms).loss.backward()', or take the estimator 'straight_through'",
        RunNote,
        stacklevel=2,
    )


def _mean_loss(outputs: Tensor, y: Tensor, terms: LossTerms) -> Tensor:
    """The mean loss over several outputs per graph, ``(H, G, outputs)``."""
    values, known = terms(outputs.flatten(0, 1), y.repeat(len(outputs), *([1] * (y.dim() - 1))))
    return values.sum() / known.sum().clamp(min=1)


class SubgraphGNN(nn.Module):
    """``head(readout(encoder(rule(policy))))`` over the copies that the policy picks.

    Args:
        policy: picks the nodes to mark.
        encoder: node states of every copy. What it declares as its scope decides whether bags are cut into pieces or
            laid side by side; without a declaration neither is done.
        readout: from the states of all rows to one vector per graph, or per node.
        head: vectors to outputs.
        rule: how copies are made of the picks.
        columns: numbers per graph that the head reads beside its vector (see `GraphColumns`); None if there are none.
        column_heads: predict from those numbers alone; their mean and the head's output count half each, and in
            `objective` each of them has a loss of its own. None if there are none.
        vector_norm: what the graphs' vectors pass before the head; None leaves them.
        max_rows: rows held at once in evaluation without gradients, where the encoder allows for pieces and the readout
            takes them. Where norms take the bag's statistics in evaluation too, the bag is held whole as in training: a
            piece of it has other statistics.

    Example:
        >>> model = SubgraphGNN(policy, encoder, CopiesThenNodes(), head)  # doctest: +SKIP
        >>> output = model(batch)  # doctest: +SKIP
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
            output.register_hook(_say_that_the_policy_does_not_learn)  # type: ignore[no-untyped-call]
        return output

    def select(self, batch: AnyBatch, *, generator: torch.Generator | None = None) -> Selection:
        """The policy's picks for a batch."""
        graphs = Graphs.of(batch)
        return self.policy(graphs, generator=generator).validate(graphs.ptr)

    def predict(self, batch: AnyBatch, selection: Selection, *, samples: int = 1) -> Tensor:
        """The output for picks that are handed in, ``(G, outputs)`` (node tasks: ``(N, outputs)``).

        Args:
            batch: G graphs.
            selection: the picks, of this batch; with several samples those of the batch repeated, ``(T, K * G)``.
            samples: K bags per graph; the outputs are those of the batch repeated, ``(K * G, outputs)``.
        """
        graphs = Graphs.of(batch)
        selection.validate(graphs.members.repeat(samples).ptr)
        beside = self._beside(graphs)
        if selection.nodes is not None:
            output = self._of_nodes(selection.nodes[-1], graphs, beside)
        elif self.training or torch.is_grad_enabled() or samples > 1:
            output = self._outputs(self._encoded(graphs, selection, samples), graphs, beside)
        else:
            output = self._headed(self.vectors(graphs, selection), beside)
        return joined(output, self.of_columns(beside))

    def of_columns(self, beside: Tensor | None) -> Tensor | None:
        """What each column head predicts, ``(G, D) -> (H, G, outputs)``; None without such heads."""
        return None if self.column_heads is None or beside is None else self.column_heads(beside)

    def vectors(self, graphs: Graphs, selection: Selection) -> Tensor:
        """The graphs' vectors, at inference, ``(G, C)``; a large bag goes through in pieces where that is allowed."""
        readout = self.readout
        if not (can_be_cut(self.encoder) and isinstance(readout, StreamingReadout)):
            return readout(*self._states(graphs, selection), graphs)
        kept: Any = None
        for piece, unmarked in pieces(graphs, selection, self.max_rows):
            states, bag = self._states(graphs, piece, unmarked=unmarked)
            part = readout.part(states, bag, graphs)
            kept = part if kept is None else readout.join(kept, part)
        return readout.finish(kept, graphs)

    def objective(
        self, batch: AnyBatch, y: Tensor, terms: LossTerms, *, generator: torch.Generator | None = None
    ) -> Objective:
        """See `GraphModel`; the mean loss, and what the policy adds so that its picks learn.

        With a policy that may stop early, the loss is the mean over those with 0, 1, .., T copies.
        """
        graphs = Graphs.of(batch)
        samples, selection = self._training_bags(graphs, generator)
        beside = self._beside(graphs)  # once, so that all bags of a graph see the same
        encoded = [] if selection.nodes is not None else self._encoded(graphs, selection, samples)

        def whole(picks: int) -> bool:
            return picks == selection.picks

        def remembers(picks: int) -> bool:
            """Whether evaluation will see such bags: the norm of the vectors is to know no others."""
            return whole(picks) or self.stops_early

        def outputs_of(picks: int) -> Tensor:
            """With the unmarked copy and those of so many picks alone, ``(K * G, outputs)``."""
            if selection.nodes is not None:
                return self._of_nodes(selection.nodes[picks], graphs, beside, remembers=remembers(picks))
            parts = encoded if whole(picks) else [bag.prefix(states, picks) for states, bag in encoded]
            return self._outputs(parts, graphs, beside, remembers=remembers(picks))

        def costs_of(outputs: Tensor) -> tuple[Tensor, Tensor]:
            """The mean loss, and each graph's own with each of its bags, ``(K, G)``."""
            values, known = terms(outputs, y.repeat(samples, *([1] * (y.dim() - 1))))
            costs = graph_costs(values.detach(), known, graphs.members.repeat(samples))
            return values.sum() / known.sum().clamp(min=1), costs.view(samples, -1)

        outputs = outputs_of(selection.picks)
        mean, costs = costs_of(outputs)
        # Where picking may stop early, what fewer copies give must be good too.
        earlier = [costs_of(outputs_of(picks)) for picks in range(selection.picks)] if self.stops_early else []
        loss = torch.stack([mean, *(one for one, _ in earlier)]).mean() if earlier else mean

        @cache
        @torch.no_grad()
        def prefix_costs() -> Tensor | None:
            if not copies_are_apart(self.encoder):
                return None
            first = (earlier[picks] if earlier else costs_of(outputs_of(picks)) for picks in range(selection.picks))
            return torch.stack([*(own for _, own in first), costs])

        if self._learns:
            evidence = Evidence(costs, prefix_costs, graphs.extras.get("past_cost"))
            added = surrogate_loss(self.policy, selection, evidence)
            loss = loss if added is None else loss + added
        of_columns = self.of_columns(beside)
        if of_columns is not None:
            loss = loss + _mean_loss(of_columns, y, terms)
        return Objective(loss, mean.detach(), joined(outputs, of_columns), costs.mean(0), selection)

    def predict_drawn(self, batch: AnyBatch, draws: int, *, seed: int = 0) -> tuple[Tensor, list[Selection]]:
        """The mean output over several bags of each graph that the policy draws, and their picks, in evaluation.

        Args:
            batch: G graphs.
            draws: M, how many bags.
            seed: of the draws. With it a graph has the same ones alone and in any batch.

        Shapes:
            ``(G, outputs)`` (node tasks: ``(N, outputs)``) and M selections.
        """
        graphs, policy = Graphs.of(batch), self.policy
        if draws < 1:
            raise ValueError(f"'draws' must be >= 1 (got {draws})")
        if not isinstance(policy, DrawingPolicy):
            raise ValueError(
                f"{type(policy).__name__} has nothing to draw: it picks the same nodes each time; leave 'draws' out"
            )
        selections = [policy.drawn(graphs, number, seed=seed) for number in range(draws)]
        outputs = torch.stack([self.predict(graphs, one) for one in selections])  # (M, G, outputs)
        return outputs.mean(0), selections

    @property
    def stops_early(self) -> bool:
        """Whether a graph may have fewer picks than others in evaluation, by what the policy expects of another."""
        return bool(getattr(self.policy, "stops_early", False))

    def training_pass(self, batch: AnyBatch, *, generator: torch.Generator | None = None) -> Tensor:
        """The outputs of a training step: K bags of each graph, ``(K * G, outputs)``."""
        graphs = Graphs.of(batch)
        samples, selection = self._training_bags(graphs, generator)
        return self.predict(graphs, selection, samples=samples)

    @property
    def bags_per_graph(self) -> int:
        """K, bags drawn per graph in a training step."""
        return bags_per_graph(self.policy)

    @property
    def depends_on_batch(self) -> bool:
        """See `GraphModel`."""
        policy = getattr(self.policy, "encoder", None)
        return depends_on_batch(self.encoder) or (policy is not None and depends_on_batch(policy))

    def selection_parameters(self) -> list[nn.Parameter]:
        """The policy's weights; none of a policy without any."""
        return list(self.policy.parameters()) if isinstance(self.policy, nn.Module) else []

    @property
    def dtype(self) -> torch.dtype:
        """Of the marks: that of the weights; without any, torch's default."""
        return dtype_of(self.encoder, self.head)

    @property
    def _learns(self) -> bool:
        """Whether the policy is being trained; with one that has no such mode, whether the model is."""
        return bool(getattr(self.policy, "training", self.training))

    def _training_bags(self, graphs: Graphs, generator: torch.Generator | None) -> tuple[int, Selection]:
        samples = self.bags_per_graph if self._learns else 1
        if samples == 1:
            return 1, self.select(graphs, generator=generator)
        drawn: Selection = self.policy(graphs, generator=generator, samples=samples)  # type: ignore[call-arg]
        return samples, drawn

    def _states(self, graphs: Graphs, selection: Selection, *, unmarked: bool = True) -> tuple[Tensor, Bag]:
        bag = self.rule(graphs, selection, dtype=self.dtype, unmarked=unmarked)
        return self.encoder(graphs, bag), bag

    def _outputs(
        self, encoded: list[tuple[Tensor, Bag]], graphs: Graphs, beside: Tensor | None, *, remembers: bool = True
    ) -> Tensor:
        """The outputs for bags that are held whole, ``(K * G, outputs)``."""
        vectors = [self.readout(states, bag, graphs) for states, bag in encoded]
        return self._headed(vectors[0] if len(vectors) == 1 else torch.cat(vectors), beside, remembers=remembers)

    def _beside(self, graphs: Graphs) -> Tensor | None:
        """What the head reads beside the graphs' vectors, ``(G, D)``."""
        return None if self.columns is None else self.columns(graphs)

    def _headed(self, vectors: Tensor, beside: Tensor | None, *, remembers: bool = True) -> Tensor:
        """The outputs, ``(K * G, C)`` and ``(G, D) -> (K * G, outputs)``."""
        if self.vector_norm is not None:
            vectors = self.vector_norm(vectors, remembers=remembers)
        if beside is not None:
            rounds = len(vectors) // len(beside)
            vectors = torch.cat([vectors, beside.to(vectors.dtype).repeat(rounds, 1)], dim=1)
        output: Tensor = self.head(vectors)
        return output

    def _of_nodes(self, nodes: Tensor, graphs: Graphs, beside: Tensor | None, *, remembers: bool = True) -> Tensor:
        """The outputs for nodes that the policy has pooled over their copies, ``(N, K, C) -> (K * G, outputs)``."""
        if not isinstance(self.readout, CopiesThenNodes):
            raise ValueError("a shared encoder needs a readout that pools copies first: CopiesThenNodes")
        vectors = self.readout.of_nodes(nodes, graphs)  # (G, K, C)
        return self._headed(vectors.transpose(0, 1).flatten(0, 1), beside, remembers=remembers)

    def _encoded(self, graphs: Graphs, selection: Selection, samples: int) -> list[tuple[Tensor, Bag]]:
        """States and copies of each of K bags, all in one pass where copies do not see each other."""
        selections = selection.split(samples, graphs.num_nodes)
        together = samples > 1 and copies_are_apart(self.encoder) and getattr(self.rule, "shares_edges", False)
        if not together or not selection.complete:
            return [self._states(graphs, one) for one in selections]
        states, bag = self._states(graphs, Selection.side_by_side(selections))
        unmarked, *own = unmarked_apart(states.view(graphs.num_nodes, bag.side_by_side, -1), samples)
        rows = (torch.cat([unmarked, copies], dim=1).flatten(0, 1) for copies in own)
        return [(one, self.rule(graphs, of, dtype=self.dtype)) for one, of in zip(rows, selections, strict=True)]
