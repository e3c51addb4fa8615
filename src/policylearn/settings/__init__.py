"""What a run is, as typed plain values: declared, read, changed, compared and written. Nothing here needs torch."""

from policylearn.settings.choices import (
    ConvName,
    CopyPooling,
    GraphReadout,
    Level,
    NodePooling,
    NormKind,
    PoolingOrder,
)
from policylearn.settings.run_config import (
    DataConfig,
    FitConfig,
    OptimConfig,
    RunConfig,
    SplitName,
    changed,
    read_config,
    to_yaml,
    with_setting,
)
from policylearn.settings.schema import ConfigError, Settings

__all__ = [
    "ConfigError",
    "ConvName",
    "CopyPooling",
    "DataConfig",
    "FitConfig",
    "GraphReadout",
    "Level",
    "NodePooling",
    "NormKind",
    "OptimConfig",
    "PoolingOrder",
    "RunConfig",
    "Settings",
    "SplitName",
    "changed",
    "read_config",
    "to_yaml",
    "with_setting",
]
