# The targets people and continuous integration use. `make demo` and `make test` need only
# Python 3.11 or later, pip and make; both work in .venv, which is made on first use.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
WHEEL_CHECK := import json, sys; dataset = json.load(sys.stdin); assert dataset["cells"], "no cells"

.NOTPARALLEL:
.PHONY: demo test lint types layers unit wheel format benchmark rig-smoke clean

demo: $(VENV)/installed
	$(BIN)/simrep reproduce wan-concurrency --plot wan-concurrency.png

test: lint types layers unit wheel

lint: $(VENV)/tested
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/tested
	$(BIN)/mypy

layers: $(VENV)/tested
	$(BIN)/lint-imports

unit: $(VENV)/tested
	$(BIN)/pytest

# The wheel is built from the sdist and must work alone, in a folder that knows nothing of this one.
wheel: $(VENV)/tested
	rm -rf dist
	$(BIN)/python -m build --outdir dist .
	set -e; away=$$(mktemp -d); trap 'rm -rf "$$away"' EXIT; \
	$(PYTHON) -m venv "$$away/venv"; \
	"$$away/venv/bin/pip" install --quiet --disable-pip-version-check dist/*.whl; \
	cd "$$away"; \
	"$$away/venv/bin/simrep" models; \
	"$$away/venv/bin/simrep" reproduce wan-concurrency --json > dataset.json; \
	"$$away/venv/bin/python" -c '$(WHEEL_CHECK)' < dataset.json; \
	echo "the wheel works on its own"

format: $(VENV)/tested
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

benchmark: $(VENV)/tested
	$(BIN)/pytest tests/benchmarks --benchmark-enable -s

# Three nodes of Galera for real: started, measured and removed. Needs root, or a Docker engine
# (make rig-smoke RIG="--engine docker"); docs/howto/measure-your-cluster.md names the packages.
rig-smoke: $(VENV)/rigged
	rm -rf build/rig-smoke
	case "$(RIG)" in *docker*|*--base*) ;; *) $(BIN)/simrep rig base mariadb ;; esac
	$(BIN)/simrep rig measure smoke --out build/rig-smoke $(or $(RIG),--engine netns)

clean:
	rm -rf $(VENV) build dist *.egg-info htmlcov .coverage
	rm -rf .benchmarks .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/installed: pyproject.toml | $(VENV)/bin/python
	$(BIN)/pip install --quiet --disable-pip-version-check --editable .
	touch $@

$(VENV)/tested: pyproject.toml | $(VENV)/bin/python
	$(BIN)/pip install --quiet --disable-pip-version-check --editable '.[test]'
	touch $@ $(VENV)/installed

$(VENV)/rigged: pyproject.toml | $(VENV)/bin/python
	$(BIN)/pip install --quiet --disable-pip-version-check --editable '.[rig]'
	touch $@ $(VENV)/installed
