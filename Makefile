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
.PHONY: stress constraints clean

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
# Without an index of CPU builds the newest torch has gigabytes: pass another.
NEWEST_TORCH := torch
newest:
	$(MAKE) test VENV=.venv-newest CONSTRAINTS=/dev/null TORCH=$(NEWEST_TORCH)

# Fails below the share that pyproject.toml demands. Compiled code is left out, and
# so are tests of what lies outside of the package or runs in programs of its own.
UNTRACED := benchmarks stress test_docs_pages.py test_documents.py \
  test_examples.py test_import.py test_map_examples.py
coverage: setup
	$(PYTEST) --cov --cov-report=term-missing:skip-covered \
	  $(addprefix --ignore=tests/,$(UNTRACED))

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

# Attacks, so many seconds each at most; `--write` keeps what they found.
SECONDS := 60
stress: setup
	OMP_NUM_THREADS=1 PYTHONPATH=.:tests $(BIN)/python -m stress \
	  --seconds $(SECONDS) $(FLAGS)

# Pins all that setup, docs and scatter install, as it is released today.
FREEZE := .venv-constraints/bin/python -m pip freeze --all --exclude pip
constraints:
	rm -rf .venv-constraints
	$(MAKE) scatter .venv-constraints/.docs VENV=.venv-constraints \
	  CONSTRAINTS=/dev/null
	echo '# The exact versions that are installed and tested;' \
	  'renewed by `make constraints`.' > constraints.txt
	$(FREEZE) --exclude-editable | sed 's/+[a-z0-9]*$$//' >> constraints.txt

clean:
	rm -rf .venv .venv-lowest .venv-newest .venv-constraints
	rm -rf build dist out *.egg-info
