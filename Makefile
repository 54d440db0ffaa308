# The targets people and continuous integration use. `make demo` and `make test` need only
# Python 3.11 or later, pip and make; both work in .venv, which is made on first use.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
BOOKS  := $(wildcard notebooks/[0-9]*.py)
WHEEL_CHECK := import json, sys; dataset = json.load(sys.stdin); assert dataset["cells"], "no cells"

.NOTPARALLEL:
.PHONY: demo test lint types layers unit wheel format benchmark scoreboard rig-smoke clean
.PHONY: docs lab notebooks browser-test mutants digests interpreters accuracy

demo: $(VENV)/installed
	$(BIN)/simrep reproduce wan-concurrency --plot wan-concurrency.png

test: lint types layers notebooks unit docs wheel

lint: $(VENV)/tested
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/tested
	$(BIN)/mypy

layers: $(VENV)/tested
	$(BIN)/lint-imports

unit: $(VENV)/tested
	$(BIN)/pytest -n auto --dist loadfile

# The pages as HTML, build/docs/index.html. A warning is an error: a link that leads nowhere is one.
docs: $(VENV)/tested notebooks
	$(BIN)/sphinx-build -q -W --keep-going -n -c docs . build/docs

# The wheel is built from the sdist and must work alone, in a folder that knows nothing of this one.
wheel: $(VENV)/tested
	rm -rf dist
	$(BIN)/python -m build --outdir dist .
	set -e; away=$$(mktemp -d); trap 'rm -rf "$$away"' EXIT; \
	$(PYTHON) -m venv "$$away/venv"; \
	"$$away/venv/bin/pip" install --quiet --disable-pip-version-check dist/*.whl; \
	cd "$$away"; \
	"$$away/venv/bin/simrep" models; \
	"$$away/venv/bin/simrep" reproduce semisync-wan-single --json > dataset.json; \
	"$$away/venv/bin/python" -c '$(WHEEL_CHECK)' < dataset.json; \
	echo "the wheel works on its own"

# Hundreds of small random scenarios of every model end as they did before: tests/golden/.
digests: $(VENV)/tested
	$(BIN)/python tests/golden/check_random.py --jobs $(or $(JOBS),2)

format: $(VENV)/tested
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

benchmark: $(VENV)/tested
	$(BIN)/pytest tests/benchmarks --benchmark-enable -s

# What pins the engine, with every newer Python that is found (tests/interpreters.py).
interpreters:
	$(PYTHON) tests/interpreters.py

# Forty deliberate faults, one after the other: which do the tests notice? (make mutants JOBS=4)
# Those that live on are listed in tests/mutants/survivors.md.
mutants: $(VENV)/tested
	$(BIN)/python tests/mutants/run.py --jobs $(or $(JOBS),2)

# JupyterLab on the notebooks, as copies that git does not know: change in them what you like
# (make lab LAB="--no-browser --allow-root").
lab: build/copied
	$(BIN)/jupyter-lab --ServerApp.root_dir=. \
	  --LabApp.default_url=/lab/tree/$(patsubst %.py,%.ipynb,$(firstword $(BOOKS))) $(LAB)

build/copied: $(BOOKS) | $(VENV)/lab
	$(BIN)/jupytext --quiet --to ipynb $?
	mkdir -p build
	touch $@

# Executes the notebooks that have changed, two at a time: build/notebooks/.
notebooks: $(VENV)/tested
	$(BIN)/python notebooks/execute.py

# A notebook in a real browser: JupyterLab in Debian's Chromium, which is installed if it is missing.
browser-test: $(VENV)/browser
	command -v chromium > /dev/null || { \
	  test "$$(id -u)" = 0 || { echo "install Chromium: apt-get install chromium"; exit 1; }; \
	  apt-get update -q && apt-get install -q --yes chromium; }
	SIMREP_BROWSER=needed $(BIN)/pytest -rP tests/browser

# Trials of what simrep says about its own accuracy, kept in tests/accuracy/results.json.
accuracy: $(VENV)/tested
	$(BIN)/python tests/accuracy/run.py --jobs $(or $(JOBS),2)

# Predicts every dataset again, with two processes (make scoreboard JOBS=8): docs/validation/.
scoreboard: $(VENV)/installed
	$(BIN)/python docs/generate_scoreboard.py --jobs $(or $(JOBS),2)

# Three nodes of Galera for real: started, measured and removed. Needs root, or a Docker engine
# (make rig-smoke RIG="--engine docker"); docs/howto/measure-your-cluster.md names the packages.
rig-smoke: $(VENV)/rigged
	rm -rf build/rig-smoke
	case "$(RIG)" in *docker*|*--base*) ;; *) $(BIN)/simrep rig base mariadb ;; esac
	$(BIN)/simrep rig measure smoke --out build/rig-smoke $(or $(RIG),--engine netns)

clean:
	rm -f $(BOOKS:.py=.ipynb)
	rm -rf $(VENV) $(VENV)-3.* build dist *.egg-info htmlcov .coverage
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

$(VENV)/lab: pyproject.toml | $(VENV)/bin/python
	$(BIN)/pip install --quiet --disable-pip-version-check --editable '.[notebooks]'
	touch $@ $(VENV)/installed

$(VENV)/browser: pyproject.toml | $(VENV)/bin/python
	$(BIN)/pip install --quiet --disable-pip-version-check --editable '.[browser]'
	touch $@ $(VENV)/tested $(VENV)/installed
