"""Datasets, tasks, splits, converters, synthetic graphs and batches."""
