"""``policylearn systems``, and what ``train --help`` says of them."""

from __future__ import annotations

import re

import pytest

from policylearn.cli.main import main
from policylearn.models import all_systems


def test_every_system_is_listed_with_its_data(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["systems"]) == 0
    said = capsys.readouterr().out
    assert re.search(r"\bsun\b +│ SUN", said)
    assert "reddit-binary" in said
    for system in all_systems():
        assert re.search(rf"│ {re.escape(system.name)} +│", said), system.name


def test_the_help_of_train_names_all_systems(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["train", "--help"])
    said = re.sub(r"- ", "-", " ".join(capsys.readouterr().out.split()))  # lines are broken behind hyphens
    (named,) = re.findall(r"says what each is: ([a-z, -]+)\.? \(default", said)
    assert [name.strip() for name in named.split(",")] == [system.name for system in all_systems()]
