"""Numbers of nodes (`x_real`) are read by every system, or refused; none ignores them in silence."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch_geometric.data import Batch, Data

from policylearn.data import make_batch, pack_pyg
from policylearn.data.transforms import Transform, fit_apply
from policylearn.models import SYSTEMS, Inputs
from policylearn.nn import Features
from tests.errors import raises_naming
from tests.graphs import ATOMS, BONDS, molecules

NETWORK = {"layers": 2, "channels": 20, "dropout": 0.0}
SMALL: dict[str, Any] = NETWORK | {"encoding_channels": 2, "centrality_channels": 3, "prediction": NETWORK}
EDGES = Features((BONDS,))
NODES = {"ids and numbers": Features((ATOMS,), 2), "numbers alone": Features((), 2)}


def small_system(name: str, nodes: Features) -> tuple[Any, Batch]:
    """A model, and a batch with its structures and without numbers."""
    system = SYSTEMS[name]
    known = system.settings.__struct_fields__
    settings = system.read({key: value for key, value in SMALL.items() if key in known})
    inputs = Inputs(nodes, EDGES)
    specs = [Transform.from_json({"name": kind, **given}) for kind, given in system.transforms(settings, inputs)]
    graphs = [Data(one.x, one.edge_index, one.edge_attr, y=torch.zeros(1, 1)) for one in molecules(4)]
    fitted, packed = fit_apply(specs, pack_pyg(graphs), range(len(graphs)))
    learned = {one.name: {field: getattr(one, field) for field in one.learned} for one in fitted}
    torch.manual_seed(0)
    model: Any = system.build(settings, Inputs(nodes, EDGES, learned=learned))
    batch = make_batch(packed, range(len(graphs)))
    if not nodes.categorical:
        batch.x = batch.x[:, :0].float()
    return model.eval(), batch


def assert_read(model: Any, batch: Batch) -> None:
    numbers = torch.randn(batch.num_nodes, 2, generator=torch.Generator().manual_seed(1))
    with torch.no_grad():
        batch.x_real = numbers
        before = model(batch)
        batch.x_real = numbers + 1
        after = model(batch)
    assert (after - before).abs().max() > 1e-6


@pytest.mark.parametrize("nodes", NODES.values(), ids=NODES)
@pytest.mark.parametrize("name", SYSTEMS)
def test_every_system_reads_numbers(name: str, nodes: Features) -> None:
    assert_read(*small_system(name, nodes))


@pytest.mark.parametrize("name", SYSTEMS)
def test_numbers_that_a_system_was_not_built_for_are_refused(name: str) -> None:
    model, batch = small_system(name, Features((ATOMS,)))
    with torch.no_grad():
        model(batch)
        batch.x_real = torch.zeros(batch.num_nodes, 3)
        with raises_naming(ValueError, "real=3"):
            model(batch)
