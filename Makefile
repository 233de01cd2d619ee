# Every target makes the virtual environment that it needs; see tools/setup-venv.
.PHONY: demo test lint sanitize bench conformance clean
.DEFAULT_GOAL := help

VENV := .venv
BIN := $(VENV)/bin
NATIVE := $(wildcard openxr_agentic/_native/*.[ch] openxr_agentic/host/*.[ch] native_headers/*/*.h)
INSTALLED := $(VENV)/.installed

help:
	@echo "make demo      an agent calls an example app's tools; no headset needed"
	@echo "make test      run the tests"
	@echo "make lint      ruff, mypy, clang-format, and every C file with all warnings as errors"
	@echo "make sanitize  10 million random call sequences under ASan and UBSan, and threads under TSan"
	@echo "make bench     run the benchmarks"
	@echo "make conformance"
	@echo "               run the official MCP conformance suite against our server"
	@echo "make clean     remove what the others made"

$(INSTALLED): pyproject.toml setup.py openxr_agentic/_native/build.py openxr_agentic/host/manifests.py $(NATIVE)
	tools/setup-venv $(VENV) all
	touch $@

demo: $(INSTALLED)
	$(BIN)/openxr-agentic demo

test: $(INSTALLED)
	$(BIN)/python -m pytest $(PYTEST_ARGS)

lint: $(INSTALLED)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --group lint
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/clang-format --dry-run --Werror $$(git ls-files '*.c' '*.h')
	BIN=$(BIN) tools/compile-strictly

sanitize:
	tools/sanitize

bench: $(INSTALLED)
	$(BIN)/python -m benchmarks.callback
	$(BIN)/python -m benchmarks.imports
	$(BIN)/python -m benchmarks.registry

conformance: $(INSTALLED)
	BIN=$(BIN) tools/conformance

clean:
	rm -rf $(VENV) build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
	rm -f openxr_agentic/host/*.so openxr_agentic/host/*.json openxr_agentic/_native/*.so openxr_agentic/_native/_binding.c
