# make demo | test | lint | bench: each makes .venv and installs what it needs when that is missing or out of date.
# PYTHON picks the interpreter (3.11 to 3.13) that .venv is made with.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
EXTRAS := tensorboard,serve,dev
BENCHMARKS ?= batching memory step_goals time_spent
WORKERS ?= 2

# Two threads on a busy machine can be ten times slower than one, and the tests already run in several processes.
export OMP_NUM_THREADS ?= 1

# The datasets that lie next to a checkout, unless a data root is named.
ifndef POLICYLEARN_DATA
ifneq ($(wildcard ../shared/data/.),)
export POLICYLEARN_DATA := $(abspath ../shared/data)
endif
endif

.PHONY: help demo test test-ray lint bench
.DEFAULT_GOAL := help

help:
	@echo "make demo   learn to tell graphs apart that ordinary message passing cannot, and write demo/report.html (a minute, once installed)"
	@echo "make test   lint, then run all tests"
	@echo "make test-ray  install Ray too (270 MB) and run the tests that need it"
	@echo "make lint   style, types and the order of the rooms"
	@echo "make bench  python -m lab bench --quick, then python -m lab.benchmarks.NAME for $(BENCHMARKS); writes to results/bench,"
	@echo "            and says which ratios fell by more than 10 % since the last record"
	@echo "            left out: python -m lab bench (all datasets, all methods), python -m lab.benchmarks.full_bag (12 minutes of a processor)"
	@echo "            and python -m lab.benchmarks.against OLD NEW (two checkouts), python -m lab.benchmarks.ablation_table and python -m lab.benchmarks.systems_table (write them into the docs)"
	@echo "            and python -m lab.benchmarks.growth (cost against nodes, edges, picks, channels, layers and batch), python -m lab.benchmarks.startup (what commands cost before they say anything), python -m lab.benchmarks.table_to_table (beside chemprop)"
	@echo "            and python -m lab.benchmarks.scaling WORK (what each stage costs on one core, for docs/scaling.md)"
	@echo "            and python -m lab.benchmarks.service_load RUN (32 clients against policylearn serve, on loopback alone)"
	@echo "            and, on finished runs or for hours, python -m lab.benchmarks.coverage and lab.benchmarks.structures"

demo: $(READY)
	@echo "demo: train three policies on synthetic graphs and write demo/report.html"
	@$(BIN)/policylearn demo

test: lint
	@echo "test: pytest in $(WORKERS) processes, data root $(or $(POLICYLEARN_DATA),not set: tests on large data are skipped)"
	@$(BIN)/pytest -q -n $(WORKERS)

test-ray: $(READY)
	@echo "test-ray: install Ray, and run the tests that start a cluster of two cores"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[$(EXTRAS),ray]"
	@$(BIN)/pytest -q -n 0 tests/prediction/test_ray_table.py tests/training/test_ray_training.py

lint: $(READY)
	@echo "lint: style (ruff)"
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@echo "lint: types (mypy)"
	@$(BIN)/mypy
	@echo "lint: the order of the rooms (import-linter)"
	@$(BIN)/lint-imports --no-logo

bench: $(READY)
	@echo "bench: python -m lab bench --quick"
	@$(BIN)/python -m lab bench --quick -o results/bench --against $(LAST)
	@for name in $(BENCHMARKS); do echo "bench: $$name"; $(BIN)/python -m lab.benchmarks.$$name || exit 1; done

$(READY): pyproject.toml constraints.txt
	@test -x $(BIN)/python || { echo "set-up: make $(VENV) with $(PYTHON)"; $(PYTHON) -m venv $(VENV); }
	@echo "set-up: install policylearn[$(EXTRAS)] as pinned in constraints.txt (the first time this takes minutes)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[$(EXTRAS)]"
	@touch $@
