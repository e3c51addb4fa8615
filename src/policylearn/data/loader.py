"""Batches of a dataset in an order that depends on seed and epoch alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from policylearn.data.packed import Array, DataError, PackedGraphs
from policylearn.data.structures import FINGERPRINT
from policylearn.data.subset import check_indices
from policylearn.data.tensors import make_tensors

if TYPE_CHECKING:
    from torch_geometric.data import Batch


class BatchLoader:
    """An iterable of PyG batches that can be walked any number of times, and shared between processes.

    The batches of an epoch differ in size by at most one graph, so that none is short: with 10 graphs and a batch size
    of 4 they hold 3, 3 and 4. Each carries ``index`` (G,), the positions of its graphs in the packed graphs.

    The order is a function of ``(seed, epoch)``; call `set_epoch` for the next one (Lightning does so by itself).
    With several ranks every graph is still seen once, and all ranks get the same number of batches. (Only with fewer
    graphs than batches are a few repeated.)

    Args:
        graphs: where the graphs come from.
        indices: which of them; None takes all.
        batch_size: graphs in a batch, at most.
        shuffle: a new order each epoch; otherwise as in ``indices``.
        seed: of the shuffle.
        rank: of this process.
        world_size: how many processes share the work.
    """

    def __init__(
        self,
        graphs: PackedGraphs,
        indices: Array | Sequence[int] | None = None,
        *,
        batch_size: int,
        shuffle: bool = False,
        seed: int = 0,
        rank: int = 0,
        world_size: int = 1,
    ) -> None:
        if batch_size < 1 or seed < 0:
            raise DataError(f"'batch_size' must be >= 1 and 'seed' >= 0 (got {batch_size} and {seed})")
        if not 0 <= rank < world_size:
            raise DataError(f"'rank' must lie in 0 .. world_size - 1 (got rank {rank} of {world_size})")
        kept = {name: one for name, one in graphs.structures.items() if name != FINGERPRINT}
        self.graphs = replace(graphs, structures=kept)
        self.indices = check_indices(graphs, np.arange(len(graphs)) if indices is None else indices)
        if len(self.indices) < world_size:
            raise DataError(f"{len(self.indices)} graphs do not give each of {world_size} ranks one; use fewer ranks")
        self.batch_size, self.shuffle, self.seed = batch_size, shuffle, seed
        self.rank, self.world_size = rank, world_size
        self.epoch = 0

    batch_sampler = None
    """Lightning looks for it on whatever has a sampler."""

    def set_epoch(self, epoch: int) -> None:
        """Choose the order of the next walk."""
        self.epoch = epoch

    @property
    def sampler(self) -> BatchLoader:
        """Itself: Lightning calls ``sampler.set_epoch`` on whatever it iterates over."""
        return self

    def __len__(self) -> int:
        return -(-len(self.indices) // (self.batch_size * self.world_size))

    def __iter__(self) -> Iterator[Batch]:
        from torch_geometric.data import Batch  # takes two seconds, see `tensors`

        for tensors in self.tensors():
            yield Batch(**tensors)

    def tensors(self) -> Iterator[dict[str, Tensor]]:
        """The same batches as tensors by name, for those who need not wait for PyG."""
        for rows in self.index_batches():
            yield make_tensors(self.graphs, rows) | {"index": torch.from_numpy(rows)}

    def index_batches(self) -> list[Array]:
        """Which graphs each batch of this epoch and rank holds, in order."""
        count = len(self) * self.world_size
        generator = np.random.default_rng([self.seed, self.epoch])
        order = generator.permutation(self.indices) if self.shuffle else self.indices
        if len(order) < count:
            order = np.concatenate([order, order[: count - len(order)]])
        cuts = np.arange(1, count) * len(order) // count
        return np.split(order, cuts)[self.rank :: self.world_size]
