"""Comparisons: variants of a model over datasets and paired seeds."""
