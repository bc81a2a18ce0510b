# Two commands set everything up: `make demo` and `make test`. Both make .venv themselves.

PYTHON := .venv/bin/python

# Else pyright asks the network whether there is a newer one.
export PYRIGHT_PYTHON_IGNORE_WARNINGS := 1

.PHONY: demo test test-vscode test-agents recordings git sandbox programs litellm-proxy peers benchmark-peers harbor eval eval-compare test-nightly endurance check docs bench pins upgrade clean
.DEFAULT_GOAL := test
.NOTPARALLEL: # two installers in one .venv

demo: .venv/.installed
	@$(PYTHON) -m pygent_ls demo

# The types take a core for half a minute: they are checked beside the tests, and told after them.
test: git sandbox .venv/.installed-dev programs litellm-proxy peers harbor
	@.ci/test

test-vscode: git sandbox .venv/.installed-dev peers
	@.ci/test-vscode

# Answers that real providers gave, replayed to the adapters; FILE=… names another file of them.
recordings: .venv/.installed-dev
	@$(PYTHON) -m tests.provider_traffic $(FILE)

# Agents that others wrote, in an editor: their recorded wires, and those that are installed in $AGENTS or build/agents.
# NAME=… runs the wires and agents whose names begin so.
test-agents: .venv/.installed-dev
	@$(PYTHON) -m tests.external_agents $(NAME)

git:
	@command -v git >/dev/null || { echo "make: git is missing: install it with your system's package manager" >&2; exit 1; }

sandbox:
	@.ci/sandbox

programs:
	@.ci/programs
	@.ci/stylua/install

litellm-proxy: .venv/.installed-dev
	@.ci/litellm-proxy

peers: .venv/.installed-dev
	@.ci/peers/install

# Agents that benchmarks/peers.py measures beside this one. `make bench` leaves out what is not installed.
benchmark-peers: .venv/.installed-dev
	@.ci/benchmark-peers/install

harbor: .venv/.installed-dev
	@.ci/harbor/install

# How many tasks the agent solves: MODEL=…, and DATASET=…, TASKS=…, VERSION=…, ENVIRONMENT=…, N_CONCURRENT=…, JOB=… and
# ARGS='…' for Harbor (docs/evaluation.md). What comes of it is in build/eval.
eval: .venv/.installed-dev harbor
	@build/harbor/bin/python -m evaluation run $(if $(MODEL),--model '$(MODEL)') $(if $(DATASET),--dataset '$(DATASET)') \
		$(if $(TASKS),--tasks '$(TASKS)') $(if $(VERSION),--version '$(VERSION)') $(if $(JOB),--job '$(JOB)') \
		$(if $(ENVIRONMENT),--environment '$(ENVIRONMENT)') $(if $(N_CONCURRENT),--n-concurrent '$(N_CONCURRENT)') -- $(ARGS)

# The results of several such runs side by side: JOBS='…' are their names.
eval-compare: harbor
	@build/harbor/bin/python -m evaluation compare $(JOBS)

# The Python tests with 500 random examples of each property instead of 15: hours.
test-nightly: git sandbox .venv/.installed-dev programs litellm-proxy peers harbor
	$(PYTHON) -m pytest -n auto --hypothesis-profile=nightly -o timeout=0

# Fuzzing, faults and a soak: HOURS=… for all parts together, PART='…' for some of them. What is collected stays in
# build/endurance.
endurance: git sandbox .venv/.installed-dev
	@case " $(or $(PART),parsers) " in *" parsers "*) .ci/atheris;; esac
	@case " $(or $(PART),faults) " in *" faults "*) .ci/faketime;; esac
	@$(PYTHON) -m tests.endurance --hours $(or $(HOURS),2) $(PART)

check: .venv/.installed-dev harbor
	.venv/bin/ruff check .
	.venv/bin/ruff format --check .
	.venv/bin/pyright
	@[ -e build/harbor-missing ] || { echo ".venv/bin/pyright -p evaluation"; .venv/bin/pyright -p evaluation; }
	.venv/bin/lint-imports

# Pages that are made from the code, and what the VS Code client has of them; a test fails when a committed one differs.
docs: .venv/.installed
	$(PYTHON) docs/generate.py
	$(PYTHON) -m clients.neovim.scripts.generate
	@if [ -x .venv/node/bin/node ]; then \
		echo "npm run generate"; PATH="$$PWD/.venv/node/bin:$$PATH" npm --silent --prefix clients/vscode run generate; \
	else \
		echo "make: clients/vscode is left as it is: .ci/vscode client brings the Node that makes its part"; \
	fi

bench: .venv/.installed
	@code=0; for each in $$(grep -l 'import write_result' benchmarks/*.py); do \
		echo "# $$each"; $(PYTHON) "$$each" || code=1; \
	done; exit $$code

# The versions that the tests have run with, for everybody: .ci/pins.txt. Run it after `make test`.
pins: .venv/.installed-dev
	$(PYTHON) .ci/pins.py >.ci/pins.new && mv .ci/pins.new .ci/pins.txt

# The newest releases that pyproject.toml allows, into .venv; then `make test pins`.
upgrade:
	@UPGRADE=1 .ci/venv '.[dev]'

clean:
	rm -rf .venv build dist

.venv/.installed: pyproject.toml .ci/venv .ci/pins.txt
	@.ci/venv .

.venv/.installed-dev: pyproject.toml .ci/venv .ci/pins.txt
	@.ci/venv '.[dev]'
