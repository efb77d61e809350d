# `make test` needs nothing but Python 3.11 or newer; the rest comes into .venv, once.
# Set PYTHON=/path/to/python3 to choose the interpreter that .venv is made with.

SHELL := bash
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
# Never the user's own home: the demo must not touch a ledger that somebody relies on.
DEMO_HOME := $(CURDIR)/.demo-home

# A launcher on PATH may stand for an interpreter that is not there, or one without venv: run it and see.
USABLE := -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))'
PYTHON ?= $(shell for python in python3.13 python3.12 python3.11 python3; do \
	"$$python" $(USABLE) >/dev/null 2>&1 && echo "$$python" && break; done)

.DEFAULT_GOAL := help
.PHONY: help test test-slow test-browser bench demo picture lint format types build clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(firstword $(MAKEFILE_LIST))

test: lint types ## lint, types and every test that takes seconds
	$(BIN)/python -m pytest

test-slow: $(STAMP) ## the slow tests, and every property with thousands of examples
	@A2A_TRUST_HYPOTHESIS=slow $(BIN)/python -m pytest -m "slow or hypothesis" --exitfirst || { \
		code=$$?; [ $$code -eq 5 ] || exit $$code; echo "There are no slow tests yet."; }

test-browser: $(STAMP) ## the tests of the report in a browser; needs chromium (Debian: apt-get install chromium)
	$(BIN)/python -m pytest -m browser

bench: $(STAMP) ## the tables of docs/performance.md; takes a quarter of an hour and 2 GB of disk
	$(BIN)/python benchmarks/table.py

demo: $(STAMP) ## read your own session logs, else those in fixtures/, and show the ledger
	@echo "Keeping the ledger in $(DEMO_HOME)."; \
	rm -rf "$(DEMO_HOME)"; export A2A_TRUST_HOME="$(DEMO_HOME)"; \
	code=0; $(BIN)/a2a-trust backfill || code=$$?; \
	if [ $$code -eq 3 ]; then \
		echo "Reading the logs in fixtures/dsh instead."; \
		code=0; $(BIN)/a2a-trust backfill fixtures/dsh --exclude 'made-*' || code=$$?; \
	fi; \
	if [ $$code -ne 0 ] && [ $$code -ne 4 ]; then exit $$code; fi; \
	$(BIN)/a2a-trust show

picture: $(STAMP) ## draw the README's picture of the dashboard anew, from fixtures/
	$(BIN)/python docs/make_picture.py

lint: $(STAMP) ## ruff, rules and format
	$(BIN)/ruff check
	$(BIN)/ruff format --check

format: $(STAMP) ## let ruff repair what it can
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

# mypy cannot follow the import hook of an editable install, and from here it would see a2a_trust without backfill and
# dashboard. So it reads the packages as setuptools lays them out, and its messages are led back to our files.
types: $(STAMP) ## mypy, strict, over the packages as they are installed
	@rm -rf $(VENV)/types
	@PYTHONDONTWRITEBYTECODE= $(BIN)/python -c 'import setuptools; setuptools.setup()' --quiet build_py --build-lib $(VENV)/types
	@set -o pipefail; cd $(VENV)/types && ../bin/mypy --config-file ../../pyproject.toml \
		--cache-dir ../../.mypy_cache --package a2a_trust | sed -E 's#^a2a_trust/(backfill|dashboard)/#\1/#'

build: $(STAMP) ## the source distribution and, from it, the wheel, in dist/
	@rm -rf build dist
	$(BIN)/python -m build --no-isolation

clean: ## remove everything that make and the tests have made
	rm -rf $(VENV) "$(DEMO_HOME)" build dist *.egg-info .hypothesis .mypy_cache .pytest_cache .ruff_cache
	find a2a_trust backfill dashboard tests benchmarks -name __pycache__ -prune -exec rm -rf {} + 2>/dev/null || true

# Without isolation a change of pyproject.toml that needs nothing new installs offline.
$(STAMP): pyproject.toml
	@[ -n "$(PYTHON)" ] && "$(PYTHON)" $(USABLE) >/dev/null 2>&1 || { \
		echo "Python 3.11 or newer, with its venv module, was not found: set PYTHON=/path/to/python3." >&2; exit 1; }
	"$(PYTHON)" -m venv $(VENV)
	@$(BIN)/python -c 'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["build-system"]["requires"], sep="\n")' \
		> $(VENV)/build-requires.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --requirement $(VENV)/build-requires.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-build-isolation --editable '.[dev]'
	@touch $@
