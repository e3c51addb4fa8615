from __future__ import annotations

from pathlib import Path

import pytest

from lab.reproduce.records import Record
from tests.lab.reproduce.tiny import one_record
from tests.training.tiny import write_graphs


@pytest.fixture(scope="session")
def tiny_data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_graphs(tmp_path_factory.mktemp("tiny") / "tiny.npz", 40)


@pytest.fixture(scope="session")
def tiny_record(tiny_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Record:
    return one_record(tiny_data, tmp_path_factory.mktemp("record") / "results")
