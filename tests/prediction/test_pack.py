"""A packed model answers as its run did, without the folder or the data, and a bad file is refused."""

from __future__ import annotations

import hashlib
import json
import shutil
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import policylearn
from policylearn.cli import main
from policylearn.prediction import BatchWarning
from policylearn.prediction.model_card import CARD
from policylearn.prediction.pack import pack_run
from policylearn.settings.run_files import RunError
from policylearn.training.packed_run import MANIFEST, PACK_FORMAT, write_pack
from tests.training.molecules import molesol, read_table, write_table

OLD = sorted(path.parent for path in Path(__file__).parent.glob("runs_of_0_*/*/answers.json"))
NEW = ["CCO", "c1ccccc1O", "CCCCCCCC"]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    smiles, values = molesol()
    folder = tmp_path_factory.mktemp("pack")
    table = write_table(folder / "m.csv", ("smiles", "logS"), smiles[:120], values[:120])
    words = ["train", str(table), "--target", "logS", "-o", str(folder / "run"), "--epochs", "1"]
    words += ["--data.split", "random", "--prediction.channels", "4", "--prediction.layers", "1"]
    assert main(words) == 0
    return folder / "run"


@pytest.fixture(scope="module")
def packed(run: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("packed") / "model.plm"
    assert main(["pack", str(run), "-o", str(path)]) == 0
    return path


def test_it_answers_without_folder_and_data(run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = policylearn.load(run).answer(NEW)
    away = tmp_path / "away"
    shutil.copytree(run, away)
    pack_run(away, tmp_path / "model.plm")
    shutil.rmtree(away)
    monkeypatch.setenv("POLICYLEARN_DATA", str(tmp_path / "nowhere"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    predictor = policylearn.load(tmp_path / "model.plm")
    found = predictor.answer(NEW)
    for name in ("values", "lower", "upper"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))
    assert found.picks == expected.picks
    assert str(tmp_path / "model.plm") in repr(predictor)


@pytest.mark.parametrize("folder", OLD, ids=lambda folder: f"{folder.parent.name}-{folder.name}")
def test_runs_of_earlier_versions_are_packed_too(folder: Path, tmp_path: Path) -> None:
    then = json.loads((folder / "answers.json").read_text())
    pack_run(folder, tmp_path / "old.plm")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", BatchWarning)
        predictor = policylearn.load(tmp_path / "old.plm")
    np.testing.assert_allclose(predictor.predict(then["smiles"]), then["values"], rtol=1e-4)


def test_it_holds_no_code_and_no_path(packed: Path, run: Path) -> None:
    with zipfile.ZipFile(packed) as archive:
        names = archive.namelist()
        config = archive.read("config.yaml").decode()
    assert {Path(name).suffix for name in names} <= {".json", ".yaml", ".safetensors", ".md"}
    assert {"kernel.safetensors", "domain.safetensors", "calibration.json", CARD} <= set(names)
    assert str(run.parent) not in config
    assert "name: m.csv" in config


def test_the_same_run_gives_the_same_bytes(run: Path, packed: Path, tmp_path: Path) -> None:
    pack_run(run, tmp_path / "again.plm")
    assert (tmp_path / "again.plm").read_bytes() == packed.read_bytes()


def test_the_card_says_data_metric_and_limits(run: Path, packed: Path) -> None:
    facts, metrics = (json.loads((run / name).read_text()) for name in ("run.json", "metrics.json"))
    card = (run / CARD).read_text()
    for wanted in (facts["dataset"]["fingerprint"], f"{metrics['test']:.4g}", "90 % interval", "policylearn train"):
        assert wanted in card
    assert f"torch {facts['versions']['torch']}" in card
    with zipfile.ZipFile(packed) as archive:
        assert archive.read(CARD).decode().splitlines()[0] == card.splitlines()[0]


def test_commands_take_it(packed: Path, run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    smiles, values = molesol()
    table = write_table(tmp_path / "new.csv", ("smiles", "logS"), smiles[120:150], values[120:150])
    for model, name in ((run, "a"), (packed, "b")):
        assert main(["predict", str(model), str(table), "-o", str(tmp_path / f"{name}.csv")]) == 0
    assert read_table(tmp_path / "a.csv") == read_table(tmp_path / "b.csv")
    assert main(["explain", str(packed), str(table), "-o", str(tmp_path / "page.html"), "--most", "2"]) == 0
    said = []
    for model in (run, packed):
        capsys.readouterr()
        assert main(["evaluate", str(model), str(table)]) == 0
        data = [] if model is run else ["--data", str(run.parent / "m.csv")]
        assert main(["evaluate", str(model), *data]) == 0
        said.append(capsys.readouterr().out)
    assert said[0] == said[1]
    assert main(["info", str(packed)]) == 0
    assert "m.csv" in capsys.readouterr().out


def rewritten(
    packed: Path, path: Path, *, files: dict[str, bytes] | None = None, changes: dict[str, object] | None = None,
    compression: int = zipfile.ZIP_STORED,
) -> Path:  # fmt: skip
    """The pack with more files, another manifest, or compressed."""
    with zipfile.ZipFile(packed) as archive:
        content = {name: archive.read(name) for name in archive.namelist()} | (files or {})
    manifest = json.loads(content[MANIFEST]) | (changes or {})
    content[MANIFEST] = json.dumps(manifest).encode()
    with zipfile.ZipFile(path, "w", compression) as archive:
        for name, data in content.items():
            archive.writestr(name, data)
    return path


def listed(packed: Path, name: str, data: bytes) -> dict[str, object]:
    with zipfile.ZipFile(packed) as archive:
        files = json.loads(archive.read(MANIFEST))["files"]
    return {"files": files | {name: {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}}}


def flipped(packed: Path, path: Path) -> Path:
    data = bytearray(packed.read_bytes())
    at = data.index(b"fingerprint")
    data[at] ^= 1
    path.write_bytes(data)
    return path


def cut(packed: Path, path: Path) -> Path:
    path.write_bytes(packed.read_bytes()[:-2000])
    return path


BAD: dict[str, Callable[[Path, Path], Path]] = {
    "format 99": lambda packed, path: rewritten(packed, path, changes={"format": 99}),
    "evil": lambda packed, path: rewritten(packed, path, files={"../evil.json": b"{}"}),
    r"no name.*\.\./evil": lambda packed, path: rewritten(
        packed, path, files={"../evil.json": b"{}"}, changes=listed(packed, "../evil.json", b"{}")
    ),
    "config.yaml": lambda packed, path: rewritten(packed, path, files={"config.yaml": b"{}"}),
    "compressed": lambda packed, path: rewritten(packed, path, compression=zipfile.ZIP_DEFLATED),
    "no whole": flipped,
    "model": cut,
    MANIFEST: lambda _packed, path: Path(shutil.copy(OLD[0] / "answers.json", path)),
}


@pytest.mark.parametrize("said", BAD)
def test_a_bad_file_is_refused(packed: Path, tmp_path: Path, said: str) -> None:
    path = BAD[said](packed, tmp_path / "bad.plm")
    pattern = "no whole" if said == MANIFEST else said.replace("no name.*", "")
    with pytest.raises(RunError, match=pattern) as error:
        policylearn.load(path)
    assert str(path) in str(error.value)
    assert not (tmp_path.parent / "evil.json").exists()


def test_an_entry_that_claims_more_than_the_file_has_is_refused(packed: Path, tmp_path: Path) -> None:
    data = packed.read_bytes()
    with zipfile.ZipFile(packed) as archive:
        entry = archive.getinfo("config.yaml")
    size = entry.file_size.to_bytes(4, "little") * 2
    place = data.rindex(b"PK\x01\x02", 0, data.rindex(b"config.yaml"))
    assert data[place + 20 : place + 28] == size
    huge = (3_000_000_000).to_bytes(4, "little") * 2
    (tmp_path / "bomb.plm").write_bytes(data[: place + 20] + huge + data[place + 28 :])
    with pytest.raises(RunError):
        policylearn.load(tmp_path / "bomb.plm")


def test_a_pack_without_a_run_and_a_run_that_is_no_folder(tmp_path: Path, packed: Path) -> None:
    write_pack(tmp_path / "empty.plm", {})
    with pytest.raises(RunError):
        policylearn.load(tmp_path / "empty.plm")
    with pytest.raises(RunError):
        pack_run(packed, tmp_path / "again.plm")
    assert PACK_FORMAT == 1
