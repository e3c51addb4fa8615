"""A verb of your own: ``policylearn --plugin my_verb.py size RUN`` prints how many weights a run has."""

from pathlib import Path

from policylearn import load
from policylearn.cli.registry import verb


@verb("size")
def size(run: Path, /, *, members: bool = False) -> None:
    """Print the number of weights of a run.

    Args:
        run: the run folder.
        members: count all members of an ensemble.
    """
    models = load(run).models
    print(sum(weight.numel() for model in models[: None if members else 1] for weight in model.parameters()))
