"""numba compiles a function anew only when its own file changes, so loops must call those of their file alone."""

from __future__ import annotations

from types import ModuleType

import pytest
from numba.core.dispatcher import Dispatcher

from policylearn.fast import cone_loops, merge_loops, message_loops, mlp_loops


@pytest.mark.parametrize("module", [cone_loops, merge_loops, message_loops, mlp_loops])
def test_loops_call_only_those_of_their_own_file(module: ModuleType) -> None:
    loops = {name: value for name, value in vars(module).items() if isinstance(value, Dispatcher)}
    assert loops
    for loop in loops.values():
        called = [loop.py_func.__globals__.get(name) for name in loop.py_func.__code__.co_names]
        for other in called:
            assert getattr(other, "__module__", module.__name__).startswith(
                (module.__name__, "numba", "numpy", "builtins")
            )
