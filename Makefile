# One word for each chore, the same for people and for CI. Everything happens inside this checkout.
#
#   make run        set up, then the main job: read a capture, move messages over a link that is cut, make tables
#   make test       set up, then all tests that need no other server
#   make check      style, strict types, import contracts, freshness of generated code, docs build
#   make interop    real brokers, started and stopped on loopback      (as root it installs what is missing)
#   make bench      ours against pamqp, pika, aiormq, in one run       (ROUNDS=9; AGAINST=COMMIT: this tree against that one)
#   make bench-spark  the data pipeline, pure and compiled, on generated captures, and a live broker  (ARGS="--octets 20000000 --sizes 1,4")
#   make fuzz       mutated captures and random frames                 (COUNT=1000000 or TIME=seconds, SEED=1)
#   make mutations  faults put into the machines one at a time: do the tests notice?  (SEED=1, TIME=seconds)
#   make soak       the long forms of the tests, bounded, resumable    (TIME=seconds)
#   make compiled   the build by mypyc, in out/compiled, for PYTHONPATH   (ARGS="--level 3"; TESTS=1, SMOKE=1: tests on it)
#   make wheels     source package, pure wheel, compiled wheels for the Pythons found, each installed and used  (ARGS="--only 3.12")
#   make docs       the manual, in site/
#   make changelog  news fragments into CHANGELOG.md                   (VERSION=x.y.z)

PYTHON  ?= python3
VENV    := .venv
BIN     := $(VENV)/bin
STAMP   := $(VENV)/.set-up
COUNT   ?=
TIME    ?=
SEED    ?=
ROUNDS  ?=
VERSION ?=
AGAINST ?=
ARGS    ?=
TESTS   ?=
SMOKE   ?=

# What Python has compiled it keeps beside the sources, whatever the shell says: else each of the hundreds of processes that tests
# start compiles it all again.
export PYTHONDONTWRITEBYTECODE :=

# A checkout that was moved or copied has a .venv that points elsewhere: set it up again.
ifneq ($(shell cat $(STAMP) 2>/dev/null),$(CURDIR))
.PHONY: $(STAMP)
endif

.PHONY: help set-up run test check bench bench-spark fuzz mutations soak interop compiled wheels docs changelog clean

help:
	@sed -n 's/^#   //p' Makefile

set-up: $(STAMP)

$(STAMP): pyproject.toml tools/chores/set-up
	@PYTHON="$(PYTHON)" VENV="$(VENV)" tools/chores/set-up -e '.[dev,report,spark]'
	@printf '%s' "$(CURDIR)" > $@

$(VENV)/.bench: $(STAMP) bench/requirements.txt
	@PYTHON="$(PYTHON)" VENV="$(VENV)" tools/chores/set-up -r bench/requirements.txt
	@touch $@

run: $(STAMP)
	@$(BIN)/python -m amqp_sansio run --tables out/run $(ARGS)

# A worker that crashes ends the run, as a failure: with a new worker in its place, loadfile waits for ever.
# Three workers on two cores: tests of servers and of Spark wait.
test: $(STAMP)
	@$(BIN)/python -m pytest -n 3 --dist loadfile --max-worker-restart 0 $(ARGS)

check: $(STAMP)
	@$(BIN)/python tools/chores/check.py

bench: $(VENV)/.bench
	@$(BIN)/python -m bench$(if $(AGAINST),.against $(AGAINST)) $(if $(ROUNDS),--rounds $(ROUNDS)) $(ARGS)

bench-spark: $(STAMP)
	@$(BIN)/python -m tools.compiled || [ $$? -eq 75 ]
	@$(BIN)/python -m bench.pipeline $(ARGS)

$(VENV)/.fuzz: $(STAMP)
	@PYTHON="$(PYTHON)" VENV="$(VENV)" tools/chores/set-up -e '.[fuzz]' || echo "fuzz: atheris is not to be had here: nothing is guided"
	@rm -f .not-run
	@touch $@

fuzz: $(VENV)/.fuzz
	@$(BIN)/python -m fuzz $(if $(COUNT),--count $(COUNT)) $(if $(TIME),--seconds $(TIME)) $(if $(SEED),--seed $(SEED)) $(ARGS)

mutations: $(STAMP)
	@$(BIN)/python -m tools.mutations $(if $(TIME),--seconds $(TIME)) $(if $(SEED),--seed $(SEED)) $(ARGS)

soak: $(STAMP)
	@$(BIN)/python tools/chores/soak.py $(if $(TIME),--seconds $(TIME)) $(ARGS)

interop: $(STAMP)
	@$(BIN)/python -m tools.interop $(ARGS)

compiled: $(STAMP)
	@$(BIN)/python -m tools.compiled $(if $(TESTS),--test) $(if $(SMOKE),--smoke) $(ARGS)

wheels: $(STAMP)
	@$(BIN)/python -m tools.wheels $(ARGS)

docs: $(STAMP)
	@NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --quiet --strict

changelog: $(STAMP)
	@test -n "$(VERSION)" || { echo "make changelog: VERSION=x.y.z is missing" >&2; exit 1; }
	@$(BIN)/python tools/chores/changelog.py $(VERSION)

clean:
	rm -rf $(VENV) site out build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
