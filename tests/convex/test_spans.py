"""On CUDA no thread goes through a whole wide world while others wait: spans of kernels, counted (cuda/spans.py)."""

import mujoco
import pytest

from .cuda.emulate import COMPILER
from .cuda.spans import spans

pytestmark = pytest.mark.skipif(COMPILER is None, reason="needs a C++ compiler")


def cloth(count: int) -> mujoco.MjModel:
    """A cloth that hangs in the air beside a robot: kernels of everything but contact."""
    return mujoco.MjModel.from_xml_string(f"""
    <mujoco>
      <option solver="CG" iterations="2" tolerance="0"><flag contact="disable"/></option>
      <worldbody>
        <flexcomp name="cloth" type="grid" dim="2" count="{count} {count} 1" spacing=".05 .05 .05" radius=".01">
          <edge equality="true"/></flexcomp>
        <body pos="0 0 1"><joint name="swing" axis="0 1 0"/><geom type="capsule" fromto="0 0 0 1 0 0" size=".1"/></body>
      </worldbody>
      <sensor><jointpos joint="swing"/><framelinacc objtype="body" objname="cloth_1"/></sensor>
    </mujoco>""")


@pytest.mark.slow
def test_four_times_the_cloth_takes_no_longer(tmp_path):
    """Both have more threads than bodies: where a kernel takes longer, a thread goes through them all."""
    small, large = (spans(cloth(count), 1, 5, tmp_path) for count in (11, 22))
    assert list(small) == list(large) and len(small) >= 3
    grown = {name: (small[name].span, large[name].span) for name in small}
    grown = {name: pair for name, pair in grown.items() if pair[1] > 2 * pair[0] + 500}
    assert not grown, {name: (pair, dict(large[name].parts)) for name, pair in grown.items()}
