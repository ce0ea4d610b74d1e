# Each target sets up what it needs in .venv; Python 3.11 is all that must be there.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV ?= .venv

.PHONY: reproduce reproduce-all docs test test-plugins results results-stacks results-control clean

# Ten minutes with setting up. Control takes hours: its runs are those that are stored here.
PAPER = gate bandit contexts mnist tokens
STORED = $(if $(wildcard docs/results/control/cells),control --stored docs/results/control)
reproduce:                         ## run, draw and check the paper; the report is results/report/report.html
	@start=$$(date +%s); $(MAKE) --no-print-directory $(VENV)/.lab && \
	left=$$((590 - $$(date +%s) + start)) && \
	if [ $$left -lt 60 ]; then left=60; echo "Setting up took nine minutes: a minute is left for runs."; fi && \
	$(VENV)/bin/delightful reproduce $(PAPER) $(STORED) --budget $${left}s

reproduce-all: $(VENV)/.lab        ## the same at the quick scale, without a budget
	$(VENV)/bin/delightful reproduce $(PAPER) --scale quick
	$(VENV)/bin/delightful report $(PAPER) $(STORED) --out results/report

docs: $(VENV)/.docs                ## the site, docs/_build/html/index.html; a broken link or a warning fails
	$(VENV)/bin/python -m sphinx --fail-on-warning --keep-going --fresh-env --quiet docs docs/_build/html

test: $(VENV)/.test                ## lint, types and tests
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy
	$(VENV)/bin/python -m pytest

# verl's dependencies do not go together with the others'. What warns here is the frameworks.
PLUGIN_TESTS = -m pytest tests/plugins tests/test_examples.py tests/test_code_blocks.py --override-ini filterwarnings=default --disable-warnings
test-plugins: $(VENV)-plugins/.ready $(VENV)-verl/.ready  ## the plug-ins, in their frameworks
	$(VENV)-plugins/bin/python $(PLUGIN_TESTS)
	$(VENV)-verl/bin/python $(PLUGIN_TESTS)

# The runs that verdicts rest on are kept in docs/results/runs. Bandits are cheap enough for the paper's scale.
RUNS = --store docs/results/runs
results: $(VENV)/.lab              ## refresh docs/results and the counts in README.md: BUDGET of machine time
	$(VENV)/bin/delightful run bandit contexts --scale paper $(RUNS)
	$(VENV)/bin/delightful reproduce $(PAPER) frictions --budget $(BUDGET) $(RUNS) --out docs/results
	$(VENV)/bin/python docs/refresh
BUDGET ?= 3h

# The plug-ins in their frameworks: small runs, kept so that they can be made in several sittings. The figures
# on stale data show what is there of the paper scale, 10 seeds of data up to 30 updates old.
STACKS = --scale paper --store docs/results/stacks
VERL = stacks/verl stacks/verl-staleness
results-stacks: $(VENV)-plugins/.ready $(VENV)-verl/.ready  ## refresh the figures of docs/plugins.md
	$(VENV)-plugins/bin/delightful run stacks $(STACKS)
	$(VENV)-verl/bin/delightful run $(VERL) $(STACKS)
	$(VENV)-plugins/bin/delightful figure stacks $(STACKS) --out docs/results/figures
	$(VENV)/bin/python docs/refresh

# Its runs are kept in docs/results/control, so that they can be made in several sittings.
CONTROL = --scale quick --store docs/results/control
results-control: $(VENV)-sac/.ready            ## refresh docs/results/control: about eight hours
	$(VENV)-sac/bin/delightful run control/tasks $(CONTROL)
	$(VENV)-sac/bin/delightful run control/baseline control/tuning control/surprisal control/external $(CONTROL)
	$(VENV)-sac/bin/delightful report control --store docs/results/control --out docs/results/control
	$(VENV)-sac/bin/python docs/refresh

clean:
	rm -rf $(VENV) $(VENV)-plugins $(VENV)-verl $(VENV)-sac docs/_build

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)
	$(VENV)/bin/pip install --quiet --upgrade pip

$(VENV)/.lab: $(VENV)/bin/python pyproject.toml
	$(VENV)/bin/pip install --quiet --editable '.[lab]'
	touch $@

$(VENV)/.docs: $(VENV)/bin/python pyproject.toml
	$(VENV)/bin/pip install --quiet --editable '.[docs]'
	touch $@ $(VENV)/.lab

$(VENV)/.test: $(VENV)/bin/python pyproject.toml
	$(VENV)/bin/pip install --quiet --editable '.[test]'
	touch $@ $(VENV)/.lab $(VENV)/.docs

$(VENV)-plugins/.ready: EXTRAS = test,trl,sb3,rllib,torchrl,control
$(VENV)-verl/.ready: EXTRAS = test,verl
$(VENV)-sac/.ready: EXTRAS = test,sac
$(VENV)-%/.ready: pyproject.toml
	$(PYTHON) -m venv $(@D)
	$(@D)/bin/pip install --quiet --upgrade pip
	$(@D)/bin/pip install --quiet --editable '.[$(EXTRAS)]'
	touch $@
