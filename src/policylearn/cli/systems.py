"""``policylearn systems``: what ``--model`` knows."""

from __future__ import annotations

from argparse import Namespace

from policylearn.cli.command import Command
from policylearn.cli.printing import print_table

HELP = "list the published systems that --model takes"
ABOUT = (
    "Each system is trained with 'policylearn train DATA --model NAME', on any data; where the paper's tables have it,"
    " its published settings are taken. The list says what a system is and what it needs."
)


def run(options: Namespace) -> int:
    """Print the table."""
    from rich.table import Table

    from policylearn.models import all_systems
    from policylearn.training.presets import preset_names

    presets = [name.split("/") for name in preset_names()]
    table = Table("--model", "system", "settings for", "note", title="published systems")
    for system in all_systems():
        prepared = [data for data, name in presets if name == system.name]
        table.add_row(system.name, system.title, ", ".join(prepared), system.note)
    print_table(table, 160)
    return 0


COMMAND = Command("systems", HELP, run=run, about=ABOUT)
