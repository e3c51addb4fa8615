"""Which graphs each published system distinguishes, beside what its paper proves."""

from lab.theory.systems.measure import ExpressivityConfig, all_configs
from lab.theory.systems.records import expressivity_table, load_expressivity, measure_all

__all__ = ["ExpressivityConfig", "all_configs", "expressivity_table", "load_expressivity", "measure_all"]
