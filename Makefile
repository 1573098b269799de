# Two commands for a newcomer: `make demo` and `make test`; both build on `make setup`.
PYTHON ?= python3
ARGS ?=
WORKERS ?= auto
KERNELGATE = .venv/bin/kernelgate

.PHONY: setup demo test lint clean

setup: .venv/.ready

.venv/.ready: requirements.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "kernelgate needs Python 3.11 or newer; name one with PYTHON=…"; exit 2; }
	$(PYTHON) -m venv .venv
	.venv/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.txt
	.venv/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	$(KERNELGATE) doctor --warm
	@touch $@

demo: setup
	@$(KERNELGATE) demo $(ARGS)

test: setup
	.venv/bin/python -m pytest -n $(WORKERS) $(ARGS)

lint: setup
	.venv/bin/ruff check . && .venv/bin/mypy && .venv/bin/lint-imports

clean:
	rm -rf .venv build *.egg-info
