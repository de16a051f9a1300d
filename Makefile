# One word starts everything. `make help` lists the words.

PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV ?= .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
SOURCES := proto libs services tests bench
SEED ?= 1
# Tests run side by side in so many processes; 1: one after the other. tests/side_by_side.py says what is kept apart.
# Three keep two cores busy, for most integration tests wait rather than work.
WORKERS ?= 3
SIDE_BY_SIDE := $(if $(filter-out 1,$(WORKERS)),--numprocesses $(WORKERS) --dist loadscope --no-loadscope-reorder)
DEV := .resolute/dev

.PHONY: help web-check browser venv demo gang-demo dev check format test coverage sim shrink torture attack storm integration interop bench clean \
	docker horovod deepspeed images

help:                   ## this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 22

venv: $(INSTALLED)      ## the environment everything else uses; quick once it is there

$(INSTALLED): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@# Older ones cannot install a project in place. Where pip is newer, this asks no index.
	$(BIN)/python -m pip install --quiet --disable-pip-version-check 'pip>=21.3'
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev,examples]'
	@touch $@

demo: venv              ## a cluster trains a real model while you watch
	$(BIN)/python -m resolute.deploy.demo

gang-demo: venv         ## two agents, containers, four Horovod ranks: one trial over all of them; needs Docker
	$(BIN)/python -m resolute.deploy.gang_demo

dev: venv               ## a live cluster on port 8080 and its logs, until you interrupt it
	$(BIN)/det deploy local cluster-up --cluster-name dev --data-dir $(DEV) --slots 2 --no-gpu
	@trap '$(BIN)/det deploy local cluster-down --cluster-name dev --data-dir $(DEV)' EXIT INT TERM; \
		$(BIN)/det deploy local logs --cluster-name dev --data-dir $(DEV)

web-check: venv         ## the web page: types by JSDoc, lint, unit tests of its pure parts
	$(BIN)/python -m tests.page.check

check: venv             ## lints, formats, types, allowed imports, and that generated pages are current
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy $(SOURCES)
	$(BIN)/hadolint compose/Dockerfile compose/offline/Dockerfile compose/trial/Dockerfile compose/trial/Dockerfile.cuda
	$(BIN)/codespell README.md CHANGELOG.md CONTRIBUTING.md docs changes proto libs services tests bench examples
	$(BIN)/pytest tests/test_architecture.py tests/unit/test_docs.py
	$(BIN)/python -m tests.page.check

format: venv            ## put imports and lines in order
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

test: venv              ## unit, property, contract, simulation and integration, three side by side; WORKERS=1: in turn
	$(BIN)/pytest tests --ignore tests/interop --ignore tests/browser --arrows --costs $(SIDE_BY_SIDE)

coverage: venv          ## the lines and branches of the sources that tests reach; make coverage TESTS=tests: by all of them
	rm -rf .resolute/coverage && mkdir -p .resolute/coverage
	$(BIN)/coverage run -m pytest $(or $(TESTS),tests/unit tests/property tests/contract tests/histories)
	$(BIN)/coverage combine --quiet
	$(BIN)/coverage report

sim: venv               ## the whole cluster in one process, from one seed: make sim SEED=7
	$(BIN)/python -m tests.simulation $(or $(SEED),7)

shrink: venv            ## a seed that fails, made smaller: make shrink SEED=7
	$(BIN)/python -m tests.simulation.shrink $(or $(SEED),7)

torture: venv           ## thousands of seeds, over all cores; goes on where it was stopped: make torture SEEDS=0..5000
	$(BIN)/python -m tests.simulation.torture $(or $(SEEDS),0..2000)

attack: venv            ## blows on a real cluster, drawn from a seed: make attack SEED=7 BLOWS=300
	$(BIN)/python -m tests.attack $(or $(SEED),1) --blows $(or $(BLOWS),100)

fuzz: venv              ## hostile requests to a real gateway, from a seed: make fuzz REQUESTS=10000 SEED=7
	$(BIN)/python -m tests.fuzz --requests $(or $(REQUESTS),100000) --seed $(SEED)

storm: venv             ## gateways of two versions, killed and started at random: make storm SEED=7 MINUTES=5 EVENTS=200000
	$(BIN)/python -m tests.storm $(or $(SEED),1) --minutes $(or $(MINUTES),3) --events $(or $(EVENTS),200000)

integration: venv       ## real Postgres, real NATS, real processes, stopped at unkind moments
	$(BIN)/pytest tests/integration

browser: venv           ## the web UI in a real Chromium, on a real cluster; pictures in .resolute/browser
	$(BIN)/pytest tests/browser

interop: venv           ## the public client drives our cluster
	$(BIN)/pytest tests/interop

docker:                 ## Docker, and the images tests use, on Debian or Ubuntu, as root; quick where they are
	.ci/docker

horovod: venv           ## Horovod in the environment; built in 2 to 4 minutes the first time
	.ci/horovod

deepspeed: venv         ## DeepSpeed in the environment; built in 2 to 4 minutes the first time
	.ci/deepspeed

images:                 ## the images of a cluster in containers: services, agent, trial (compose/)
	docker build -f compose/Dockerfile --target services -t resolute/services .
	docker build -f compose/Dockerfile --target agent -t resolute/agent .
	docker build -f compose/trial/Dockerfile --build-arg TORCH_INDEX -t resolute/trial:cpu .

bench: venv             ## what it costs; docs/performance.md has the figures
	$(BIN)/python -m bench

clean:                  ## forget the environment and every local cluster's data
	rm -rf $(VENV) .resolute build
