"""Values are read by their declared types, from words and from YAML alike."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import pytest

from policylearn.wording import WrongValueError, read_value, write_value

READ: list[tuple[Any, Any, Any]] = [
    (int, "3", 3),
    (int, 3, 3),
    (float, "1e-3", 0.001),
    (float, 2, 2.0),
    (bool, "true", True),
    (bool, "False", False),
    (bool, True, True),
    (str, "3", "3"),
    (Path, "a/b", Path("a/b")),
    (Literal["a", "b"], "b", "b"),
    (Literal["a", "b"] | None, None, None),
    (int | None, "null", None),
    (str | None, "none", "none"),
    (tuple[str, ...], ["a", "b"], ("a", "b")),
    (dict[str, list[Any]], "{a.b: [1, 2]}", {"a.b": [1, 2]}),
]
REFUSED: list[tuple[Any, Any, str]] = [
    (int, "3.5", "must be a whole number (got 3.5)"),
    (int, 3.5, "must be a whole number (got 3.5)"),
    (int, True, "must be a whole number (got True)"),
    (int, None, "must be a whole number (got None)"),
    (float, "small", "must be a number (got small)"),
    (float, False, "must be a number (got False)"),
    (bool, 1, "must be true or false (got 1)"),
    (bool, "yes", "must be true or false (got yes)"),
    (str, 3, "must be text (got 3)"),
    (Literal["a", "b"] | None, "c", "must be one of a, b (got c)"),
    (tuple[str, ...], "a", "must be a list of text (got a)"),
    (tuple[str, ...], [1], "must be a list of text (got [1])"),
    (dict[str, list[Any]], "{a: [", "must be a mapping of settings to values (got {a: [)"),
    (dict[str, list[Any]], {"a": 1}, "must be a mapping of settings to values (got {'a': 1})"),
]


@pytest.mark.parametrize(("kind", "value", "read"), READ)
def test_a_value_that_fits_is_read(kind: Any, value: Any, read: Any) -> None:
    found = read_value(kind, value)
    assert found == read
    assert type(found) is type(read)


@pytest.mark.parametrize(("kind", "value", "message"), REFUSED)
def test_a_value_that_does_not_fit_is_refused_in_words(kind: Any, value: Any, message: str) -> None:
    with pytest.raises(WrongValueError) as error:
        read_value(kind, value)
    assert str(error.value) == message


def test_a_value_is_written_as_it_is_typed() -> None:
    assert [write_value(value) for value in (True, None, 0.5, ("a", "b"))] == ["true", "null", "0.5", "[a,b]"]
