"""numba compiles a loop anew only when its own file changes: a file must change with those whose loops it calls."""

from __future__ import annotations

import hashlib
from pathlib import Path
from types import ModuleType

import pytest
from numba.core.dispatcher import Dispatcher

from policylearn.fast import cone_loops, layer_loops, merge_loops, message_loops, mlp_loops


@pytest.mark.parametrize("module", [cone_loops, layer_loops, merge_loops, message_loops, mlp_loops])
def test_loops_call_only_those_of_files_that_theirs_names(module: ModuleType) -> None:
    loops = {name: value for name, value in vars(module).items() if isinstance(value, Dispatcher)}
    assert loops
    named = getattr(module, "COMPILED_WITH", {})
    others = [f"{module.__package__}.{name}" for name in named]
    for loop in loops.values():
        if loop.py_func.__module__ != module.__name__:
            continue
        called = [loop.py_func.__globals__.get(name) for name in loop.py_func.__code__.co_names]
        for other in called:
            assert getattr(other, "__module__", module.__name__).startswith(
                (module.__name__, *others, "numba", "numpy", "builtins")
            )


def test_files_with_loops_that_others_call_are_named_as_they_are() -> None:
    folder = Path(layer_loops.__file__).parent
    now = {
        name: hashlib.sha256((folder / f"{name}.py").read_bytes()).hexdigest()[:12]
        for name in layer_loops.COMPILED_WITH
    }
    assert now == layer_loops.COMPILED_WITH, "write this into layer_loops.py, so that its loops are compiled anew"
