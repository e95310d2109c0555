# The commands of this project. `make help` lists them.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.DEFAULT_GOAL := help
.PHONY: help setup run test check verify lint types walls scenarios documents faults soak converge bench bench-retrieval format clean

help: ## list these commands
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-16s %s\n", $$1, $$2}'

$(READY): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	$(BIN)/python -m compileall -q coffer gitsync lanes
	touch $(READY)

setup: $(READY) ## make .venv and install Coffer with everything the tests need

run: $(READY) ## set everything up and run the daemon in the foreground
	@$(BIN)/coffer daemon run

test: $(READY) ## set everything up and pass the tests
	$(BIN)/python -m pytest

check: lint types walls scenarios documents ## lint, types, import contracts, acceptance coverage, API document, docs

verify: check test ## check and test

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(READY)
	$(BIN)/mypy

walls: $(READY)
	$(BIN)/lint-imports --no-cache

scenarios: $(READY)
	$(BIN)/python -m tests.acceptance.coverage

documents: $(READY)
	$(BIN)/python -m pytest tests/documents

faults: $(READY) ## kill, starve and damage the real daemon at every step (minutes)
	$(BIN)/python -m tests.faults

soak: $(READY) ## a thousand kills at random moments of a mixed load (long)
	$(BIN)/python -m bench.soak

converge: $(READY) ## let machines edit apart, be killed and sync, a thousand times over (long)
	$(BIN)/python -m tests.convergence --schedules 1000 --daemons 20

bench: $(READY) ## measure speed, memory and disk beside git, ripgrep and bare Python
	$(BIN)/python -m bench

bench-retrieval: $(READY) ## measure what recall finds on the retrieval sets, if they are there
	$(BIN)/python -m bench.retrieval

format: $(READY) ## rewrite the code in the house format
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean: ## remove what setup and tests made
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis
