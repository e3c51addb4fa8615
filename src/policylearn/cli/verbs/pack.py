"""``policylearn pack``: a run as one file that predicts on another machine."""

from __future__ import annotations

from pathlib import Path

from policylearn.cli.options import OutputPath
from policylearn.cli.printing import say
from policylearn.cli.registry import verb


@verb("pack")
def pack(run: Path, /, *, output: OutputPath = Path("model.plm")) -> None:
    """Write a run as one file, with a model card, that needs neither the run folder nor the data.

    'predict', 'evaluate', 'explain', 'serve', 'embed', 'info' and 'train --from' take it in place of a run folder.

    Args:
        run: the run folder, or an ensemble's.
        output: the file.
    """
    from policylearn.prediction.pack import pack_run

    files = pack_run(run, output)
    say(f"wrote {output}: {len(files)} files, {output.stat().st_size / 1e6:.1f} MB; it loads")
