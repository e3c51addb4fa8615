"""What proves the package: the paper's tables and statements, comparisons, benchmarks, and the records of all of them.

``python -m lab VERB`` from the root of the repository; nothing here is installed with the package.
"""
