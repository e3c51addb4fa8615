"""The room's names come from where its door says."""

from __future__ import annotations

import ast
import inspect

import policylearn.data


def test_every_name_of_the_door_is_there_and_typed() -> None:
    homes = policylearn.data.HOMES
    names = [name for group in homes.values() for name in group]
    assert sorted(names) == sorted(policylearn.data.__all__)
    assert all(getattr(policylearn.data, name) is not None for name in names)
    imports = [
        node for node in ast.walk(ast.parse(inspect.getsource(policylearn.data))) if isinstance(node, ast.ImportFrom)
    ]
    typed = {node.module: {name.name for name in node.names} for node in imports}
    assert {f"policylearn.data.{module}": set(group) for module, group in homes.items()}.items() <= typed.items()
