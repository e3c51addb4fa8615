"""An exported run answers as the run does, on graphs of any size, and without this package."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch_geometric.data import Batch, Data

import policylearn
from policylearn.cli import main
from policylearn.models import Inputs, SubgraphGNN, build_model
from policylearn.nn import Features
from policylearn.prediction.export import quiet_tracer
from policylearn.prediction.plain_form import PlainBatch, PlainForm
from policylearn.settings.run_files import RunError
from tests.training.molecules import molesol, write_table
from tests.warm import run_warm

PAGE = Path(__file__).parents[2] / "docs" / "export.md"
INPUTS = Inputs(node_features=Features((5, 3)), edge_features=Features((4,)))


def random_graphs(count: int, seed: int) -> list[Data]:
    """Graphs of 1 to 12 nodes; some without edges, some with loops and with edges that stand twice."""
    draw = torch.Generator().manual_seed(seed)

    def integers(high: int, *shape: int) -> Tensor:
        return torch.randint(high, shape, generator=draw)

    found = []
    for number in range(count):
        nodes = number % 12 + 1
        edges = int(integers(4 * nodes, 1)) if number % 7 else 0
        x = torch.stack([integers(5, nodes), integers(3, nodes)], dim=1)
        found.append(Data(x=x, edge_index=integers(nodes, 2, edges), edge_attr=integers(4, edges, 1)))
    return found


def small_model(selection: dict[str, object], *, conv: str = "gin", **changes: object) -> SubgraphGNN:
    """A model with random weights and norm statistics, in evaluation."""
    torch.manual_seed(0)
    network = {"channels": 8, "layers": 2, "conv": conv}
    model = build_model(settings={"prediction": network, "selection": selection, **changes}, inputs=INPUTS)
    assert isinstance(model, SubgraphGNN)
    for buffer in model.buffers():
        buffer.data.uniform_(0.5, 1.5)
    return model.eval()


class Flat(nn.Module):
    """The plain form with its tensors as arguments, as an exported program has them."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.form = PlainForm(model)

    def forward(
        self, x: Tensor, edge_index: Tensor, edge_attr: Tensor, batch: Tensor, sizes: Tensor
    ) -> tuple[Tensor, Tensor]:
        return self.form(PlainBatch(x, edge_index, batch, sizes, edge_attr, None, None))


def tensors(graphs: list[Data]) -> tuple[Batch, tuple[Tensor, ...]]:
    batch = Batch.from_data_list(graphs)
    return batch, (batch.x, batch.edge_index, batch.edge_attr, batch.batch, batch.ptr.diff())


POLICIES = {
    "learned": {"picks": 2},
    "none": {"name": "none"},
    "learned, min, repeats": {"picks": 3, "pooling": "min", "mask_selected": False, "add_graph_mean": False},
}


@pytest.mark.parametrize("name", POLICIES)
@torch.inference_mode()
def test_the_plain_form_is_the_model(name: str) -> None:
    model = small_model(POLICIES[name])
    batch, given = tensors(random_graphs(100, seed=1))
    outputs, picks = Flat(model)(*given)
    assert outputs.std() > 0
    torch.testing.assert_close(outputs, model(batch), rtol=1e-5, atol=1e-5)
    if len(picks):
        assert torch.equal(picks, model.select(batch).local_roots(batch.ptr))


@pytest.mark.parametrize("readout", ["sum", "both"])
@torch.inference_mode()
def test_the_plain_form_has_every_readout(readout: str) -> None:
    model = small_model(POLICIES["learned"], readout=readout)
    batch, given = tensors(random_graphs(40, seed=1))
    torch.testing.assert_close(Flat(model)(*given)[0], model(batch), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", ["learned", "none"])
def test_an_exported_program_takes_100_graphs_in_batches_of_any_size(name: str, tmp_path: Path) -> None:
    model = small_model(POLICIES[name])
    path = tmp_path / "model.pt2"
    any_size = torch.export.Dim.DYNAMIC
    shapes = ({0: any_size}, {1: any_size}, {0: any_size}, {0: any_size}, {0: any_size})
    with torch.no_grad(), quiet_tracer():
        _, traced = tensors(random_graphs(5, seed=2)[1:])
        torch.export.save(torch.export.export(Flat(model), traced, dynamic_shapes=shapes, strict=False), path)
        program = torch.export.load(path).module()
    graphs = random_graphs(100, seed=3)
    begin = 0
    for size in (1, 2, 3, 94):  # the first one is a single node without edges
        batch, given = tensors(graphs[begin : begin + size])
        begin += size
        with torch.inference_mode():
            torch.testing.assert_close(program(*given)[0], model(batch), rtol=1e-5, atol=1e-5)
    assert begin == len(graphs)


@pytest.mark.parametrize(
    ("model", "said"),
    [
        (small_model({}, conv="sage"), "GIN"),
        (small_model({"mode": "paper"}), "batch"),
        (small_model({"name": "full"}), "FullPolicy"),
        (small_model({}, bag={"rule": "ego", "hops": 2}), "EgoNets"),
        (small_model({}, order="nodes"), "NodesThenCopies"),
        (nn.Linear(1, 1), "Linear"),
    ],
)
def test_what_cannot_be_exported_says_why(model: nn.Module, said: str) -> None:
    with pytest.raises(RunError, match=said):
        PlainForm(model)


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A run of an ensemble on a table with descriptors and walk encodings, and its export."""
    smiles, values = molesol()
    folder = tmp_path_factory.mktemp("export")
    table = write_table(folder / "m.csv", ("smiles", "logS"), smiles[:120], values[:120])
    words = ["train", str(table), "--target", "logS", "-o", str(folder / "run"), "--network-only", "--epochs", "1"]
    words += ["--policy", "learned"]
    assert main([*words, "--prediction.channels", "8", "--prediction.layers", "1", "--data.split", "random"]) == 0
    assert main(["export", str(folder / "run"), "-o", str(folder / "model.pt2")]) == 0
    return folder / "run", folder / "model.pt2"


def test_the_page_predicts_without_this_package(exported: tuple[Path, Path], tmp_path: Path) -> None:
    """100 molecules that were not trained on, by the code of the page, where importing policylearn fails."""
    run, path = exported
    smiles = molesol()[0][200:300]
    (code,) = re.findall(r"^```python\n(import json\n.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    (tmp_path / "smiles.json").write_text(json.dumps(smiles))
    script = (
        "import sys\nsys.modules['policylearn'] = None\n"
        + code.replace("model.pt2", str(path)).replace('["CCO", "c1ccccc1O"]', "json.load(open('smiles.json'))")
        + "\njson.dump([values.tolist(), lower.tolist(), upper.tolist(), picks.tolist()], open('found.json', 'w'))\n"
    )
    done = run_warm(script, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    values, lower, upper, picks = json.loads((tmp_path / "found.json").read_text())
    expected = policylearn.load(run).answer(smiles)
    assert expected.lower is not None
    assert expected.upper is not None
    np.testing.assert_allclose(values, expected.values, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(lower, expected.lower, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(upper, expected.upper, rtol=1e-4, atol=1e-4)
    assert np.array(picks).T.tolist() == expected.picks


def test_a_wrong_name_or_run_is_refused(
    exported: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run, _ = exported
    assert main(["export", str(run), "-o", str(tmp_path / "model.onnx")]) == 2
    assert "model.onnx" in capsys.readouterr().err
    assert main(["export", str(tmp_path / "none"), "-o", str(tmp_path / "model.pt2")]) == 2
    assert not list(tmp_path.iterdir())
