"""Steps as CUDA takes them, threads as fibres on the CPU, against MuJoCo, in scenes that reach every kernel."""

import mujoco
import pytest

from tests.convex.cuda.emulate import COMPILER
from tests.convex.cuda.scenes import SCENES

from .dynamics import compare
from .generated import examine
from .on_fibres import FIBRES
from .scenes import scene

pytestmark = pytest.mark.skipif(COMPILER is None, reason="needs a C++ compiler")


@pytest.fixture(scope="module", autouse=True)
def kernels(tmp_path_factory):
    """Where kernels are kept, for scenes to share them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KINEMA_FIBRES", str(tmp_path_factory.mktemp("kernels")))
        yield


SINGULAR = """
<mujoco>
  <worldbody>
    <body><joint type="slide" axis="1 0 0" stiffness="1" ref=".1"/><joint type="slide" axis="0 1 0"/>
      <joint type="slide" axis="0 0 1"/><joint type="slide" axis="1 1 0"/><geom size=".1" mass="1"/></body>
  </worldbody>
</mujoco>"""


@pytest.mark.slow
def test_the_last_dof_of_a_singular_mass_matrix_is_eliminated_first():
    """Four directions of a point are one too many: where the pivot is that is nothing decides the acceleration."""
    score = compare(mujoco.MjModel.from_xml_string(SINGULAR), device=FIBRES)
    assert "qacc_smooth" in score.compared and not score.wrong


@pytest.mark.slow
def test_steps_gain_though_rounding_hides_it():
    """Constraints that contradict each other cost 1e8, of which floats tell no step; slopes do (line_search.cpp)."""
    score = examine(scene(15), quick=True, device=FIBRES)
    assert {"qacc", "rollout 10"} <= score.compared and not score.wrong


@pytest.mark.slow
@pytest.mark.parametrize("name", SCENES)
def test_steps_of_cuda_conform(name: str):
    """Contacts, rows, forces, sensors and rollouts, at the model's own iterations; the same bits in both orders."""
    m = mujoco.MjModel.from_xml_string(SCENES[name])
    score = compare(m, device=FIBRES)
    assert not score.wrong and not score.converged
    assert "xpos" in score.compared
    if m.nv:
        assert {"qacc", "rollout 1", "same bits twice"} <= score.compared
