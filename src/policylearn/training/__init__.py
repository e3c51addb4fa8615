"""Training, evaluation, and the folder that a run leaves behind."""

from policylearn.settings.parsing import ConfigError, changed, read_config, to_yaml, with_setting
from policylearn.settings.run_config import DataConfig, FitConfig, OptimConfig, RunConfig
from policylearn.settings.run_files import RunError
from policylearn.training.data_source import Source, graphs_source, load_source
from policylearn.training.ensemble import load_members, train_ensemble
from policylearn.training.evaluation import answers, evaluate
from policylearn.training.fit import Fitted, fit
from policylearn.training.folds import Trained, train
from policylearn.training.presets import preset, run_config
from policylearn.training.reevaluation import Reevaluation, reevaluate
from policylearn.training.runs import Run, RunFacts, load_run, make_model

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
