# Two commands do everything: `make run` starts the chat, `make test` runs all tests.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: run test quick check install bench clean

run: install
	@$(BIN)/reverie

test: install-dev
	@$(MAKE) --no-print-directory check
	@OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2

quick: install-dev
	@OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 -m "not slow"

check: install-dev
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-cache
	@$(BIN)/python -m pytest -q tests/test_docs.py tests/test_architecture.py

bench: install-dev
	@$(BIN)/python -m benchmarks

install: $(STAMP)

install-dev: $(STAMP)-dev

$(STAMP): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "Reverie needs Python 3.11 or newer; '$(PYTHON)' is older."; \
	  echo "Next step: install one and run: make run PYTHON=python3.12"; exit 2; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); \
	  echo "Python has no venv module here."; \
	  echo "Next step on Debian/Ubuntu: sudo apt install python3-venv, then make run"; exit 2; }
	@echo "Installing Reverie into $(VENV) (once, one to two minutes) ..."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e .
	@touch $@

$(STAMP)-dev: $(STAMP) pyproject.toml
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	@touch $@

clean:
	rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache dist
