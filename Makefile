# Two commands do everything: `make demo` and `make test`. Both create .venv when it is not there.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed
DEMO   := $(VENV)/.demo

# Packages that only carry models or peers for side-by-side tests; their own dependencies are not needed.
CARRIERS := brax mujoco-mjx newton==1.7.0

.PHONY: demo test test-gpu lint bench docs clean
demo: $(DEMO)
	$(BIN)/python examples/demo.py

test: $(STAMP)
	$(BIN)/python -m pytest -n 2 --dist loadfile

# What needs a CUDA device; skipped, with the reason, where there is none. Without make: PYTHONPATH=src pytest -m gpu
test-gpu: $(STAMP)
	$(BIN)/python -m pytest -m gpu -rs

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/mypy

bench: $(STAMP)
	$(BIN)/python -m benchmarks

docs: $(STAMP)
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	@echo "open build/site/index.html; for the search: $(BIN)/python -m http.server -d build/site"

$(STAMP): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --editable ".[dev]"
	$(BIN)/pip install --quiet --no-deps $(CARRIERS)
	touch $@ $(DEMO)

# What the demo needs, which is much less than what the tests need.
$(DEMO): pyproject.toml
	test -d $(VENV) || $(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --editable ".[mujoco,plot,video,view]"
	touch $@

clean:
	rm -rf $(VENV) .pytest_cache .ruff_cache .mypy_cache
