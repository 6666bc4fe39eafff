"""What plugins show when a picture is made: asked once for each instance, never while stepping."""

import numpy as np
import pytest
import warp as wp

from kinema import Simulation
from kinema.errors import PluginError
from kinema.plugins import ActuatorInput, plugin, shown_by_plugins, unregister
from kinema.plugins.visual import ramp
from tests.plugins import samples  # noqa: F401 (registers plugins)
from tests.plugins.scenes import BEND, LINK, LINKS, RADIUS, robot, workshop


@pytest.fixture(scope="module")
def sim():
    """The workshop, its cable bent by a quarter of a turn over all links in world 1; vmax is what that stresses."""
    moment = np.pi * RADIUS**4 / 4
    angle = np.pi / 2 / LINKS
    vmax = 2 * BEND * moment * angle / LINK
    text = workshop().replace('<config key="bend"', f'<config key="vmax" value="{vmax}"/><config key="bend"', 1)
    made = Simulation(text, worlds=2, device="cpu", threads=1)
    qpos = made.d.qpos.copy()
    for k in range(1, LINKS + 1):
        joint = int(made.model.body_jntadr[made.model.id("body", f"link{k}")])
        at = int(made.model.jnt_qposadr[joint])
        qpos[1, at : at + 4] = [np.cos(angle / 2), 0, np.sin(angle / 2), 0]
    made.d.qpos = qpos
    made.forward()
    return made


def test_the_cable_is_coloured_by_its_stress(sim):
    geoms = [int(sim.model.body_geomadr[sim.model.id("body", f"link{k}")]) for k in range(LINKS + 1)]
    straight, bent = (shown_by_plugins(sim.engine, world) for world in (0, 1))
    assert sorted(straight.geom_rgba) == sorted(bent.geom_rgba) == sorted(geoms)
    for geom in geoms:
        np.testing.assert_allclose(straight.geom_rgba[geom], [0, 0, 1, 1], atol=1e-4)
        np.testing.assert_allclose(bent.geom_rgba[geom], [0, 1, 0, 1], atol=1e-2)  # half of vmax everywhere
    assert straight.marks == []


def test_colours():
    assert [ramp(v).tolist() for v in (-1, 0.25, 0.5, 0.75, 2)] == [
        [0, 0, 1, 1], [0, 1, 1, 1], [0, 1, 0, 1], [1, 1, 0, 1], [1, 0, 0, 1]
    ]  # fmt: skip


class Flag:
    asked = 0

    @wp.func
    def actuator(x: ActuatorInput) -> float:
        return x.ctrl

    def visualize(self, model, read, instance, shown):
        Flag.asked += 1
        shown.mark("arrow", read("site_xpos")[0], (0.01, 0.01, float(read("ctrl")[0])))
        if read("ctrl")[0] < 0:
            shown.mark("flag", (0, 0, 0), (1, 1, 1))


def test_marks():
    plugin("test.flag")(Flag)
    try:
        sim = Simulation(robot("test.flag"), worlds=2, device="cpu")
        sim.d.ctrl = [[0.3, 0.0], [-0.5, 0.0]]
        sim.step(2)
        assert Flag.asked == 0
        shown = shown_by_plugins(sim.engine, 0)
        assert Flag.asked == 1 and len(shown.marks) == 1
        assert shown.marks[0].size[2] == pytest.approx(0.3)
        np.testing.assert_allclose(shown.marks[0].pos, sim.d.site_xpos[0, 0], rtol=1e-6)
        with pytest.raises(PluginError, match="plugin test.flag, instance 0: visualize failed: .*no shape 'flag'"):
            shown_by_plugins(sim.engine, 1)
    finally:
        unregister("test.flag")
