"""Every graph once, the same order for the same seed and epoch, equal work for every rank."""

from __future__ import annotations

import lightning
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from policylearn.data import BatchLoader, DataError, PackedGraphs


def paths(sizes: list[int]) -> PackedGraphs:
    """Graphs without edges; the target of a graph is its position."""
    return PackedGraphs(
        x=np.ones((sum(sizes), 1), dtype=np.uint8),
        edge_index=np.empty((2, 0), dtype=np.int64),
        edge_attr=np.empty((0, 0)),
        node_ptr=np.concatenate([[0], np.cumsum(sizes)]),
        edge_ptr=np.zeros(len(sizes) + 1, dtype=np.int64),
        y=np.arange(len(sizes)),
    )


def order(loader: BatchLoader) -> list[list[int]]:
    return [rows.tolist() for rows in loader.index_batches()]


@given(
    count=st.integers(1, 60),
    batch_size=st.integers(1, 9),
    world_size=st.integers(1, 4),
    shuffle=st.booleans(),
    epoch=st.integers(0, 5),
)
def test_ranks_share_all_graphs_in_equally_many_batches(
    count: int, batch_size: int, world_size: int, shuffle: bool, epoch: int
) -> None:
    graphs = paths([1 + i % 7 for i in range(count)])
    if count < world_size:
        return
    seen: list[int] = []
    lengths = set()
    sizes: set[int] = set()
    for rank in range(world_size):
        loader = BatchLoader(graphs, batch_size=batch_size, shuffle=shuffle, rank=rank, world_size=world_size)
        loader.set_epoch(epoch)
        batches = order(loader)
        assert len(batches) == len(loader)
        assert all(0 < len(batch) <= batch_size for batch in batches)
        lengths.add(len(batches))
        sizes |= {len(batch) for batch in batches}
        seen += [row for batch in batches for row in batch]
    assert len(lengths) == 1
    assert max(sizes) - min(sizes) <= 1, "no batch is short"
    assert set(seen) == set(range(count))
    batches_in_all = lengths.pop() * world_size
    assert len(seen) == max(count, batches_in_all)  # repeated only where a batch would be empty


def test_the_order_depends_on_seed_and_epoch_alone() -> None:
    graphs = paths([2] * 50)

    def at(seed: int, epoch: int) -> list[list[int]]:
        loader = BatchLoader(graphs, batch_size=8, shuffle=True, seed=seed)
        loader.set_epoch(epoch)
        return order(loader)

    first = BatchLoader(graphs, batch_size=8, shuffle=True, seed=3)
    walked = [batch.y.tolist() for batch in first]
    assert walked == [batch.y.tolist() for batch in first] == order(first) == at(3, 0)
    assert len({str(at(seed, epoch)) for seed in (0, 1) for epoch in (0, 1)}) == 4
    first.set_epoch(2)
    list(first)
    assert order(first) == at(3, 2)


def test_without_shuffle_the_order_is_the_given_one() -> None:
    loader = BatchLoader(paths([1] * 10), [7, 3, 9, 1, 2], batch_size=3)
    assert order(loader) == [[7, 3], [9, 1, 2]]
    assert [batch.index.tolist() for batch in loader] == order(loader)


def test_a_batch_knows_the_positions_of_its_graphs() -> None:
    for batch in BatchLoader(paths([1, 3, 2, 1, 4]), [4, 0, 2], batch_size=2, shuffle=True):
        assert batch.index.dtype == torch.int64
        assert batch.index.tolist() == batch.y.tolist()


def test_tensors_are_those_of_the_batches() -> None:
    loader = BatchLoader(paths([3, 1, 4, 1, 5]), batch_size=2, shuffle=True)
    for batch, tensors in zip(loader, loader.tensors(), strict=True):
        assert dict(iter(batch)).keys() == tensors.keys()
        assert all(torch.equal(batch[name], values) for name, values in tensors.items())


def test_it_is_a_lightning_dataloader_whose_epoch_moves_on() -> None:
    seen: list[list[int]] = []

    class Module(lightning.LightningModule):
        def __init__(self) -> None:
            super().__init__()
            self.weight = torch.nn.Parameter(torch.zeros(1))

        def training_step(self, batch: object, index: int) -> torch.Tensor:
            seen.append(batch.y.tolist())  # type: ignore[attr-defined]
            return self.weight.sum()

        def configure_optimizers(self) -> torch.optim.Optimizer:
            return torch.optim.SGD(self.parameters(), lr=0.1)

    loader = BatchLoader(paths([1] * 12), batch_size=4, shuffle=True, seed=1)
    trainer = lightning.Trainer(
        max_epochs=3, accelerator="cpu", logger=False, enable_checkpointing=False, enable_progress_bar=False,
        enable_model_summary=False,
    )  # fmt: skip
    trainer.fit(Module(), loader)
    expected = []
    for epoch in range(3):
        loader.set_epoch(epoch)
        expected += order(loader)
    assert seen == expected


@pytest.mark.parametrize(
    "wrong", [{"batch_size": 0}, {"batch_size": 1, "seed": -1}, {"batch_size": 1, "rank": 2, "world_size": 2}]
)
def test_settings_that_make_no_sense_are_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(DataError):
        BatchLoader(paths([1] * 4), **wrong)
