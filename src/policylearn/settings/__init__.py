"""What a run is, as typed plain values: declared, read, changed, compared and written. Nothing here needs torch."""

from policylearn.settings.choices import (
    ConvName,
    CopyPooling,
    CostBaseline,
    EstimatorName,
    GraphReadout,
    Level,
    Mode,
    NodePooling,
    NormKind,
    PolicyName,
    PoolingOrder,
    PriorName,
    RuleName,
)
from policylearn.settings.model_config import BagConfig, NetworkConfig, PolicyConfig
from policylearn.settings.parsing import ConfigError, changed, read_config, to_yaml, with_setting
from policylearn.settings.run_config import DataConfig, FitConfig, OptimConfig, RunConfig, SplitName

__all__ = [
    "BagConfig",
    "ConfigError",
    "ConvName",
    "CopyPooling",
    "CostBaseline",
    "DataConfig",
    "EstimatorName",
    "FitConfig",
    "GraphReadout",
    "Level",
    "Mode",
    "NetworkConfig",
    "NodePooling",
    "NormKind",
    "OptimConfig",
    "PolicyConfig",
    "PolicyName",
    "PoolingOrder",
    "PriorName",
    "RuleName",
    "RunConfig",
    "SplitName",
    "changed",
    "read_config",
    "to_yaml",
    "with_setting",
]
