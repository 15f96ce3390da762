# `make` alone prints this list; every other target does its own set-up.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
# Dozens of processes are started here, and all but the first would read our modules from the text again.
unexport PYTHONDONTWRITEBYTECODE

VENV := .venv
PY := $(VENV)/bin/python
READY := $(VENV)/.ready
CLASSES := $(VENV)/spark-classes.jsa
PACKAGES := $(VENV)/.packages
WORKERS ?= 2
ROW ?=
KILLS ?= 300
SEED ?= 0
STEPS ?= 100000
SPARK_STEPS ?= 2000
FUZZ ?= 100000
SOAKS := $(CURDIR)/$(VENV)/soaks
CHECKED := $(VENV)/checked-kernels
SPARKS ?= 4.1 4.3
ARGS ?=

.PHONY: help
help: ## Show this list (the default)
	@echo "skyband: continuous top-k queries over data streams"
	@echo
	@awk -F ':.*## ' '/^[a-z][a-z-]*:.*## / { printf "  make %-8s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
	@echo
	@echo "demo and test need Python 3.11 or newer and nothing else: they set up $(VENV) and look for Java themselves."

.PHONY: setup
setup: $(READY) ## Create .venv from requirements.lock (the other targets do it when it is needed)

$(READY): requirements.lock pyproject.toml scripts/setup.sh scripts/python.sh
	@scripts/setup.sh $(VENV)
	@touch $@

.PHONY: warm
warm: $(READY) ## Compile the kernels of all engines now, on all cores, instead of when each is first used
	@$(VENV)/bin/skyband warm $(ARGS)

.PHONY: demo
demo: $(READY) ## Watch the live lists of a simulated market in the terminal
	@JAVA_HOME="$$(scripts/java.sh)" || true; \
	  [ -z "$$JAVA_HOME" ] || export JAVA_HOME; \
	  exec $(VENV)/bin/skyband demo $(ARGS)

# What each test would do for itself, and two at a time the same, is done beforehand: all cores are busy with it.
.PHONY: test
test: $(READY) ## Run everything: check, plain, and all tests
	@$(MAKE) --no-print-directory -j 5 $(PACKAGES) check warm plain $(CLASSES) ARGS=
	@JAVA_HOME="$$(scripts/java.sh)"; export JAVA_HOME; \
	  $(PY) -m pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder $(ARGS)

.PHONY: plain
plain: $(READY) ## Run the small tests without the JIT
	NUMBA_DISABLE_JIT=1 $(PY) -m pytest -m nojit -q $$(grep -rlw --include='test_*.py' nojit tests)

$(CLASSES): tests/class_archive.py $(READY)
	@JAVA_HOME="$$(scripts/java.sh)"; export JAVA_HOME; \
	  $(PY) -m tests.class_archive >/dev/null 2>&1 || echo "Spark's classes could not be archived: JVMs start slower"

$(PACKAGES): tests/packages.py $(READY)
	@JAVA_HOME="$$(scripts/java.sh)"; export JAVA_HOME; \
	  $(PY) -m tests.packages >/dev/null 2>&1 || echo "not all of Maven's packages could be fetched: tests ask once more"
	@touch $@

.PHONY: thorough
thorough: $(READY) $(CLASSES) ## Ask Hypothesis for all cases a test is worth, or some times as many (make thorough TIMES=10)
	@JAVA_HOME="$$(scripts/java.sh)"; export JAVA_HOME; \
	  SKYBAND_SHARE=$(or $(TIMES),1) $(PY) -m pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder \
	  $$(grep -rlw --include='test_*.py' examples tests) $(ARGS)

.PHONY: chaos
chaos: $(READY) $(CLASSES) ## Kill streaming jobs and parts of them 300 times in all, and compare their rows (slow; make chaos KILLS=40 SEED=7)
	@JAVA_HOME="$$(scripts/java.sh)"; export JAVA_HOME; \
	  SKYBAND_KILLS=$(KILLS) SKYBAND_SEED=$(SEED) $(PY) -m pytest -s tests/spark/test_crash.py $(ARGS)

.PHONY: lives
lives: $(READY) ## Lead a Monitor, and jobs on Spark, through random steps of records, deletes, queries and restarts (make lives STEPS=1000 SPARK_STEPS=60)
	@SKYBAND_STEPS=$(STEPS) $(PY) -m pytest tests/monitor/test_lives.py $(ARGS)
	@JAVA_HOME="$$(scripts/java.sh)"; export JAVA_HOME; \
	  SKYBAND_SPARK_STEPS=$(SPARK_STEPS) SKYBAND_SEED=$(SEED) $(PY) -m pytest -s tests/spark/test_lives.py $(ARGS)

.PHONY: fuzz
fuzz: $(READY) ## Read damaged snapshots, made-up texts, odd records into every sink, 100,000 of each (make fuzz FUZZ=1000 SEED=7)
	@JAVA_HOME="$$(scripts/java.sh)"; export JAVA_HOME; \
	  SKYBAND_FUZZ=$(FUZZ) SKYBAND_SEED=$(SEED) $(PY) -m pytest -s tests/fuzz tests/spark/odd_records.py $(ARGS)

.PHONY: soak
soak: $(READY) ## Two hours of a Spark stream and a thousand million records through a Monitor: what grows (slow)
	@JAVA_HOME="$$(scripts/java.sh)"; export JAVA_HOME; \
	  SKYBAND_SOAK_FOLDER=$(SOAKS)/$$(date +%Y%m%dT%H%M%S) \
	  SKYBAND_SOAK_RECORDS=$(or $(RECORDS),1000000000) SKYBAND_SOAK_SECONDS=$(or $(SECONDS),7200) \
	  $(PY) -m pytest -s tests/soak $(ARGS)

# Numba's cache does not ask whether bounds are checked: machine code that checks them is kept apart.
.PHONY: bounds
bounds: $(READY) ## Run the engines' tests with kernels that check every index (slow: all are compiled anew)
	@mkdir -p -m 700 $(CHECKED)
	NUMBA_BOUNDSCHECK=1 NUMBA_CACHE_DIR=$(CHECKED) $(PY) -m pytest -q tests/engines tests/monitor/test_stored.py \
	  --deselect tests/engines/test_kernel_cache.py --deselect tests/engines/test_kernel_folder.py \
	  --deselect tests/engines/test_kernel_dispatch.py $(ARGS)

.PHONY: audit
audit: $(READY) ## pip-audit over requirements.lock; fails where the advisory service knows a package's bug, or nothing of it
	@$(VENV)/bin/uvx pip-audit --strict --disable-pip --require-hashes -r requirements.lock $(ARGS)

.PHONY: poisoned
poisoned: $(READY) ## One record of the future in each of many streams: no other row changes (slow; STREAMS=10000 SPARK_STREAMS=200)
	@JAVA_HOME="$$(scripts/java.sh)"; export JAVA_HOME; \
	  POISONED_STREAMS=$(or $(STREAMS),10000) POISONED_STREAMS_ON_SPARK=$(or $(SPARK_STREAMS),200) \
	  $(PY) -m pytest tests/monitor/test_future.py tests/spark/test_future.py -k "poisoned_record or poisoned_streams" $(ARGS)

.PHONY: smoke
smoke: ## Try Spark 4.1 and 4.3, which are not locked, each in an environment of its own (make smoke SPARKS=4.1)
	@scripts/smoke.sh $(SPARKS)

.PHONY: check
check: $(READY) ## Lint, format, types (strict), and who may import whom
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy
	$(VENV)/bin/lint-imports

.PHONY: format
format: $(READY) ## Put the code into shape
	$(VENV)/bin/ruff check --fix .
	$(VENV)/bin/ruff format .

.PHONY: bench
bench: $(READY) ## Measure, print a table, write bench/results/ (one row: make bench ROW=name)
	@JAVA_HOME="$$(scripts/java.sh)" || true; \
	  [ -z "$$JAVA_HOME" ] || export JAVA_HOME; \
	  $(PY) -m bench $(ROW) $(ARGS)

.PHONY: lock
lock: ## Write requirements.lock anew from pyproject.toml (newer versions: make lock ARGS=--upgrade)
	@[ -x $(VENV)/bin/uv ] || $(MAKE) setup
	$(VENV)/bin/uv pip compile pyproject.toml --extra spark --extra dev --no-config --universal --python-version 3.11 \
	  --fork-strategy fewest --generate-hashes --custom-compile-command "make lock" -q -o requirements.lock $(ARGS)
	@! grep -nE '://|^ *-[^-]|^ *--[^h]|file:' requirements.lock || { echo "an address got into requirements.lock" >&2; exit 1; }

.PHONY: clean
clean: ## Remove .venv, caches and build products
	rm -rf $(VENV) .venv-spark-* build dist .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis src/*.egg-info
	find src tests bench scripts -name __pycache__ -type d -prune -exec rm -rf {} +
