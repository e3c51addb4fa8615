"""``policylearn systems``: what ``--model`` knows."""

from __future__ import annotations

from policylearn.cli.printing import make_table, print_table
from policylearn.cli.registry import verb


@verb("systems")
def systems() -> None:
    """List the systems that --model takes.

    Each is trained with 'policylearn train DATA --model NAME', on any data; where the paper's tables have it, its
    published settings are taken. 'policylearn settings NAME' lists the settings of one.
    """
    from policylearn.models import SYSTEMS
    from policylearn.training.presets import preset_names

    presets = [name.split("/") for name in preset_names()]
    prepared = {name: ", ".join(data for data, preset in presets if preset == name) for name in SYSTEMS}
    rows = [(name, system.title, prepared[name], system.note) for name, system in SYSTEMS.items()]
    print_table(make_table(("--model", "system", "settings for", "note"), rows, "systems"), 160)
