# Two commands do everything: `make demo` and `make test`. Both create .venv when it is not there.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed
DEMO   := $(VENV)/.demo

# The oldest versions of everything that pyproject.toml allows, on the oldest Python that is here and has MuJoCo.
OLDEST   := .venv-oldest
OLDEST_PYTHON ?= python3.11
OLDEST_TESTS := tests/test_arrays.py tests/test_devices.py tests/test_draws.py tests/test_engine.py \
	tests/test_errors.py tests/mjcf/test_attachment.py tests/mjcf/test_attribute.py tests/mjcf/test_element.py \
	tests/mjcf/test_keyframe.py tests/mjcf/test_lenient.py tests/mjcf/test_schema.py tests/mjcf/test_traversal_utils.py \
	tests/mjcf/test_units.py tests/resources tests/plugins/test_config.py tests/plugins/test_registry.py \
	tests/simulation/test_named.py tests/render/test_renderer.py tests/viewer/test_scene.py \
	tests/viewer/test_surface.py tests/compile/test_attach.py tests/envs/test_autoreset.py

# Packages that only carry models or peers for side-by-side tests; their own dependencies are not needed.
CARRIERS := brax mujoco-mjx newton==1.7.0 newton-usd-schemas

.PHONY: demo test test-gpu test-oldest lint bench docs gallery clean
demo: $(DEMO)
	$(BIN)/python examples/demo.py

# What takes longest begins first (tests/conftest.py), so that both workers end together.
test: $(STAMP)
	$(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder

# What needs a CUDA device; skipped, with the reason, where there is none. Without make: PYTHONPATH=src pytest -m gpu
test-gpu: $(STAMP)
	$(BIN)/python -m pytest -m gpu -rs

test-oldest: $(OLDEST)/.installed
	PYTHONPATH=src $(OLDEST)/bin/python -m pytest $(OLDEST_TESTS)

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/mypy

bench: $(STAMP)
	$(BIN)/python -m benchmarks

docs: $(STAMP)
	$(BIN)/python -m zensical build --strict
	@echo "open build/site/index.html; for the search: $(BIN)/python -m http.server -d build/site"

$(STAMP): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --editable ".[dev]"
	$(BIN)/pip install --quiet --no-deps $(CARRIERS)
	touch $@ $(DEMO)

gallery: $(STAMP)
	$(BIN)/python scripts/gallery.py

$(OLDEST)/.installed: pyproject.toml scripts/oldest.py
	$(OLDEST_PYTHON) -m venv $(OLDEST)
	$(OLDEST)/bin/pip install --quiet $$($(OLDEST_PYTHON) scripts/oldest.py mujoco resources view video rl) pytest hypothesis
	touch $@

# What the demo needs, which is much less than what the tests need.
$(DEMO): pyproject.toml
	test -d $(VENV) || $(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --editable ".[mujoco,plot,video,view]"
	touch $@

clean:
	rm -rf $(VENV) $(OLDEST) .pytest_cache .ruff_cache .mypy_cache
