# `make demo` and `make test` are all a newcomer needs; both call `make setup`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
CONSTRAINTS := constraints.txt
TORCH := torch==2.13.0
PIP := $(BIN)/python -m pip --disable-pip-version-check
INSTALL := $(PIP) install --quiet --constraint $(CONSTRAINTS)
# A process per core; threads of their own would only get in each other's way.
PYTEST := OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n auto --dist worksteal

.PHONY: setup demo test floors newest coverage lint format hooks docs scatter
.PHONY: clean

setup: $(VENV)/.installed

# torch goes first and alone: a range would let pip fetch another build.
$(VENV)/.installed: pyproject.toml $(CONSTRAINTS)
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(INSTALL) $(TORCH)
	$(INSTALL) --editable '.[dev,geo,osm,plot,peers]'
	touch $@

demo: setup
	$(BIN)/python examples/ushape.py

test: setup
	$(PYTEST)

# The oldest dependencies that pyproject.toml allows, in an environment apart.
floors:
	$(MAKE) test VENV=.venv-lowest CONSTRAINTS=constraints-lowest.txt

# The newest that can be installed; a new release may break this target alone.
newest:
	$(MAKE) test VENV=.venv-newest CONSTRAINTS=/dev/null TORCH=torch

# Fails below the share that pyproject.toml demands; compiled code is left out.
coverage: setup
	$(PYTEST) --cov --cov-report=term-missing:skip-covered

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: setup
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# Checks every commit like `make lint`.
hooks: setup
	$(BIN)/pre-commit install

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
	rm -rf .venv .venv-lowest .venv-newest build dist out *.egg-info
