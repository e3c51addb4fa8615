"""Which graphs each published system tells apart, beside what its paper proves."""

from policylearn.studies.theory.systems.families import FAMILIES, PairFamily, load_family
from policylearn.studies.theory.systems.measure import Telling, TellingConfig, Told, all_configs, measure_telling
from policylearn.studies.theory.systems.records import (
    TellingRecord,
    load_tellings,
    tell_all,
    telling_rows,
    telling_table,
)
from policylearn.studies.theory.systems.subjects import SUBJECTS, Proven, Subject, find_subject

__all__ = [
    "FAMILIES",
    "SUBJECTS",
    "PairFamily",
    "Proven",
    "Subject",
    "Telling",
    "TellingConfig",
    "TellingRecord",
    "Told",
    "all_configs",
    "find_subject",
    "load_family",
    "load_tellings",
    "measure_telling",
    "tell_all",
    "telling_rows",
    "telling_table",
]
