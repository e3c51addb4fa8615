"""``policylearn embed``: a table of molecules in, the vectors of a trained model out."""

from __future__ import annotations

from pathlib import Path

from policylearn.cli.options import OutputPath
from policylearn.cli.printing import say
from policylearn.cli.registry import verb


@verb("embed")
def embed(run: Path, table: Path, /, *, output: OutputPath, smiles: str | None = None) -> int:
    """Write the vectors of graphs, which enter the head of the model.

    Rows keep their place and columns; one that cannot be read has its reason in the last column, 'error' (exit code 1),
    and NaN in .npy.

    Args:
        run: the run folder, or a packed file; members of an ensemble give their vectors side by side.
        table: molecules (.csv, .tsv, .smi, .sdf or .parquet, .gz too), or a packed .npz.
        output: .csv, .tsv, .parquet, or .npy with the vectors alone.
        smiles: the column of molecules; its name in training by default.
    """
    from policylearn.explain.run_report import load_quietly
    from policylearn.prediction.embedding import embed_file

    rows, failed, width = embed_file(load_quietly(run), table, output, smiles=smiles, workers=1)
    said = f"; {failed:,} failed" if failed else ""
    say(f"{output}: vectors of {width} numbers for {rows - failed:,} of {rows:,} rows{said}")
    return 1 if failed else 0
