"""CIN, SIN, GSN, PNA, GIN + RWSE & LapPE and HyMN: each equal to its official code."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from torch_geometric.data import Batch

from policylearn.bags import Graphs
from policylearn.data.transforms.cycle_codes import CycleCodes
from policylearn.models.systems.gsn import CODES, GSN
from tests.golden.case import OUTPUTS, Case, cases_of, check_evaluation, check_training, close, packed

GSN_CASES = cases_of({"GSN-v"})
CASES = [*GSN_CASES]

DTYPES = pytest.mark.parametrize("dtype", [torch.float64, torch.float32], ids=["float64", "float32"])


def each(cases: list[Path]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("path", cases, ids=[path.stem for path in cases])


def same(name: str) -> str:
    return name


def gsn_case(path: Path, dtype: torch.dtype) -> tuple[Case, GSN, Batch]:
    case = Case(path, dtype)
    model = GSN(
        case.features("node_features"),
        case.features("edge_features"),
        case.meta["id_vocabulary_sizes"],
        layers=case.meta["layers"],
        channels=case.meta["channels"],
        outputs=case.meta["output"],
    )
    case.load(model)
    return case, model, case.batch(**{CODES: case["codes"]})


@DTYPES
@each(GSN_CASES)
def test_gsn(path: Path, dtype: torch.dtype) -> None:
    case, model, batch = gsn_case(path, dtype)
    graphs = Graphs.of(batch)
    with torch.no_grad():
        check_evaluation(case, model.eval()(graphs))
        close(model.node_states(graphs), case["eval/node_states"], OUTPUTS[dtype])
    check_training(case, model, model.train()(graphs), same, graphs.members)


@each(GSN_CASES)
def test_codes_of_cycle_counts(path: Path) -> None:
    case = Case(path)
    graphs = packed(case)
    sizes = tuple(int(name.removeprefix("cycle-")) for name in case.meta["substructures"])
    transform = CycleCodes(sizes=sizes, chordless=case.meta["induced"])
    assert np.array_equal(transform.compute(graphs)[transform.into].values, case["counts"])
    fitted = transform.fit(graphs)
    assert [list(known) for known in fitted.vocabularies] == [case[f"vocabulary/{size}"].tolist() for size in sizes]
    assert np.array_equal(fitted(graphs).structures[transform.into].values, case["codes"])
