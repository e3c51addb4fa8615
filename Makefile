# make demo | test | lint | docs | dist | bench: each makes .venv and installs what it needs when that is missing or out of date.
# PYTHON picks the interpreter (3.11 to 3.13) that .venv is made with.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
EXTRAS := tensorboard,serve,docs,dev
WORKERS ?= 2

# Two threads on a busy machine can be ten times slower than one, and the tests already run in several processes.
export OMP_NUM_THREADS ?= 1

# The datasets that lie next to a checkout, unless a data root is named.
ifndef POLICYLEARN_DATA
ifneq ($(wildcard ../shared/data/.),)
export POLICYLEARN_DATA := $(abspath ../shared/data)
endif
endif

.PHONY: help demo test test-ray lint docs notebooks dist bench
.DEFAULT_GOAL := help

help:
	@echo "make demo   learn to tell graphs apart that ordinary message passing cannot, and write demo/report.html (a minute, once installed)"
	@echo "make test   lint, then run all tests"
	@echo "make test-ray  install Ray too (270 MB) and run the tests that need it"
	@echo "make lint   style, types and the order of the rooms"
	@echo "make docs   build the documentation site, with checked links, into site/"
	@echo "make notebooks  run docs/notebooks again and store what they give"
	@echo "make dist   build wheel and sdist into dist/, and test them in an environment of their own"
	@echo "make bench  python -m lab bench --quick: our model against plain PyTorch and the authors' way, into bench/"
	@echo "            without --quick: all methods, and memory too"
	@echo "            python -m lab.bench.against OLD NEW      two checkouts, turn by turn"
	@echo "            python -m lab.bench.service_load RUN     32 clients against policylearn serve"
	@echo "            python -m lab.bench.page                 writes tables of results/bench into docs/performance.md"

demo: $(READY)
	@echo "demo: train three policies on synthetic graphs and write demo/report.html"
	@$(BIN)/policylearn demo

test: lint
	@echo "test: pytest in $(WORKERS) processes, data root $(or $(POLICYLEARN_DATA),not set: tests on large data are skipped)"
	@$(BIN)/pytest -q -n $(WORKERS) --dist loadfile --no-loadscope-reorder

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

docs: $(READY)
	@echo "docs: mkdocs build --strict"
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --strict -d site
	@echo "wrote site/index.html"

notebooks: $(READY)
	@$(BIN)/python -m lab.notebooks

dist: $(READY)
	@$(BIN)/pytest -q -n 0 tests/release
	@$(BIN)/python -m hatchling build -d dist

bench: $(READY)
	@echo "bench: python -m lab bench --quick"
	@$(BIN)/python -m lab bench --quick -o bench

$(READY): pyproject.toml constraints.txt
	@test -x $(BIN)/python || { echo "set-up: make $(VENV) with $(PYTHON)"; $(PYTHON) -m venv $(VENV); }
	@echo "set-up: install policylearn[$(EXTRAS)] as pinned in constraints.txt (the first time this takes minutes)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[$(EXTRAS)]"
	@touch $@
