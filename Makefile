# Everything happens in .venv; nothing else on the machine is touched.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV := .venv
BIN := $(VENV)/bin
STAMPS := $(VENV)/.stamps
WORKERS ?= 2
# Images of containers set it; each of the processes that the tests start would compile all that it imports anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help demo test test-room properties prove rivals closure closure-memkit check outputs site recording one-day \
	matrix bench faults template-release changelog dist release-check clean

help: ## Say what there is to run
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /  make \1\t/'

demo: $(STAMPS)/demo ## Run the tour: remember, page out, recall, obey a policy, plan, become a LangGraph project
	$(BIN)/memkit demo

test: $(STAMPS)/test ## Run every test that pip can install for (or those of TESTS); says what it skips
	$(BIN)/python -m pytest $(TESTS) -n $(WORKERS) --dist worksteal

test-room: $(STAMPS)/test ## Run the tests of one room (ROOM=htn) with nothing but the runtime, pytest and hypothesis
	PYTEST_DISABLE_PLUGIN_AUTOLOAD=1 HYPOTHESIS_NO_PLUGINS=1 PYTHONPATH=tests $(BIN)/python -m pytest \
		-p pytest_timeout -p _hypothesis_pytestplugin -p alone tests/$(ROOM)

properties: $(STAMPS)/test ## Run the tests of properties with examples that nobody has tried yet, and all cases of the sampled ones
	MEMKIT_PROPERTIES=new $(BIN)/python -m pytest -m "(hypothesis or sampled) and not prove" -n $(WORKERS) --dist worksteal

prove: $(STAMPS)/prove ## Set every rendered project up in an environment of its own, test, lint and type-check it there
	$(BIN)/python -m pytest -m "prove and not rivals" tests/proof -n $(WORKERS) --dist worksteal --timeout 900

rivals: $(STAMPS)/prove ## Let other tools write the files that memkit imports, each installed apart (a gigabyte; one wants Python 3.12)
	$(BIN)/python -m pytest -m rivals tests/proof -n 2 --timeout 900

closure: $(STAMPS)/closure ## Put the same questions to memkit and to other memories, each installed apart; write the report
	$(BIN)/python -m closure --share $(or $(SHARE),1) --minutes $(or $(MINUTES),inf)

closure-memkit: $(STAMPS)/closure ## The same for memkit's columns alone, with a tenth of the counts
	$(BIN)/python -m closure --memkit --jobs 3 --share $(or $(SHARE),0.1)

check: $(STAMPS)/check ## Run the linter, the type checker, the import contract and memkit's own lint
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	for project in outputs/examples/*; do ( cd $$project && $(CURDIR)/$(BIN)/ruff check --no-cache . && \
		$(CURDIR)/$(BIN)/ruff format --no-cache --check . ) || exit 1; done
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/memkit lint

outputs: $(STAMPS)/test ## Write outputs/ and rule pages again from their sources
	$(BIN)/python -m tests.written.sheets
	$(BIN)/python -m tests.written.rule_pages
	$(BIN)/python -m tests.written.settings_page
	$(BIN)/python -m tests.written.policy_page
	$(BIN)/python -m tests.written.forty_turns
	$(BIN)/python -m tests.written.thirty_sessions
	$(BIN)/python -m tests.written.examples

site: $(STAMPS)/test ## Build the documents as a site into build/site/html; a warning is an error
	$(BIN)/python -m tests.written.site

recording: $(STAMPS)/test ## Play the session of docs/chat.md and the tour on a terminal, plan and evolve; write page and pictures
	$(BIN)/python tests/chat/recording.py
	$(BIN)/python -m tests.written.tour_picture
	$(BIN)/python -m tests.written.drawings

one-day: $(STAMPS)/test ## Play one day with the vendors' programs (npm install --prefix tests/serving/others) and write its page
	$(BIN)/python -m tests.written.one_day

template-release: $(STAMPS)/test ## Keep the templates with a release of memkit, so that its projects can be updated
	$(BIN)/python -m tests.written.template_release

changelog: $(STAMPS)/test ## Gather .changes/ into CHANGELOG.md under memkit's version; only when memkit is released
	$(BIN)/python -m tests.written.changelog

dist: $(STAMPS)/prove ## Build what a release hands out into dist/: wheels, sources, and a bill of what they install
	$(BIN)/python -m tests.written.distributions

release-check: $(STAMPS)/prove ## Install a release from an index by pip, pipx and uv, and upgrade the one before, with data kept
	$(BIN)/python -m pytest -m prove tests/proof/test_release.py

matrix: $(STAMPS)/test ## Write docs/matrix.md again from a run of every target
	$(BIN)/python -m memkit.equivalence --write docs/matrix.md

bench: $(STAMPS)/bench ## Run every benchmark; takes some minutes
	for name in house startup search warm_search add serving gate policies conflicts lint gen htn hddl evolve sandbox chat turn_recall talk knowledge consolidation drop_ins backends backend_faults page writers; do \
		echo "== $$name"; $(BIN)/python benchmarks/$$name.py || exit 1; done

faults: $(STAMPS)/test ## Inject a kill, EIO and ENOSPC at every call that writes (needs strace; takes hours)
	$(BIN)/python benchmarks/faults.py

clean: ## Delete what the other targets made
	rm -rf $(VENV) dist build .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1"

$(STAMPS)/demo: $(BIN)/python pyproject.toml
	$(BIN)/python -m pip install --quiet --editable ".[langgraph]" "pytest>=8.3"
	@mkdir -p $(STAMPS) && touch $@

$(STAMPS)/test: $(BIN)/python pyproject.toml
	$(BIN)/python -m pip install --quiet --editable . --group test
	@mkdir -p $(STAMPS) && touch $@

$(STAMPS)/bench: $(BIN)/python pyproject.toml
	$(BIN)/python -m pip install --quiet --editable . --group bench
	@mkdir -p $(STAMPS) && touch $@

$(STAMPS)/closure: $(BIN)/python pyproject.toml
	$(BIN)/python -m pip install --quiet --editable ".[embeddings,langgraph,postgres,server]" --group closure
	@mkdir -p $(STAMPS) && touch $@

$(STAMPS)/check: $(BIN)/python pyproject.toml
	$(BIN)/python -m pip install --quiet --editable . --group check
	@mkdir -p $(STAMPS) && touch $@

$(STAMPS)/prove: $(BIN)/python pyproject.toml
	$(BIN)/python -m pip install --quiet --editable . --group prove
	@mkdir -p $(STAMPS) && touch $@
