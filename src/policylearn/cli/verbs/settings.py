"""``policylearn settings``: every setting of a run, and of a model."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from policylearn.cli.printing import make_table, print_table
from policylearn.cli.registry import verb

if TYPE_CHECKING:
    from policylearn.settings.schema import Settings


@verb("settings")
def settings(model: str | None = None) -> None:
    """List the settings of a run, each an option of 'train' and a key of a YAML.

    Args:
        model: a system, such as policy-learn or sun: its settings follow those of every run.
    """
    print_table(make_table(("setting", "default", "meaning"), setting_rows(model)), 160)


def setting_rows(model: str | None) -> Iterator[tuple[str, str, str]]:
    """Name, default and meaning of the settings of every run, then those of a model with its policies and rules."""
    from policylearn.settings import RunConfig

    yield from group_rows(RunConfig(), "")
    if model is None:
        return
    from policylearn.bags import RULES
    from policylearn.models import SYSTEMS
    from policylearn.policies import ESTIMATORS, POLICIES

    system = SYSTEMS[model]
    yield from group_rows(system.settings(), "")
    declared = system.settings.__struct_fields__
    if "selection" in declared:
        for name, kind in POLICIES.items():
            yield from group_rows(kind.settings(), "selection.", f" (policy {name})")
        for name, estimator in ESTIMATORS.items():
            yield from group_rows(estimator(), "selection.", f" (estimator {name})")
    if "bag" in declared:
        for name, rule in RULES.items():
            yield from group_rows(rule(), "bag.", f" (rule {name})")


def group_rows(group: Settings, prefix: str, note: str = "") -> Iterator[tuple[str, str, str]]:
    """The rows of one class of settings and of those within it."""
    from policylearn.settings.schema import docs_of, group_of, hints_of
    from policylearn.wording import write_value

    texts = docs_of(type(group))
    for name, declared in hints_of(type(group)).items():
        value, inner = getattr(group, name), group_of(declared)
        if inner is not None:
            yield from group_rows(inner() if value is None else value, f"{prefix}{name}.", note)
        else:
            shown = "" if value in (None, "", (), {}) else write_value(value)
            yield f"{prefix}{name}", shown, f"{texts.get(name, '')}{note}"
