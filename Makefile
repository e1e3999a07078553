# `make help` lists what there is. Everything is installed under .venv, but for the servers that the tests start:
# those are kept in ~/.cache/fsspec-commit/servers (below XDG_CACHE_HOME, if it is set), for all checkouts, where
# `make clean-servers` removes them. FSSPEC_COMMIT_SERVERS=$PWD/.servers keeps them in the checkout.

.DEFAULT_GOAL := help
SHELL := bash
.SHELLFLAGS := -euo pipefail -c

PYTHON ?= python3
BIN := .venv/bin
INSTALLED := .venv/.installed

export PIP_DISABLE_PIP_VERSION_CHECK := 1
export PIP_NO_INPUT := 1
# Images with Python in them often set it, and then each of the thousands of processes that the tests start
# compiles anew what it imports of us. `make clean` removes what is compiled.
export PYTHONDONTWRITEBYTECODE :=

# Compiled by the build, into the jar for Spark.
JAVA_SOURCES := $(shell find fsspec_commit -name '*.java')

# Reinstalled only when what is asked for has changed. The build backend is installed with the development
# tools and used as it is: an isolated build would ignore the constraints.
$(INSTALLED): pyproject.toml tests/constraints.txt $(JAVA_SOURCES)
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --constraint tests/constraints.txt --upgrade pip
	$(BIN)/python -m pip install --quiet --constraint tests/constraints.txt --group dev
	$(BIN)/python -m pip install --quiet --constraint tests/constraints.txt --no-build-isolation --editable '.[arrow,cli,testing]'
	touch $@

.PHONY: help install demo demo-spark test smoke nightly servers servers-nightly docs clean clean-servers

help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## (.*)/  make \1|\2/' | column -t -s '|'

install: $(INSTALLED) ## make .venv with every development dependency, pinned

demo: $(INSTALLED) ## watch jobs commit, fail and recover on this machine
	$(BIN)/python tests/demo/run.py

demo-spark: $(INSTALLED) servers ## watch an unchanged Spark job lose an executor, then its driver (needs Java)
	$(BIN)/python -m tests.demo.spark

# Where every server runs, what the tests found must be what docs/guarantees.md says. To write it anew:
# make test TEST_OPTIONS=--guarantees=write
TEST_OPTIONS ?= $(if $(CI),--guarantees=check)

# More than there are cores: more than half of the time they wait, for servers, processes and clocks.
TEST_WORKERS ?= $(shell expr 2 '*' $$(nproc))

test: $(INSTALLED) servers ## run the tests in parallel, without the slow searches and the benchmarks
	$(BIN)/python -m pytest -n $(TEST_WORKERS) -m "not slow" --ignore=tests/benchmarks \
	  --durations=100 --durations-min=2 $(TEST_OPTIONS)

# One by one, or two at a time: make --jobs=2 --output-sync check
CHECKS := style types layers spelling packaging pages
.PHONY: check $(CHECKS)

check: $(CHECKS) ## format, lint, types, layers, spelling, packaging, documentation

style: $(INSTALLED)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

types: $(INSTALLED)
	$(BIN)/mypy

layers: $(INSTALLED)
	$(BIN)/lint-imports

spelling: $(INSTALLED)
	$(BIN)/codespell

packaging: $(INSTALLED)
	$(BIN)/validate-pyproject pyproject.toml

pages: $(INSTALLED)
	$(BIN)/sphinx-build -q -W --keep-going -n -b html docs docs/_build/html

# By each interpreter of the machine, in an environment of its own; a version that pyproject.toml names and that is
# missing is left out; where CI is set, that is a failure.
smoke: $(INSTALLED) ## try the built wheel by each Python of this machine
	$(BIN)/python -m tests.smoke --every

# Half of the time they wait: for a server that was killed, or for an answer that does not come.
NIGHTLY_WORKERS ?= $(shell expr 2 '*' $$(nproc))

# All of the searches take more than four hours of two cores, and a night has one: it runs an eighth of them, others
# each day, and a fifth of the benchmarks.
NIGHTS ?= 8
BENCHMARK_NIGHTS ?= 5
DAY := $(shell expr $$(date +%s) / 86400)
NIGHTLY_SHARE ?= $(DAY)/$(NIGHTS)
BENCHMARK_SHARE ?= $(DAY)/$(BENCHMARK_NIGHTS)

nightly: $(INSTALLED) servers-nightly ## a share of the slow searches (all: NIGHTS=1) and of the benchmarks, each Python
	$(BIN)/python -m pip install --quiet --constraint tests/constraints.txt --group nightly
	HYPOTHESIS_PROFILE=nightly $(BIN)/python -m pytest -n $(NIGHTLY_WORKERS) -m slow --share=$(NIGHTLY_SHARE) --ignore=tests/benchmarks
	$(BIN)/python -m tests.smoke --every
	$(BIN)/python -m tests.benchmarks.run_all --rounds=1 --share=$(BENCHMARK_SHARE)

# Without a toolchain a server is left out and its tests are skipped; where CI is set, that is a failure.
servers: $(INSTALLED) ## install the servers that the tests start, pinned, once (Go, Node, Java)
	$(BIN)/python -m tests.servers install

servers-nightly: $(INSTALLED) ## these and the further servers that the probe is tried on (Go, Cargo; ten minutes)
	$(BIN)/python -m tests.servers install --nightly

docs: $(INSTALLED) ## build the documentation into docs/_build/html
	$(BIN)/sphinx-build -W --keep-going -n -b html docs docs/_build/html
	@echo "open docs/_build/html/index.html"

clean: ## remove what the other targets made in this checkout, .venv included
	rm -rf .venv .servers build dist docs/_build htmlcov .coverage .coverage.* \
	  .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	find fsspec_commit stores tests docs -name __pycache__ -type d -prune -exec rm -rf {} +

clean-servers: $(INSTALLED) ## remove the installed servers, those of other checkouts, too
	$(BIN)/python -m tests.servers remove
