# Every target makes the virtual environment that it needs; see tools/setup-venv.
.PHONY: demo test test-real lint sanitize cross wheel-test bench conformance clean
.DEFAULT_GOAL := help

VENV := .venv
BIN := $(VENV)/bin
NATIVE := $(wildcard openxr_agentic/_native/*.[ch] openxr_agentic/host/*.[ch] native_headers/*/*.h)
INSTALLED := $(VENV)/.installed
MCP1_INSTALLED := $(VENV)-mcp1/.installed

help:
	@echo "make demo      an agent calls an example app's tools; no headset needed"
	@echo "make test      run the tests"
	@echo "make test-real run those that need a real OpenXR runtime, on the one that is active"
	@echo "make lint      ruff, mypy, clang-format, and every C file with all warnings as errors"
	@echo "make sanitize  10 million random call sequences under ASan and UBSan, and threads under TSan"
	@echo "make cross     compile and link the C for every platform, by a cross compiler"
	@echo "make wheel-test build the sdist and the wheel, and test them with the sources out of the way"
	@echo "make bench     run the benchmarks"
	@echo "make conformance"
	@echo "               run the official MCP conformance suite against our server"
	@echo "make clean     remove what the others made"

$(INSTALLED): pyproject.toml setup.py openxr_agentic/_native/build.py openxr_agentic/host/manifests.py $(NATIVE)
	tools/setup-venv $(VENV) all
	touch $@

# Clients of mcp 1.x for the tests; the server needs 2.x, and one environment holds only one of them.
$(MCP1_INSTALLED): pyproject.toml | $(INSTALLED)
	$(BIN)/python -m venv --without-pip $(VENV)-mcp1
	$(BIN)/python -m pip --python $(VENV)-mcp1 install --quiet --disable-pip-version-check --group mcp1
	touch $@

demo: $(INSTALLED)
	$(BIN)/openxr-agentic demo

test: $(INSTALLED) $(MCP1_INSTALLED)
	OPENXR_AGENTIC_TEST_MCP1=$(VENV)-mcp1/bin/python $(BIN)/python -m pytest $(PYTEST_ARGS)

test-real: $(INSTALLED)
	$(BIN)/python -m pytest -m real $(PYTEST_ARGS)

lint: $(INSTALLED)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --group lint
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/clang-format --dry-run --Werror $$(git ls-files '*.c' '*.h')
	BIN=$(BIN) tools/compile-strictly

sanitize:
	tools/sanitize

cross: $(INSTALLED)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --group cross
	$(BIN)/python tools/cross.py $(CROSS_ARGS)

wheel-test: $(INSTALLED)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --group wheel
	$(BIN)/python tools/check_wheel.py $(WHEEL_ARGS)

bench: $(INSTALLED)
	$(BIN)/python -m benchmarks.callback
	$(BIN)/python -m benchmarks.imports
	$(BIN)/python -m benchmarks.registry
	$(BIN)/python -m benchmarks.mcp
	$(BIN)/python -m benchmarks.layer

conformance: $(INSTALLED)
	BIN=$(BIN) tools/conformance

clean:
	rm -rf $(VENV) $(VENV)-mcp1 build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
	rm -rf openxr_agentic/host/api_layers
	rm -f openxr_agentic/host/*.so openxr_agentic/host/*.json openxr_agentic/_native/*.so openxr_agentic/_native/_binding.c
