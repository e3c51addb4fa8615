"""Measurements of speed and memory, each ``python -m lab.benchmarks.NAME``."""
