"""The tables of mjModel's and mjData's fields, against the installed MuJoCo."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import mujoco
import numpy as np
import pytest

from kinema.model.mujoco_fields import data_fields, model_arrays, model_fields, model_sizes

ROOT = Path(__file__).resolve().parents[2]
MODEL = '<mujoco><worldbody><body><joint/><geom size=".1"/><site/></body></worldbody></mujoco>'


def test_the_tables_are_those_of_the_installed_mujoco():
    assert importlib.util.find_spec("mujoco")
    run = subprocess.run([sys.executable, str(ROOT / "scripts" / "mujoco_fields.py")], capture_output=True, text=True)
    assert run.returncode == 0, run.stdout


def test_extents_give_the_shapes_of_a_model():
    model = mujoco.MjModel.from_xml_string(MODEL)
    sizes = {field.name: int(getattr(model, field.name)) for field in model_sizes() if hasattr(model, field.name)}
    for field in model_arrays():
        array = getattr(model, field.name, None)
        if isinstance(array, np.ndarray) and field.dtype != "char":
            assert array.size == int(np.prod(field.extents(sizes))), field.name


def test_references_point_at_sizes_or_other_fields():
    fields = model_fields()
    for field in fields.values():
        target = field.refers.removeprefix("by ")
        assert not target or target in fields, field.name
        assert not target or field.dtype in ("int32", "int64"), field.name


@pytest.mark.parametrize("name", ["body_invweight0", "geom_rbound", "M_colind"])
def test_derived_fields_are_marked(name):
    assert model_fields()[name].derived and not model_fields()["body_mass"].derived


def test_data_fields():
    assert data_fields()["qpos"].shape == ("nq",) and data_fields()["xmat"].shape == ("nbody", 9)
