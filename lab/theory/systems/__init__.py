"""Which graphs each published system distinguishes, beside what its paper proves."""

from lab.theory.systems.families import FAMILIES, PairFamily, load_family
from lab.theory.systems.measure import Distinguished, ExpressivityConfig, WithWeights, all_configs, measure
from lab.theory.systems.records import (
    HEADINGS,
    ExpressivityRecord,
    expressivity_rows,
    expressivity_table,
    load_expressivity,
    measure_all,
)
from lab.theory.systems.subjects import SUBJECTS, Subject, find_subject

__all__ = [
    "FAMILIES",
    "HEADINGS",
    "SUBJECTS",
    "Distinguished",
    "ExpressivityConfig",
    "ExpressivityRecord",
    "PairFamily",
    "Subject",
    "WithWeights",
    "all_configs",
    "expressivity_rows",
    "expressivity_table",
    "find_subject",
    "load_expressivity",
    "load_family",
    "measure",
    "measure_all",
]
