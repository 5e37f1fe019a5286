# Three commands: `make try`, `make lab` and `make test`. They need Python 3.11+ with venv; packages come through uv, or through pip.
PYTHON ?= python3
VENV   ?= .venv
# for two cores: tests in a browser, and those that start processes, mostly wait
JOBS   ?= 3
UV     ?= $(shell command -v uv 2>/dev/null)
# tests start a hundred processes, and each would compile what it imports
unexport PYTHONDONTWRITEBYTECODE

COMMA := ,
WINDOWS := $(filter Windows_NT,$(OS))
BIN := $(VENV)/$(if $(WINDOWS),Scripts,bin)
RUN := $(BIN)/python$(if $(WINDOWS),.exe)
PYTEST = $(RUN) -m pytest -n $(JOBS) --dist loadfile --no-loadscope-reorder

.DEFAULT_GOAL := help
# linters and numba beside each other, then the tests, and mypy beside both; JavaScript is checked while pip installs
TOGETHER = $(MAKE) --no-print-directory -j 5 types
.PHONY: help try lab test browser exhaustive check lint javascript types loops bytecode format docs web chips homework slides sheets matrix release clean

help:  ## this list
	@sed -n 's/^\([a-z]*\):.*  ## /\1	/p' $(firstword $(MAKEFILE_LIST)) | while IFS='	' read -r name text; do printf '  make %-10s %s\n' "$$name" "$$text"; done

# OFFLINE=1 and PYODIDE=https://... as for `make web`; without them Python is brought along if its parts are here
try: $(VENV)/try.stamp  ## build the browser edition and open it: the Explorer with Python in a tab (Ctrl+C ends it)
	@$(RUN) -m tools.try_page $(if $(OFFLINE),--offline,$(if $(PYODIDE),--pyodide $(PYODIDE))) $(TRY_ARGS)

lab: $(VENV)/lab.stamp  ## create the environment and open JupyterLab on notebooks/
	JUPYTER_CONFIG_PATH="$(CURDIR)/ptxlab/cli/jupyter$${JUPYTER_CONFIG_PATH:+$(if $(WINDOWS),;,:)$$JUPYTER_CONFIG_PATH}" $(RUN) -m jupyterlab --notebook-dir=notebooks \
	  --LabApp.default_url=/lab/tree/00-start-here.ipynb $(if $(filter 0,$(shell id -u)),--allow-root) $(LAB_ARGS)  # in a container one is root

test:  ## create the environment and run ruff, mypy and the tests, all but those in a browser, long sweeps with a part of their cases (minutes)
	+@$(TOGETHER) sampled-tests

.PHONY: sampled-tests
sampled-tests: loops lint bytecode
	$(PYTEST) -m "not browser and not pyodide" $(TEST_ARGS)

browser: $(VENV)/test.stamp chromium  ## the tests in a browser: the Explorer, JupyterLab, JupyterLite, the site, Python in a tab (minutes)
	@$(MAKE) --no-print-directory loops
	$(PYTEST) -m "browser or pyodide" $(TEST_ARGS)

exhaustive: $(VENV)/test.stamp chromium  ## the tests with every case, and those that `make test` leaves out because others cover them (half an hour)
	@$(MAKE) --no-print-directory loops
	PTXLAB_EXHAUSTIVE=1 $(PYTEST) $(TEST_ARGS)

check:  ## what answers in two minutes: the linters, the type checker and the quick tests
	+@$(TOGETHER) quick-tests

.PHONY: quick-tests
quick-tests: JOBS = 2  # nothing in them waits for a browser
quick-tests: loops lint bytecode
	$(PYTEST) -q -m "not slow and not browser" $(TEST_ARGS)

lint: $(VENV)/test.stamp javascript  ## ruff, the order of imports between packages, and JavaScript
	$(RUN) -m ruff check .
	$(RUN) -m ruff format --check .
	$(BIN)/lint-imports --no-logo --no-cache

javascript: | $(RUN)  ## TypeScript, Oxlint and Oxfmt over the widgets, where npm is
	$(RUN) -S -m tools.check_javascript  # without the packages that pip may be installing

types: $(VENV)/test.stamp  ## mypy, strict on the library
	$(RUN) -m mypy

loops: $(VENV)/test.stamp  ## compile the emulator's loops with numba, once for all tests
	$(RUN) -m tools.compile_loops

bytecode: $(VENV)/test.stamp  ## compile the tests and what they import, once for all workers
	@$(RUN) -m pytest --collect-only -qq >/dev/null || $(RUN) -m pytest --collect-only -qq

format: $(VENV)/test.stamp  ## put code into the house format
	$(RUN) -m ruff check --fix .
	$(RUN) -m ruff format .

docs: $(VENV)/docs.stamp  ## update the README's table and answers and the numbers in prose, execute the notebooks and build the site into site/ (minutes)
	$(RUN) -m tools.minutes --write
	$(RUN) -m tools.readme
	$(RUN) -m tools.numbers --write
	$(RUN) -m tools.site

# PYODIDE=https://... names where Pyodide is; OFFLINE=1 brings it along, with the wheels of PTXLAB_WASM
web: $(VENV)/docs.stamp  ## the site, and with it try/ and lite/: the Explorer and the course with Python in a browser tab (OFFLINE=1 brings Python along)
	$(RUN) -m tools.readme
	$(RUN) -m tools.web $(if $(OFFLINE),--offline,$(if $(PYODIDE),--pyodide $(PYODIDE)))
	$(RUN) -m tools.lite $(if $(OFFLINE),--offline,$(if $(PYODIDE),--pyodide $(PYODIDE)))
	$(RUN) -m tools.site --web

chips: $(VENV)/test.stamp  ## compile every instruction for every chip and record the machine code for the reference (minutes, no GPU)
	$(RUN) -m tools.record sass

homework: $(VENV)/test.stamp  ## write every lesson as an nbgrader assignment, with solutions and without, into homework/
	$(RUN) -m tools.homework

slides: $(VENV)/test.stamp  ## write every figure of a lesson as SVG into slides/, e.g. make slides LESSON=05-wgmma
	$(RUN) -m tools.slides $(LESSON)

sheets: $(VENV)/test.stamp chromium  ## write cheat sheets to print (fragments, barriers, descriptors) as SVG and PDF into sheets/
	$(RUN) -m tools.sheets

.PHONY: chromium
chromium: $(VENV)/test.stamp  # found for the browser tests, or installed where apt-get can
	$(RUN) -m tools.chromium

matrix: | $(RUN)  ## the quick tests on each Python, with oldest packages and without some (half an hour; ROWS="oldest bare" for some)
	@command -v uv >/dev/null || [ -x $(BIN)/uv ] || { $(RUN) -m ensurepip && $(RUN) -m pip install --quiet uv; }
	$(RUN) -m tools.matrix $(ROWS)

release: $(VENV)/release.stamp  ## rehearse a release: what documents say once it is published, site, build, install, README's commands, lab, tests; say what is left to do
	$(RUN) -m tools.address --published
	$(RUN) -m tools.site
	rm -rf dist
	$(RUN) -m build --no-isolation
	$(RUN) -m twine check --strict dist/*
	$(RUN) -m tools.check_release $(TESTS)

clean:  ## remove the environment and caches
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis build dist site homework slides sheets

# -- the environment: one stamp for every extra that is in it -------------------------------------------------------------

$(RUN):
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "ptxlab needs Python 3.11 or newer; $(PYTHON) is `$(PYTHON) --version 2>&1`. Name another: make PYTHON=python3.12 $(MAKECMDGOALS)" >&2; exit 1; }
ifneq ($(UV),)
	$(UV) venv --quiet --clear --python "`$(PYTHON) -c 'import sys; print(sys.executable)'`" $(VENV)
else
	$(PYTHON) -m venv --clear $(VENV)
endif

$(VENV)/try.stamp: EXTRAS =
# NVIDIA's compiler is not for macOS: there Clang compiles the kernels of the lessons
$(VENV)/lab.stamp: EXTRAS = lab,$(if $(filter Darwin,$(shell uname)),clang,cuda13),fast
$(VENV)/lab.stamp: COMPILE = --compile-bytecode
# Clang takes 400 MB on disk: CI has it, elsewhere its tests skip
$(VENV)/test.stamp: EXTRAS = test$(if $(CI),$(COMMA)clang)
$(VENV)/docs.stamp: EXTRAS = docs
$(VENV)/release.stamp: EXTRAS = test,release
$(VENV)/%.stamp: pyproject.toml ptxlab/_version.py | $(RUN)
ifneq ($(UV),)
	$(UV) pip install --quiet $(COMPILE) --python $(RUN) -e ".$(if $(EXTRAS),[$(EXTRAS)])"
else
	@$(RUN) -m pip --version >/dev/null 2>&1 || $(RUN) -m ensurepip  # an environment that uv made has no pip
	@$(RUN) -m pip install --quiet --disable-pip-version-check uv || true  # installs several times as fast as pip
	@if [ -x $(BIN)/uv ] && $(BIN)/uv pip install --quiet $(COMPILE) --python $(RUN) -e ".$(if $(EXTRAS),[$(EXTRAS)])"; then :; else \
	  echo "$(RUN) -m pip install -e .$(if $(EXTRAS),[$(EXTRAS)])"; \
	  $(RUN) -m pip install --quiet --disable-pip-version-check -e ".$(if $(EXTRAS),[$(EXTRAS)])"; fi
endif
	@touch $@
