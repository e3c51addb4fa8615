"""Wheel and sdist: built here, and the wheel used alone in an environment that knows nothing of the repository."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
import venv
from pathlib import Path
from zipfile import ZipFile

import pytest

PROJECT = Path(__file__).parents[2]
VERSION = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
ROWS = 50


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with wheel and sdist; the build backend is asked itself, so that nothing is fetched."""
    folder = tmp_path_factory.mktemp("dist")
    subprocess.run([sys.executable, "-m", "hatchling", "build", "-d", str(folder)], cwd=PROJECT, check=True)
    return folder


def wheel_files(folder: Path) -> set[str]:
    (wheel,) = folder.glob(f"policylearn-{VERSION}-*.whl")
    with ZipFile(wheel) as archive:
        return set(archive.namelist())


def test_the_sdist_gives_the_same_wheel(built: Path, tmp_path: Path) -> None:
    with tarfile.open(built / f"policylearn-{VERSION}.tar.gz") as archive:
        archive.extractall(tmp_path, filter="data")
    source = tmp_path / f"policylearn-{VERSION}"
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)], cwd=source, check=True
    )
    assert wheel_files(tmp_path) == wheel_files(built)


def test_the_wheel_holds_the_library_alone(built: Path) -> None:
    assert {name.split("/")[0] for name in wheel_files(built)} == {"policylearn", f"policylearn-{VERSION}.dist-info"}


def test_the_wheel_trains_without_the_repository(built: Path, tmp_path: Path) -> None:
    """In a new environment, which reads third-party packages from this one.

    The path of this environment's site-packages stands in a .pth file: the packages are found, and .pth files among
    them are not read, so the editable install of the repository is not seen. Nothing is fetched.
    """
    home = tmp_path / "venv"
    venv.create(home, with_pip=False)
    paths = {"base": str(home), "platbase": str(home)}
    packages = Path(sysconfig.get_path("purelib", "venv", paths))
    python = Path(sysconfig.get_path("scripts", "venv", paths)) / Path(sys.executable).name
    (wheel,) = built.glob("*.whl")
    install = [sys.executable, "-m", "pip", "--python", str(python), "install", "--no-deps", "--no-index", "-q"]
    subprocess.run([*install, "--disable-pip-version-check", str(wheel)], check=True)
    (packages / "present.pth").write_text(sysconfig.get_path("purelib") + "\n")

    # Compiled loops would be compiled again beside the new files, a minute of work that is tested elsewhere.
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "POLICYLEARN"))}
    environment |= {"POLICYLEARN_KERNELS": "torch", "COLUMNS": "110"}

    def run(*words: str) -> str:
        done = subprocess.run(words, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    assert Path(run(str(python), "-c", "import policylearn; print(policylearn.__file__)")).is_relative_to(packages)
    command = str(python.with_name("policylearn"))
    assert run(command, "--version") == f"policylearn {VERSION}"
    rows = [f"{'C' * (n % 10 + 1)}{'O' * (n % 2)}{'N' * (n // 10)},{n / 10}" for n in range(ROWS)]
    (tmp_path / "table.csv").write_text("\n".join(["smiles,y", *rows]) + "\n")
    small = ("--epochs", "1", "--prediction.channels", "8", "--prediction.layers", "2", "--network-only")
    run(command, "train", "table.csv", "--target", "y", "--data.split", "random", "-o", "run", *small)
    run(command, "predict", "run", "table.csv", "-o", "predicted.csv")
    assert len((tmp_path / "predicted.csv").read_text().splitlines()) == 1 + ROWS
