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
        drop_last: leave out what does not fill a batch (on every rank).
        bucket: sort pools of that many batches by graph size before cutting them, so that a batch holds graphs of
            similar size; 0 leaves sizes mixed. The batches' own order is shuffled again.
        parts: an epoch walks one part of the graphs, and so many epochs in a row walk all of them.
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
        drop_last: bool = False,
        bucket: int = 0,
        parts: int = 1,
        rank: int = 0,
        world_size: int = 1,
    ) -> None:
        if batch_size < 1 or parts < 1 or bucket < 0 or seed < 0:
            raise DataError(
                f"'batch_size' and 'parts' must be >= 1, 'bucket' and 'seed' >= 0"
                f" (got {batch_size}, {parts}, {bucket} and {seed})"
            )
        if not 0 <= rank < world_size:
            raise DataError(f"'rank' must lie in 0 .. world_size - 1 (got rank {rank} of {world_size})")
        kept = {name: one for name, one in graphs.structures.items() if name != FINGERPRINT}
        self.graphs = replace(graphs, structures=kept)
        self.indices = check_indices(graphs, np.arange(len(graphs)) if indices is None else indices)
        self.batch_size = batch_size
        self.shuffle = shuffle
        self.seed = seed
        self.drop_last = drop_last
        self.bucket = bucket
        self.parts = parts
        self.rank = rank
        self.world_size = world_size
        self.epoch = 0
        if self._graphs_of_epoch() < world_size * (batch_size if drop_last else 1):
            raise DataError(
                f"{self._graphs_of_epoch()} graphs do not give each of {world_size} ranks a batch"
                f"{f' of {batch_size}' if drop_last else ''}; use fewer ranks or a smaller batch"
            )

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
        return self._batches_in_all() // self.world_size

    def __iter__(self) -> Iterator[Batch]:
        from policylearn.data.batches import add_index, make_batch  # PyG takes two seconds, see `tensors`

        for rows in self.index_batches():
            yield add_index(make_batch(self.graphs, rows), rows)

    def tensors(self) -> Iterator[dict[str, Tensor]]:
        """The same batches as tensors by name, for those who need not wait for PyG."""
        for rows in self.index_batches():
            yield make_tensors(self.graphs, rows).named | {"index": torch.from_numpy(rows)}

    def index_batches(self) -> list[Array]:
        """Which graphs each batch of this epoch and rank holds, in order."""
        count = self._batches_in_all()
        turn, part = divmod(self.epoch, self.parts)
        generator = np.random.default_rng([self.seed, turn])
        order = generator.permutation(self.indices) if self.shuffle else self.indices
        size = self._graphs_of_epoch()
        # Parts are equally long: the last ones begin a little early where the graphs cannot be shared out evenly.
        start = min(part * size, len(order) - size)
        order = order[start : start + size]
        if self.drop_last:
            order = order[: count * self.batch_size]
        elif len(order) < count:
            order = np.concatenate([order, order[: count - len(order)]])
        cuts = np.arange(1, count) * len(order) // count
        if self.bucket:
            order = self._sort_pools(order, cuts)
        batches = np.split(order, cuts)
        if self.bucket and self.shuffle:
            batches = [batches[i] for i in generator.permutation(count)]
        return batches[self.rank :: self.world_size]

    def _batches_in_all(self) -> int:
        share = self.batch_size * self.world_size
        full, rest = divmod(self._graphs_of_epoch(), share)
        return (full + (rest > 0 and not self.drop_last)) * self.world_size

    def _graphs_of_epoch(self) -> int:
        return -(-len(self.indices) // self.parts)

    def _sort_pools(self, order: Array, cuts: Array) -> Array:
        size = self.graphs.num_nodes
        pools = np.split(order, cuts[self.bucket - 1 :: self.bucket])
        return np.concatenate([pool[np.argsort(size[pool], kind="stable")] for pool in pools])
