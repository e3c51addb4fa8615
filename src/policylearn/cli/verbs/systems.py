"""``policylearn systems``: what ``--model`` knows."""

from __future__ import annotations

from policylearn.cli.printing import print_table
from policylearn.cli.registry import verb


@verb("systems")
def systems() -> None:
    """List the systems that --model takes.

    Each is trained with 'policylearn train DATA --model NAME', on any data; where the paper's tables have it, its
    published settings are taken. 'policylearn settings NAME' lists the settings of one.
    """
    from rich.table import Table

    from policylearn.models import SYSTEMS
    from policylearn.training.presets import preset_names

    presets = [name.split("/") for name in preset_names()]
    table = Table("--model", "system", "settings for", "note", title="systems")
    for name, system in SYSTEMS.items():
        prepared = [data for data, preset in presets if preset == name]
        table.add_row(name, system.title, ", ".join(prepared), system.note)
    print_table(table, 160)
