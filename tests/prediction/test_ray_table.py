"""Predicting with a Ray cluster: the bytes of one process, whatever dies on the way."""

from __future__ import annotations

import gzip
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from policylearn.cli import main
from policylearn.prediction import Predictor, load
from policylearn.prediction.table_writer import PredictOptions, predict_table
from policylearn.settings.run_files import RunError
from tests.errors import raises_naming
from tests.ray_processes import WHY, two_cores, workers
from tests.training.molecules import molesol, small_run

pytest.importorskip("ray", reason=WHY)
pytestmark = pytest.mark.filterwarnings("ignore")
TWO = PredictOptions(workers=2)
WAIT = 300


@pytest.fixture(scope="module", autouse=True)
def cluster() -> Iterator[Any]:
    yield from two_cores()


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """2,256 rows, two of them broken: five parts of one chunk."""
    smiles, values = molesol()
    rows = [f"m{at},{text},{value}" for at, (text, value) in enumerate(zip(smiles, values, strict=True))]
    rows[5] = "x,C1CC,1"
    path = tmp_path_factory.mktemp("table") / "m.csv"
    path.write_text("\n".join(["name,smiles,logS", *rows, *rows, ""]))
    return path


@pytest.fixture(scope="module")
def run(table: Path) -> Path:
    changes = {"data": {"on_error": "skip"}, "fit": {"epochs": 1, "batch_size": 64}}
    return small_run(table.parent / "run", table, "logS", **changes)


@pytest.fixture(scope="module")
def predictor(run: Path) -> Predictor:
    return load(run)


def test_a_killed_worker_loses_nothing(predictor: Predictor, run: Path, table: Path, tmp_path: Path) -> None:
    from policylearn.prediction.ray_table import predict_on_ray

    killed: list[int] = []

    def kill() -> None:
        """As soon as a part is finished: of the others, two are begun at most."""
        until = time.monotonic() + WAIT
        while not list(tmp_path.glob("ray.csv.parts/*[0-9].json")) and time.monotonic() < until:
            time.sleep(0.02)
        for process in workers("MapWorker")[:1]:
            process.kill()
            killed.append(process.pid)

    plain = predict_table(predictor, table, tmp_path / "plain.csv")
    thread = threading.Thread(target=kill)
    thread.start()
    shared = predict_on_ray(predictor, run, table, tmp_path / "ray.csv", TWO, chunks=1)
    thread.join()
    assert len(killed) == 1
    assert shared == plain
    assert (tmp_path / "ray.csv").read_bytes() == (tmp_path / "plain.csv").read_bytes()
    assert not list(tmp_path.glob("*.parts"))


def test_a_stopped_prediction_goes_on(predictor: Predictor, run: Path, table: Path, tmp_path: Path) -> None:
    """Of Parquet; the row that is put into a finished part shows that it is not made again."""
    from policylearn.prediction.ray_table import predict_on_ray

    source, output = tmp_path / "m.parquet", tmp_path / "out.csv"
    pd.read_csv(table).to_parquet(source)

    def stop(_rows: int, _position: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        predict_on_ray(predictor, run, source, output, TWO, progress=stop, chunks=1)
    assert not output.exists()
    folder = tmp_path / "out.csv.parts"
    first = min(folder.glob("*[0-9].json"))
    first.with_suffix(".rows").write_text("kept\n")
    with raises_naming(RunError, "out.csv.parts"):
        predict_on_ray(predictor, run, source, output, PredictOptions(workers=2, picks=True), chunks=1)
    predict_on_ray(predictor, run, source, output, TWO, chunks=1)
    predict_table(predictor, source, tmp_path / "plain.csv")
    number = int(first.stem)
    lines = (tmp_path / "plain.csv").read_text().splitlines()
    lines[1 + number * 512 : 1 + (number + 1) * 512] = ["kept"]
    assert output.read_text().splitlines() == lines


def test_the_command(run: Path, table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = tmp_path / "m.smi"
    rows = [line.split(",")[:2] for line in table.read_text().splitlines()[1:700]]
    source.write_text("".join(f"{smiles} {name}\n" for name, smiles in rows))
    words = ["predict", str(run), str(source), "--picks", "-o"]
    assert main([*words, str(tmp_path / "plain.tsv")]) == 1
    assert main([*words, str(tmp_path / "ray.tsv.gz"), "--ray"]) == 1
    assert gzip.decompress((tmp_path / "ray.tsv.gz").read_bytes()) == (tmp_path / "plain.tsv").read_bytes()
    plain, shared = capsys.readouterr().out.splitlines()
    assert shared == plain.replace("plain.tsv", "ray.tsv.gz")
