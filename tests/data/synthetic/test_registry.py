import numpy as np
import pytest
import torch

from policylearn.data.packed import DataError
from policylearn.data.synthetic import SYNTHETIC, csl_classes, is_synthetic, synthetic_dataset

TOTALS = {"csl-13": 300, "csl-union-17-3": 1000}
NAMES = tuple(TOTALS)


@pytest.mark.parametrize("name", NAMES)
def test_every_name_gives_valid_graphs_a_split_and_a_fitting_task(name: str) -> None:
    graphs, task = synthetic_dataset(name, np.random.default_rng(0))
    graphs.validate()
    assert len(graphs) == TOTALS[name]
    parts = np.concatenate([graphs.extras[part] for part in ("train", "valid", "test")])
    assert sorted(parts) == list(range(len(graphs)))
    assert all(len(graphs.extras[part]) > 0 for part in ("train", "valid", "test"))
    loss = task.compute_loss(torch.zeros(len(graphs), task.outputs), torch.as_tensor(graphs.y))
    assert torch.isfinite(loss)
    assert set(graphs.y.tolist()) == set(range(task.outputs))


def test_every_pattern_is_tested_and_listed() -> None:
    assert len(NAMES) == len(SYNTHETIC)
    assert all(is_synthetic(name) for name in NAMES)


def test_numbers_in_the_name_choose_the_family() -> None:
    graphs, task = synthetic_dataset("csl-union-29-3", np.random.default_rng(0))
    assert task.outputs == 35
    assert task.classes[0] == "+".join(str(k) for k in csl_classes(29)[:3])
    assert (graphs.num_nodes == 87).all()
    assert graphs.extras["component"].max() == 2


def test_the_seed_alone_decides() -> None:
    one, same, other = (synthetic_dataset("csl-union-13-2", np.random.default_rng(seed))[0] for seed in (0, 0, 1))
    assert np.array_equal(one.edge_index, same.edge_index)
    assert not np.array_equal(one.edge_index, other.edge_index)


@pytest.mark.parametrize("name", ["csl", "csl-union-17", "counting-er", "zinc", "csl-union-N-L", "xcsl-13", ""])
def test_other_names_are_not_ours(name: str) -> None:
    assert not is_synthetic(name)
    with pytest.raises(DataError):
        synthetic_dataset(name, np.random.default_rng(0))


def test_wrong_numbers_are_refused() -> None:
    with pytest.raises(DataError):
        synthetic_dataset("csl-6", np.random.default_rng(0))
    with pytest.raises(DataError):
        synthetic_dataset("csl-union-13-4", np.random.default_rng(0))
