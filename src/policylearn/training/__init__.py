"""Training, evaluation, and the folder that a run leaves behind."""

from policylearn.training.again import Evaluation, evaluate_again
from policylearn.training.config import DataConfig, FitConfig, OptimConfig, RunConfig
from policylearn.training.evaluation import answers, evaluate
from policylearn.training.fit import Fitted, fit
from policylearn.training.folds import Trained, train
from policylearn.training.parsing import ConfigError, changed, read_config, to_yaml, with_setting
from policylearn.training.predictor import Answer, Predictor, load
from policylearn.training.runs import Run, RunError, RunFacts, load_run, make_model
from policylearn.training.sources import Source, load_source

__all__ = [
    "Answer",
    "ConfigError",
    "DataConfig",
    "Evaluation",
    "FitConfig",
    "Fitted",
    "OptimConfig",
    "Predictor",
    "Run",
    "RunConfig",
    "RunError",
    "RunFacts",
    "Source",
    "Trained",
    "answers",
    "changed",
    "evaluate",
    "evaluate_again",
    "fit",
    "load",
    "load_run",
    "load_source",
    "make_model",
    "read_config",
    "to_yaml",
    "train",
    "with_setting",
]
