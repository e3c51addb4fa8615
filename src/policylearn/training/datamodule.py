"""One Lightning data module for every dataset."""

from __future__ import annotations

import lightning

from policylearn.data import BatchLoader, DataError, Dataset, Split
from policylearn.data.packed import Array


class GraphDataModule(lightning.LightningDataModule):
    """Loaders over the parts of a split; their order depends on (seed, epoch) alone.

    Batches are cut from flat arrays in the main process: that is faster than handing them over from workers.

    Args:
        dataset: graphs and task.
        split: which graphs belong to which part.
        batch_size: graphs of a step over all processes.
        evaluation_batch_size: graphs of a batch in evaluation.
        seed: of the order.
        parts: which parts are evaluated, in this order.
    """

    def __init__(
        self,
        dataset: Dataset,
        split: Split,
        *,
        batch_size: int,
        evaluation_batch_size: int,
        seed: int,
        parts: tuple[str, ...] = ("valid",),
    ) -> None:
        super().__init__()
        self.dataset, self.split, self.seed, self.parts = dataset, split, seed, parts
        self.batch_size, self.evaluation_batch_size = batch_size, evaluation_batch_size

    def train_dataloader(self) -> BatchLoader:
        """Training graphs in a new order each epoch."""
        world = self.trainer.world_size if self.trainer else 1
        if self.batch_size % world:
            raise DataError(f"a batch of {self.batch_size} cannot be shared by {world} processes; use a multiple of it")
        rank = self.trainer.global_rank if self.trainer else 0
        return BatchLoader(
            self.dataset.graphs,
            self.split.train,
            batch_size=self.batch_size // world,
            shuffle=True,
            seed=self.seed,
            rank=rank,
            world_size=world,
        )

    def val_dataloader(self) -> list[BatchLoader]:
        """The parts that are evaluated after each epoch."""
        return [self.evaluation_loader(getattr(self.split, part)) for part in self.parts]

    def evaluation_loader(self, indices: Array) -> BatchLoader:
        """Graphs in their own order; every process sees all of them, so that a metric needs no exchange."""
        return BatchLoader(self.dataset.graphs, indices, batch_size=self.evaluation_batch_size)
