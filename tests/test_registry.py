"""A user's file registers things of its own, and cannot replace a built-in one."""

from __future__ import annotations

from pathlib import Path

import pytest

from policylearn import registry
from tests.errors import raises_naming

PLUGIN = "from policylearn import registry\nregistry.REGISTRIES[-1].register({name!r}, 'mine')\n"


@pytest.fixture
def things(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> registry.Registry[str]:
    """A registry with one built-in thing, in a module that is not called like it."""
    monkeypatch.setattr(registry, "REGISTRIES", [])
    package = f"parts_of_{tmp_path.name}"
    (tmp_path / package).mkdir()
    (tmp_path / package / "__init__.py").touch()
    (tmp_path / package / "some.py").write_text(PLUGIN.format(name="taken"))
    monkeypatch.syspath_prepend(tmp_path)
    return registry.Registry("thing", package)


@pytest.mark.parametrize("new", [False, True], ids=["known registry", "new registry"])
def test_a_file_cannot_replace_a_built_in_thing(things: registry.Registry[str], tmp_path: Path, new: bool) -> None:
    file = tmp_path / "own.py"
    first = f"from policylearn.registry import Registry\nRegistry('thing', {things._package!r})\n"
    file.write_text(first * new + PLUGIN.format(name="taken"))
    for _ in range(2):
        with raises_naming(ValueError, "'taken'"):
            registry.import_file(file)


def test_files_of_the_same_name_are_both_imported(things: registry.Registry[str], tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "own.py").write_text(PLUGIN.format(name=name))
        registry.import_file(tmp_path / name / "own.py")
        registry.import_file(tmp_path / name / "own.py")  # the second time does nothing
    assert sorted(things) == ["one", "taken", "two"]


def test_a_file_that_failed_is_tried_again(things: registry.Registry[str], tmp_path: Path) -> None:
    file = tmp_path / "own.py"
    for _ in range(2):
        file.write_text("raise KeyError('broken')")
        with pytest.raises(KeyError):
            registry.import_file(file)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with raises_naming(ValueError, "missing.py", "no such file"):
        registry.import_file(tmp_path / "missing.py")


def test_what_a_thing_lacks_is_named() -> None:
    things = registry.Registry[type]("thing", members=("__init__", "draw", "surrogate"))
    registry.REGISTRIES.remove(things)
    with raises_naming(ValueError, "'mine'", "draw and surrogate"):
        things.register("mine", object)
    assert "mine" not in things
