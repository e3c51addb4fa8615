"""The names of rooms come from where their doors say."""

from __future__ import annotations

import ast
import inspect
import pkgutil
import subprocess
import sys
from types import ModuleType

import pytest

import policylearn.data
import policylearn.prediction
import policylearn.training

ROOMS = [policylearn.data, policylearn.prediction, policylearn.training]


@pytest.mark.parametrize("room", ROOMS)
def test_every_name_of_a_door_is_there_and_typed(room: ModuleType) -> None:
    homes = room.HOMES
    names = [name for group in homes.values() for name in group]
    assert sorted(names) == sorted(room.__all__)
    assert all(getattr(room, name) is not None for name in names)
    imports = [node for node in ast.walk(ast.parse(inspect.getsource(room))) if isinstance(node, ast.ImportFrom)]
    typed = {node.module: {name.name for name in node.names} for node in imports}
    absolute = {f"{room.__name__}{module}" if module[0] == "." else module: group for module, group in homes.items()}
    assert {module: set(group) for module, group in absolute.items()}.items() <= typed.items()


@pytest.mark.parametrize("room", ROOMS)
def test_no_module_is_called_as_a_name_of_the_door(room: ModuleType) -> None:
    assert not {module.name for module in pkgutil.iter_modules(room.__path__)} & set(room.__all__)


@pytest.mark.parametrize("room", ROOMS)
def test_a_name_that_is_not_there_is_an_error(room: ModuleType) -> None:
    with pytest.raises(AttributeError, match=f"module '{room.__name__}' has no attribute 'nothing'"):
        _ = room.nothing


@pytest.mark.parametrize(
    ("module", "absent"),
    [
        ("policylearn.data.preparation", ("torch", "lightning")),
        ("policylearn.prediction.table_writer", ("torchmetrics", "lightning")),
    ],
)
def test_who_need_not_wait_for_whom(module: str, absent: tuple[str, ...]) -> None:
    code = f"import sys; import {module}; print([name for name in {absent!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "[]"
