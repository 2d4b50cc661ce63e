# `make demo` and `make test` are all a newcomer needs; both call `make setup`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check
INSTALL := $(PIP) install --quiet --constraint constraints.txt

.PHONY: setup demo test lint format docs scatter clean

setup: $(VENV)/.installed

# torch goes first and alone: a range would let pip fetch another build.
$(VENV)/.installed: pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(INSTALL) torch==2.13.0
	$(INSTALL) --editable '.[dev,plot,peers]'
	touch $@

demo: setup
	$(BIN)/python examples/ushape.py

# A process per core; threads of their own would only get in each other's way.
test: setup
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n auto --dist worksteal

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: setup
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# All pages anew: a warning in one that did not change counts, too.
docs: $(VENV)/.docs
	$(BIN)/sphinx-build -q -E -W --keep-going -d out/doctrees docs out/docs
	@echo 'the site is out/docs/index.html'

$(VENV)/.docs: $(VENV)/.installed
	$(INSTALL) --editable '.[docs]'
	touch $@

scatter: $(VENV)/.scatter

# torch-scatter imports torch in its setup.py, so no build isolation.
$(VENV)/.scatter: $(VENV)/.installed
	$(INSTALL) setuptools wheel
	$(INSTALL) --no-build-isolation torch-scatter
	touch $@

clean:
	rm -rf $(VENV) build dist out *.egg-info
