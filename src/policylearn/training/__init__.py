"""Training, evaluation, and the folder that a run leaves behind.

Names are imported when they are first asked for: what predicts should not wait for Lightning.
"""

from typing import TYPE_CHECKING

from policylearn.doors import opener

if TYPE_CHECKING:
    from policylearn.settings.parsing import ConfigError, changed, read_config, to_yaml, with_setting
    from policylearn.settings.run_config import DataConfig, FitConfig, OptimConfig, RunConfig
    from policylearn.settings.run_files import RunError
    from policylearn.training.data_source import Source, graphs_source, load_source
    from policylearn.training.ensemble import train_ensemble
    from policylearn.training.evaluation import answers, evaluate
    from policylearn.training.fitting import Fitted, fit
    from policylearn.training.folds import Trained, train
    from policylearn.training.members import load_members
    from policylearn.training.presets import preset, run_config
    from policylearn.training.reevaluation import Reevaluation, reevaluate
    from policylearn.training.runs import Run, RunFacts, load_run, make_model

HOMES = {
    "policylearn.settings.parsing": (
        "ConfigError",
        "changed",
        "read_config",
        "to_yaml",
        "with_setting",
    ),
    "policylearn.settings.run_config": (
        "DataConfig",
        "FitConfig",
        "OptimConfig",
        "RunConfig",
    ),
    "policylearn.settings.run_files": ("RunError",),
    ".data_source": (
        "Source",
        "graphs_source",
        "load_source",
    ),
    ".ensemble": ("train_ensemble",),
    ".evaluation": (
        "answers",
        "evaluate",
    ),
    ".fitting": (
        "Fitted",
        "fit",
    ),
    ".folds": (
        "Trained",
        "train",
    ),
    ".members": ("load_members",),
    ".presets": (
        "preset",
        "run_config",
    ),
    ".reevaluation": (
        "Reevaluation",
        "reevaluate",
    ),
    ".runs": (
        "Run",
        "RunFacts",
        "load_run",
        "make_model",
    ),
}
"""The names of each module that belong to the room's door."""

__getattr__ = opener(__name__, HOMES)

__all__ = [
    "ConfigError",
    "DataConfig",
    "FitConfig",
    "Fitted",
    "OptimConfig",
    "Reevaluation",
    "Run",
    "RunConfig",
    "RunError",
    "RunFacts",
    "Source",
    "Trained",
    "answers",
    "changed",
    "evaluate",
    "fit",
    "graphs_source",
    "load_members",
    "load_run",
    "load_source",
    "make_model",
    "preset",
    "read_config",
    "reevaluate",
    "run_config",
    "to_yaml",
    "train",
    "train_ensemble",
    "with_setting",
]
