"""Rooms whose names are imported when they are first asked for."""

from __future__ import annotations

import pkgutil
import subprocess
import sys
from types import ModuleType

import pytest

import policylearn
import policylearn.data
import policylearn.data.convert
import policylearn.data.synthetic
import policylearn.explain
import policylearn.models
import policylearn.nn
import policylearn.policies
import policylearn.prediction
import policylearn.settings
import policylearn.training
from tests.errors import raises_naming

ROOMS = [
    policylearn,
    policylearn.data,
    policylearn.data.convert,
    policylearn.data.synthetic,
    policylearn.explain,
    policylearn.models,
    policylearn.nn,
    policylearn.policies,
    policylearn.prediction,
    policylearn.settings,
    policylearn.training,
]


@pytest.mark.parametrize("room", ROOMS)
def test_every_name_is_there_and_no_other(room: ModuleType) -> None:
    assert all(getattr(room, name) is not None for name in room.__all__)
    assert not {module.name for module in pkgutil.iter_modules(room.__path__)} & set(room.__all__)
    with raises_naming(AttributeError, "nothing"):
        _ = room.nothing


SLOW = {
    "policylearn": ("torch", "numpy"),
    "policylearn.data.preparation": ("torch", "lightning"),
    "policylearn.prediction.table_writer": ("torchmetrics", "lightning"),
}


def test_who_need_not_wait_for_whom() -> None:
    """One process for all: the first to be imported needs least."""
    code = f"""
import importlib, sys
for module, absent in {SLOW!r}.items():
    importlib.import_module(module)
    found = [name for name in absent if name in sys.modules]
    assert not found, (module, found)
"""
    done = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
