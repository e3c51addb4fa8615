"""Benchmarks: ratios of things interleaved in one run."""
