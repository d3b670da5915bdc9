# Turnkeep's commands. `make` alone lists them; all of them work on a fresh clone.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# A file's tests stay together, because they may share a server or a whole stack.
PYTEST := $(BIN)/pytest --dist loadfile

.DEFAULT_GOAL := help
.PHONY: help run test test-long check format lock smoke bench crash soak record clients clean

help: ## List the commands
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{ printf "  make %-10s %s\n", $$1, $$2 }'

run: $(VENV)/.embedded ## Start everything on this machine and print its address
	@exec $(BIN)/python -m app dev $(ARGS)

test: $(VENV)/.dev ## Run the suite that fits five minutes
	$(PYTEST) -n 3 -m "not long"

test-long: $(VENV)/.dev ## Run the tests that `make test` leaves out
	$(PYTEST) -n 2 -m long

check: $(VENV)/.dev ## Check format, lint, imports and types
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/lint-imports
	$(BIN)/mypy

format: $(VENV)/.dev ## Format the code and fix what can be fixed
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

lock: $(VENV)/.lock ## Write requirements*.txt anew from requirements*.in
	for name in requirements requirements-embedded requirements-dev; do \
	  UV_CUSTOM_COMPILE_COMMAND="make lock" $(VENV)/lock/bin/uv pip compile -q --universal --python-version 3.11 \
	    --generate-hashes -o $$name.txt $$name.in || exit 1; \
	done

smoke: $(VENV)/.embedded ## Run one scripted sliced turn on the deployment at URL=
	@exec $(BIN)/python -m app smoke "$(URL)"

bench: $(VENV)/.dev ## Measure: PART=recovery what dies, growth what a long turn costs, or ratios to base lines
	$(BIN)/python -m bench.$(or $(PART),first_light) $(ARGS)

crash: $(VENV)/.dev ## Kill everything at every point: SEED= COUNT= reproduce a run, KILL= CASE= TIMES= a part, BUG= a seeded bug
	@exec $(BIN)/python -m tests.crash $(if $(SEED),--seed "$(SEED)") $(if $(COUNT),--count $(COUNT)) \
	  $(foreach kill,$(KILL),--kill $(kill)) $(foreach case,$(CASE),--case $(case)) $(if $(TIMES),--times $(TIMES)) $(if $(BUG),--bug $(BUG))

soak: $(VENV)/.dev ## Run 200 turns at once for SECONDS= (600) while things die, and look for what is left over
	@exec $(BIN)/python -m tests.crash.soak $(if $(SECONDS),--seconds $(SECONDS)) $(if $(SEED),--seed "$(SEED)")

record: $(VENV)/.dev ## Write golden files that are missing; existing ones are never touched
	$(BIN)/python -m tests.golden.record

clients: $(VENV)/.dev ## Drive other people's clients and write what was seen into docs/clients.md
	PYTHONPATH=clients/python/src $(BIN)/python -m tests.clients.table

clean: ## Remove the virtual environment and the caches; the state in .turnkeep stays
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# One stamp per lock: a second `make run` installs nothing, a changed lock installs what changed.
$(VENV)/.embedded $(VENV)/.dev: $(VENV)/.%: requirements-%.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "Turnkeep needs Python 3.11 or newer, and $$($(PYTHON) --version) is older." >&2; \
	  echo "Name another one: make $(MAKECMDGOALS) PYTHON=python3.12" >&2; exit 1; }
	@test -x $(BIN)/pip || $(PYTHON) -m venv $(VENV) || { \
	  echo "No virtual environment could be made. On Debian: apt install python3-venv" >&2; \
	  rm -rf $(VENV); exit 1; }
	@echo "Installing from $<"
	@$(BIN)/python -m pip install -q --disable-pip-version-check --require-hashes -r $<
	@touch $@

$(VENV)/.lock: $(VENV)/.dev
	$(PYTHON) -m venv $(VENV)/lock && $(VENV)/lock/bin/pip install -q uv
	@touch $@
