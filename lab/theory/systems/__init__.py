"""Which graphs each published system tells apart, beside what its paper proves."""

from lab.theory.systems.families import FAMILIES, PairFamily, load_family
from lab.theory.systems.measure import Telling, TellingConfig, Told, all_configs, measure_telling
from lab.theory.systems.records import (
    TellingRecord,
    load_tellings,
    tell_all,
    telling_rows,
    telling_table,
)
from lab.theory.systems.subjects import SUBJECTS, Proven, Subject, find_subject

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
