"""``policylearn export``: a run as one file that torch runs without this package."""

from __future__ import annotations

from pathlib import Path

from policylearn.cli.options import OutputPath
from policylearn.cli.printing import say
from policylearn.cli.registry import verb


@verb("export")
def export(run: Path, /, *, output: OutputPath = Path("model.pt2")) -> None:
    """Write a run as one .pt2 file, which torch runs without this package.

    Args:
        run: the run folder, or an ensemble's.
        output: the file.
    """
    from policylearn.prediction.export import export_run

    about = export_run(run, output)
    lines = [f"wrote {output}, whose answers were checked against the model's"]
    lines += [f"  takes {name}: {meaning}" for name, meaning in about["inputs"].items()]
    lines += [f"  gives {name}: {meaning}" for name, meaning in about["outputs"].items()]
    lines += [f"  leaves out {about['left_out']}"] if "left_out" in about else []
    say("\n".join(lines))
