# Everything nbprof needs besides python3 and make goes into .venv. A target installs what it needs once, and again
# when pyproject.toml changes.

PYTHON ?= python3
SHELL  := bash
python := .venv/bin/python

.PHONY: help demo lab test matrix bench bench-ui docs lint dist

help:
	@sed -n 's/^\([a-z-]*\):.*## /make \1	/p' Makefile

demo: .venv/.demo-stamp    ## profile a real notebook and show its reports
	@$(python) examples/demo.py

lab: .venv/.lab-stamp      ## open that notebook in JupyterLab
	@$(python) -m jupyterlab $(if $(filter 0,$(shell id -u)),--allow-root) \
	  --LabApp.default_url=/lab/tree/quickstart.ipynb examples/notebooks/quickstart.ipynb

test: .venv/.test-stamp    ## run all tests, and the core ones beside Colab's packages (ARGS="-k scope" chooses some)
	@missing=$$(bash tests/support/install_chromium.sh); $(python) -m pytest $(or $(ARGS),$(beside)); status=$$?; \
	  [ -z "$$missing" ] || echo "The browser tests were skipped: $$missing."; exit $$status
	@$(if $(ARGS),,$(python) tests/matrix/run.py --this-python colab)

matrix: | .venv/bin/pip    ## run the core tests beside every supported TensorFlow (ARGS="colab tf215" chooses some)
	@$(python) tests/matrix/run.py $(ARGS)

bench: .venv/.bench-stamp  ## measure nbprof beside its peers (ARGS="--help" shows how to choose)
	@$(python) tests/benchmarks/run.py $(ARGS)

bench-ui: .venv/.bench-stamp  ## measure the explorer beside its peers, in a browser
	@missing=$$(bash tests/support/install_chromium.sh); [ -z "$$missing" ] || { echo "Not measured: $$missing."; exit 1; }
	@$(python) tests/benchmarks/run.py explorer timeline_pixels $(ARGS)

docs: .venv/.docs-stamp    ## build the documentation into build/docs
	@NO_MKDOCS_2_WARNING=1 $(python) -m mkdocs build --strict --config-file - < docs/mkdocs.yml
	@echo "The documentation is in build/docs/index.html."

lint: .venv/.lint-stamp    ## check style, format and types
	@$(python) -m ruff check
	@$(python) -m ruff format --check
	@$(python) -m mypy

dist: .venv/.dist-stamp    ## build wheel and sdist into dist, and try the wheel where nothing else is
	@rm -rf dist
	@mkdir -p build && $(python) -m build --outdir dist > build/dist.log 2>&1 || { tail -n 20 build/dist.log; exit 1; }
	@$(python) -m twine check --strict dist/*
	@$(python) tests/matrix/try_wheel.py dist/*.whl

# The whole suite runs in a process per core, but at most four; a selection (ARGS) runs in one.
beside := --numprocesses logical --maxprocesses 4 --dist worksteal

# What each target installs, and what it prints meanwhile.

packages.demo := '.[tensorflow]' ipykernel nbclient nbconvert
packages.lab  := '.[tensorflow]' ipykernel jupyterlab
packages.test := '.[tensorflow,test]'
packages.bench := '.[tensorflow,bench]'
packages.docs := '.[docs]'
packages.lint := '.[lint]'
packages.dist := '.[dist]'

says.demo := TensorFlow and a notebook runner into .venv (one to two minutes)
says.lab  := TensorFlow and JupyterLab into .venv (one to two minutes)
says.test := TensorFlow, JupyterLab and the test tools into .venv (one to two minutes)
says.bench := TensorFlow, xprof, JupyterLab and the other peers into .venv (one to two minutes)
says.docs := mkdocs-material into .venv (half a minute)
says.lint := ruff and mypy into .venv (half a minute)
says.dist := build and twine into .venv (half a minute)

# On a terminal one moving line shows what pip is doing; its log is shown only when it fails.
.venv/.%-stamp: pyproject.toml | .venv/bin/pip
	@echo "Installing $(says.$*) ..."
	@set -o pipefail; $(python) -m pip install --progress-bar off -e $(packages.$*) 2>&1 \
	  | tee .venv/pip.log | while read -r verb what; do case "$$verb" in \
	    Collecting|Downloading|Installing) [ ! -t 1 ] || printf '\r\033[K  %s %.60s ' "$$verb" "$$what";; \
	  esac; done || { tail -n 20 .venv/pip.log; echo "pip failed; its whole log is .venv/pip.log."; exit 1; }
	@[ ! -t 1 ] || printf '\r\033[K'
	@touch $@

.venv/bin/pip:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { echo "$(old)" >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { echo "$(bare)" >&2; exit 1; }
	@$(PYTHON) -m venv .venv

found := $$($(PYTHON) --version 2>/dev/null || echo not installed)
old   := nbprof needs Python 3.11 or newer, but $(PYTHON) is $(found): try make PYTHON=python3.12.
bare  := $(PYTHON) has no venv module: install it (on Debian and Ubuntu: apt-get install python3-venv).
