"""Options that verbs share."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from policylearn.wording import hint

if TYPE_CHECKING:
    from policylearn.settings import RunConfig

Flag = Annotated[bool, Parameter(negative="", show_default=False)]
Output = Annotated[Path | None, Parameter(alias="-o")]
OutputPath = Annotated[Path, Parameter(alias="-o")]
Words = Annotated[tuple[str, ...], Parameter(consume_multiple=True, negative="", show_default=False)]
Numbers = Annotated[tuple[int, ...], Parameter(consume_multiple=True, negative="", show_default=False)]
SettingOptions = Annotated[Mapping[str, str] | None, Parameter(parse=False)]
GivenWords = Annotated[tuple[str, ...], Parameter(parse=False)]
SHORT_FOR = {
    **{name: f"data.{name}" for name in ("target", "smiles", "fold", "on_error")},
    **{name: f"fit.{name}" for name in ("epochs", "seed", "devices", "accelerator", "start", "freeze")},
    **{"policy": "selection.name", "picks": "selection.picks", "estimator": "selection.estimator"},
}


@Parameter(name="*")
@dataclass(frozen=True)
class RunOptions:
    """What to train: short forms of common settings."""

    target: Words = ()
    """Column(s) to predict."""
    smiles: str | None = None
    """Column of SMILES in a table."""
    policy: str | None = None
    """How nodes are picked: learned, random, full, none, degree, centrality, or a policy of your own."""
    picks: int | None = None
    """Number of nodes to mark, T."""
    estimator: str | None = None
    """How the learned policy learns: reinforce, straight_through or imle."""
    model: str | None = None
    """The system to train; 'policylearn systems' lists them."""
    epochs: int | None = None
    """Passes over the data."""
    seed: int | None = None
    """Random seed of weights, data order and picks."""
    fold: int | None = None
    """Train on this fold only."""
    on_error: Literal["raise", "skip"] | None = None
    """Raise for an invalid row of a table, or skip it."""
    devices: int | None = None
    """Number of processes or GPUs."""
    accelerator: Literal["auto", "cpu", "gpu"] | None = None
    """Device type."""
    start: Annotated[str | None, Parameter(name="--from")] = None
    """A run folder or packed file whose encoder to start from, for other data or targets."""
    freeze: Flag = False
    """With --from: train the head alone."""

    def settings(self) -> dict[str, Any]:
        """The options that were given, by the names of settings."""
        given = {one.name: getattr(self, one.name) for one in fields(self)}
        return {SHORT_FOR.get(name, name): value for name, value in given.items() if value not in (None, (), False)}


def make_config(
    dataset: str, run: RunOptions | None, settings: Mapping[str, str] | None, file: Path | None = None
) -> RunConfig:
    """The settings of a run: the paper's for this dataset and model, or those of a file, then the user's options."""
    from policylearn.settings import RunConfig, changed, read_config
    from policylearn.settings.schema import nested
    from policylearn.training.presets import fitting, run_config

    short = (run or RunOptions()).settings()
    given = {name: read_word(value) for name, value in (settings or {}).items()} | short
    base = RunConfig() if file is None else read_config(file)
    check_names(given, short, str(given.get("model", base.model)))
    if file is None:
        return run_config(dataset, given, source="the command line")
    wanted = nested(given | {"data.name": dataset})
    return changed(base.replace(system=fitting(base.system, wanted)), wanted, "the command line")


def read_word(text: str) -> Any:
    """Parse a value of the command line: YAML for lists and mappings, the text itself otherwise."""
    import yaml

    if not text.startswith(("[", "{")):
        return None if text == "null" else text
    try:
        return yaml.safe_load(text)
    except yaml.YAMLError:
        raise ValueError(f"'{text}' cannot be read; write lists as [1,2] and mappings as {{a: 1}}") from None


def check_names(given: Mapping[str, Any], short: Collection[str], model: str) -> None:
    """Raise a `ValueError` with the nearest name for a setting that neither a run nor its model has.

    Args:
        given: the settings.
        short: those that were given by their short form.
        model: the model's name.
    """
    from policylearn.cli.verbs.settings import setting_rows
    from policylearn.models import SYSTEMS
    from policylearn.settings import RunConfig

    of_model = SYSTEMS[model].settings.__struct_fields__
    typed = {setting: option for option, setting in SHORT_FOR.items() if setting in short}
    for name in given:
        if name.split(".")[0] not in {*RunConfig.__struct_fields__, *of_model}:
            if name in typed:
                way_out = f"write --system.{typed[name]}" if typed[name] in of_model else "leave one of them out"
                raise ValueError(f"--{typed[name]} is for policies, and --model {model} has none; {way_out}")
            known = [*SHORT_FOR, *(setting for setting, _, _ in setting_rows(model))]
            way_out = hint(f"--{name}", [f"--{one}" for one in known], f"'policylearn settings {model}' lists all")
            raise ValueError(f"there is no option or setting '--{name}'; {way_out}")
