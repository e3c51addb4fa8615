"""Start from the encoder of another run: all weights but those of the head, which is new."""

from __future__ import annotations

from pathlib import Path

from safetensors.torch import load_file
from torch import nn

from policylearn.settings.run_config import RunConfig
from policylearn.settings.run_files import WEIGHTS, RunError
from policylearn.training.packed_run import run_folder
from policylearn.training.runs import load_members

HEADS = ("head", "head1", "head2", "column_heads")
"""What systems call the modules that turn the vector of a graph into outputs."""


def config_of(path: str | Path) -> RunConfig:
    """The configuration of a run folder or packed file; of an ensemble, that of its first member."""
    with run_folder(path) as folder:
        return load_members(folder)[0].config


def start_from(model: nn.Module, path: str | Path) -> None:
    """Give a model the weights of a run's encoder (of an ensemble, the first member's), and leave its head as it is."""
    with run_folder(path) as folder:
        stored = load_file(load_members(folder)[0].folder / WEIGHTS)
    body_of(model)
    own = {name: value for name, value in model.state_dict().items() if name.split(".")[0] not in HEADS}
    for name, value in own.items():
        if name not in stored or stored[name].shape != value.shape:
            there = f"{tuple(stored[name].shape)} there" if name in stored else "not there"
            raise RunError(
                f"{path}: its encoder does not fit: '{name}' is {tuple(value.shape)} here and {there};"
                " leave out settings of the model and transforms, which are then those of that run"
            )
    model.load_state_dict({name: stored[name] for name in own}, strict=False)


def body_of(model: nn.Module) -> list[nn.Module]:
    """The parts of a model before its head, or a `RunError` where it has no head of its own."""
    parts = dict(model.named_children())
    body = [part for name, part in parts.items() if name not in HEADS]
    if len(body) == len(parts):
        raise RunError(f"a {type(model).__name__} has no head apart from its encoder, so that cannot be taken over")
    return body
