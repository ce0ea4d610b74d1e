# Each target sets up what it needs in .venv; Python 3.11 is all that must be there.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV ?= .venv

.PHONY: reproduce docs test test-plugins results results-control clean

reproduce: $(VENV)/.lab            ## run, draw and check the paper; the report is results/report/report.html
	$(VENV)/bin/delightful reproduce gate bandit contexts mnist tokens  # control takes hours

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

# What is affordable on two cores: MNIST's main figures with 18 seeds in place of the paper's
# 100, about 40 minutes, its appendix at the quick scale; Token Reversal's Figure 8 as in the paper,
# its eight variants with 8 seeds and its learning rates with 6 in place of 30, its scaling with the
# quick scale's 1,000 steps and 14 seeds, all else at the quick scale. The report takes what is there.
results: $(VENV)/.lab $(VENV)-plugins/.ready $(VENV)-verl/.ready              ## refresh docs/results and the summary in README.md
	$(VENV)/bin/delightful run bandit contexts --scale paper
	$(VENV)/bin/delightful run mnist/curves mnist/limit --scale paper --seeds 18
	$(VENV)/bin/delightful run mnist --scale quick
	$(VENV)/bin/delightful run tokens/curves --scale paper
	$(VENV)/bin/delightful run tokens/variants --scale paper --seeds 8
	$(VENV)/bin/delightful run tokens/learning-rate --scale paper --seeds 6
	$(VENV)/bin/delightful run tokens/scaling --scale quick --seeds 14
	$(VENV)/bin/delightful run tokens --scale quick
	$(VENV)-plugins/bin/delightful run stacks --scale quick
	$(VENV)-verl/bin/delightful run stacks/verl --scale quick
	$(VENV)/bin/delightful report gate bandit contexts mnist tokens stacks --out docs/results
	$(VENV)/bin/python docs/refresh.py

# Its runs are kept in docs/results/control, so that they can be made in several sittings.
CONTROL = --scale quick --store docs/results/control
results-control: $(VENV)-sac/.ready            ## refresh docs/results/control: about eight hours
	$(VENV)-sac/bin/delightful run control/tasks $(CONTROL)
	$(VENV)-sac/bin/delightful run control/baseline control/tuning control/surprisal control/external $(CONTROL)
	$(VENV)-sac/bin/delightful report control --store docs/results/control --out docs/results/control
	$(VENV)-sac/bin/python docs/refresh.py

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
