# The targets people and continuous integration use. `make demo` and `make test` need only
# Python 3.11 or later, pip and make; both work in .venv, which is made on first use.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
QUIETLY := --quiet --disable-pip-version-check
BOOKS  := $(wildcard notebooks/[0-9]*.py)
# Every test and every process of a run starts a Python: it compiles modules once, whatever is set.
export PYTHONDONTWRITEBYTECODE :=
WHEEL_CHECK := import json, sys; dataset = json.load(sys.stdin); assert dataset["cells"], "no cells"

# One after the other, but for what `make test` lets run beside each other.
ifndef BESIDE
.NOTPARALLEL:
endif
.PHONY: demo test lint types layers unit long wheel format benchmark scoreboard rig-smoke clean
.PHONY: pure-wheel compiled-wheel compiled docs lessons pages lab notebooks browser-test mutants digests fuzz interpreters accuracy

# Three runs of every cell instead of five: seconds.
demo: $(VENV)/installed
	$(BIN)/simrep reproduce wan-concurrency --replications 3 --plot wan-concurrency.png

# The notebooks on two cores; then the tests on all that there are, and the rest beside them, so that
# no core waits for what needs one.
test: $(VENV)/tested
	$(MAKE) --no-print-directory notebooks
	$(MAKE) --no-print-directory --jobs 2 --output-sync=line BESIDE=1 unit docs pure-wheel types layers lint

lint: $(VENV)/tested
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/tested
	$(BIN)/mypy

layers: $(VENV)/tested
	$(BIN)/lint-imports

unit: $(VENV)/tested
	$(BIN)/pytest -n auto --dist worksteal -m "not long"

# Pages whose examples simulate for long, clusters of computers that are killed: before a release.
long: $(VENV)/tested
	$(BIN)/pytest -n auto --dist worksteal -m long

# The pages as HTML, build/docs/index.html. A warning is an error: a link that leads nowhere is one. So is a
# misspelling (pyproject.toml names words that are none), and a page that is too hard to read.
docs: $(VENV)/tested notebooks
	$(BIN)/codespell
	$(BIN)/python docs/check_pages.py
	$(BIN)/sphinx-build -q -W --keep-going -n -c docs . build/docs

# Both wheels, of plain Python and compiled for this machine: each is installed and must work alone,
# in a folder that knows nothing of this one. Their environments are made anew when what they need
# has changed.
wheel: pure-wheel compiled-wheel

# Built from the sdist.
pure-wheel: $(VENV)/tested $(VENV)-wheel/made
	rm -rf dist
	$(BIN)/python -m build --no-isolation --outdir dist .
	$(call works-alone,$(VENV)-wheel,dist/*-none-any.whl,interpreted)

# Some minutes of a C compiler. The switch is hatch's own.
compiled-wheel: $(VENV)-compiled/made
	rm -rf build/wheel
	HATCH_BUILD_HOOK_ENABLE_CUSTOM=true \
	  $(VENV)-compiled/bin/python -m build --no-isolation --wheel --outdir build/wheel .
	$(call works-alone,$(VENV)-compiled,build/wheel/*.whl,compiled)
	mkdir -p dist
	cp build/wheel/*.whl dist

define works-alone
$(1)/bin/pip install $(QUIETLY) $(2)
$(1)/bin/pip install $(QUIETLY) --force-reinstall --no-deps $(2)
set -e; bin=$(abspath $(1)/bin); away=$$(mktemp -d); trap 'rm -rf "$$away"' EXIT; \
cd "$$away"; \
"$$bin/simrep" --version | grep $(3); \
"$$bin/simrep" models; \
"$$bin/simrep" reproduce semisync-wan-single --json > dataset.json; \
"$$bin/python" -c '$(WHEEL_CHECK)' < dataset.json; \
echo "the $(3) wheel works on its own"
endef

# The tests with what the compiled wheel carries: a copy of this tree, and that unpacked over it.
compiled: compiled-wheel
	rm -rf build/tree
	mkdir -p build/tree
	tar --create --exclude='./build' --exclude='./dist' --exclude='./.*' . | tar --extract -C build/tree
	$(abspath $(VENV))-compiled/bin/python -m zipfile -e build/wheel/*.whl build/tree
	cd build/tree && $(abspath $(VENV))-compiled/bin/pytest -n auto --dist worksteal \
	  tests/golden tests/unit tests/property
	cd build/tree && PYTHONPATH=. $(abspath $(VENV))-compiled/bin/python \
	  tests/golden/check_random.py --jobs $(or $(JOBS),2)

# Hundreds of small random scenarios of every model end as they did before: tests/golden/.
digests: $(VENV)/tested
	$(BIN)/python tests/golden/check_random.py --jobs $(or $(JOBS),2)

# Ten thousand bad inputs and two thousand random runs (make fuzz JOBS=4): tests/fuzz/results.json.
fuzz: $(VENV)/tested
	$(BIN)/python tests/fuzz/run.py --write --jobs $(or $(JOBS),2)

format: $(VENV)/tested
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# CPU per transaction of every product, beside commit 5e11d09 and others, and events and calls:
# make benchmark [PAIRS=20] [BENCHMARK="--write --beside compiled=PYTHON"]
benchmark: $(VENV)/tested
	$(BIN)/python tests/benchmarks/run.py --pairs $(or $(PAIRS),3) $(BENCHMARK)
	$(if $(findstring --write,$(BENCHMARK)),$(BIN)/python docs/generate_speed.py)

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

# Runs every page as it stands (the tests run them shorter), and puts what it prints into the page:
# some minutes, and then `git diff docs README.md` tells what has changed.
pages: $(VENV)/tested
	$(BIN)/python docs/refresh_outputs.py

# Executes the notebooks that have changed, two at a time: build/notebooks/.
notebooks: $(VENV)/tested
	$(BIN)/python notebooks/execute.py

# Six lessons as static pages, with Python and simrep in them: build/lessons/index.html. Needs npm and
# node 18 or later, and fetches Pyodide (6.5 MB) and a few wheels the first time.
lessons: $(VENV)/installed
	$(BIN)/python docs/lessons/build.py $(LESSONS)

# A notebook in a real browser: JupyterLab in Debian's Chromium, which is installed if it is missing.
browser-test: $(VENV)/browser
	command -v chromium > /dev/null || { \
	  test "$$(id -u)" = 0 || { echo "install Chromium: apt-get install chromium"; exit 1; }; \
	  apt-get update -q && apt-get install -q --yes chromium; }
	$(if $(shell command -v npm),$(MAKE) --no-print-directory lessons)
	SIMREP_BROWSER=needed $(BIN)/pytest -rP tests/browser

# Trials of what simrep says about its own accuracy, kept in tests/accuracy/results.json.
accuracy: $(VENV)/tested
	$(BIN)/python tests/accuracy/run.py --jobs $(or $(JOBS),2)

# Predicts every dataset again, on all cores (make scoreboard JOBS=2): docs/validation/.
# One alone: make scoreboard DATASETS=galera-failures, which takes ten minutes.
scoreboard: $(VENV)/installed
	$(BIN)/python docs/generate_scoreboard.py $(DATASETS) $(addprefix --jobs ,$(JOBS))

# Three nodes of Galera for real: started, measured and removed; then one node of each product killed and started
# again, of MySQL's if its root file system is there. Needs root, or a Docker engine, with which nothing is killed
# (make rig-smoke RIG="--engine docker"); docs/howto/measure-your-cluster.md names the packages.
rig-smoke: $(VENV)/rigged
	rm -rf build/rig-smoke build/rig-smoke-faults
	case "$(RIG)" in *docker*|*--base*) ;; *) $(BIN)/simrep rig base mariadb ;; esac
	$(BIN)/simrep rig measure smoke --out build/rig-smoke $(or $(RIG),--engine netns)
	case "$(RIG)" in *docker*) ;; *) \
	  $(BIN)/simrep rig measure smoke-faults --out build/rig-smoke-faults/galera --system galera $(or $(RIG),--engine netns) ;; esac
	case "$(RIG)" in *docker*|*--base*) ;; *) \
	  if $(BIN)/simrep rig check --json | grep -A1 'file system with mysql' | grep -q true; then \
	    $(BIN)/simrep rig measure smoke-faults --out build/rig-smoke-faults/mysql --engine netns \
	      --system group-replication --system semisync; fi ;; esac

clean:
	rm -f $(BOOKS:.py=.ipynb)
	rm -rf $(VENV) $(VENV)-3.* $(VENV)-wheel $(VENV)-compiled build dist *.egg-info htmlcov .coverage
	rm -rf .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)-wheel/made: pyproject.toml
	$(PYTHON) -m venv --clear $(VENV)-wheel
	touch $@

$(VENV)-compiled/made: pyproject.toml
	$(PYTHON) -m venv --clear $(VENV)-compiled
	$(VENV)-compiled/bin/pip install $(QUIETLY) --editable '.[test,compiled]'
	$(VENV)-compiled/bin/pip uninstall $(QUIETLY) --yes simrep
	touch $@

$(VENV)/installed: pyproject.toml | $(VENV)/bin/python
	$(BIN)/pip install $(QUIETLY) --editable .
	$(BIN)/python -m compileall -q simrep models
	touch $@

$(VENV)/tested: pyproject.toml | $(VENV)/bin/python
	$(BIN)/pip install $(QUIETLY) --editable '.[test]'
	touch $@ $(VENV)/installed

$(VENV)/rigged: pyproject.toml | $(VENV)/bin/python
	$(BIN)/pip install $(QUIETLY) --editable '.[rig]'
	touch $@ $(VENV)/installed

$(VENV)/lab: pyproject.toml | $(VENV)/bin/python
	$(BIN)/pip install $(QUIETLY) --editable '.[notebooks]'
	touch $@ $(VENV)/installed

$(VENV)/browser: pyproject.toml | $(VENV)/bin/python
	$(BIN)/pip install $(QUIETLY) --editable '.[browser]'
	touch $@ $(VENV)/tested $(VENV)/installed
