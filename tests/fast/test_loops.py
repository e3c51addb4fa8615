"""numba compiles a loop anew only when its own file changes: a loop must not call those of other files."""

from __future__ import annotations

from types import ModuleType

import pytest
from numba.core.dispatcher import Dispatcher

from policylearn.fast import loops, row_loops


@pytest.mark.parametrize("module", [loops, row_loops])
def test_loops_call_only_those_of_their_own_file(module: ModuleType) -> None:
    own = [value.py_func for value in vars(module).values() if isinstance(value, Dispatcher)]
    assert own
    for loop in own:
        for called in (loop.__globals__.get(name) for name in loop.__code__.co_names):
            home = getattr(called, "__module__", module.__name__)
            assert home.startswith((module.__name__, "numba", "numpy", "builtins"))
