"""MuJoCo's functions at the door: names, shapes, tensors, refusals, and the same from MuJoCo's own worlds."""

import numpy as np
import pytest
import warp as wp

from kinema import Simulation
from kinema.errors import BuildError, UnknownKey
from tests.simulation.models import LIMBS

START = {"qpos": [0, 0, 0.55, 0.9, 0.1, 0.4, 0, 0.3], "qvel": [1, 2, 3, 0.1, 0.2, 0.3, -1]}


@pytest.fixture(scope="module", params=["convex", "mujoco"])
def sim(request):
    sim = Simulation(LIMBS, worlds=3, device="cpu", threads=1, solver=request.param)
    sim.set_state(**START)
    sim.set_state(qpos=[0, 0, 1.0, 1, 0, 0, 0, -0.3], worlds=[1])
    sim.forward()
    return sim


def test_names_and_ids_and_several(sim):
    jacp, jacr = sim.jac_site("tip")
    assert jacp.shape == jacr.shape == (3, 3, 7)
    both = sim.jac_site(["hook", "tip"])
    assert both.jacp.shape == (3, 2, 3, 7)
    np.testing.assert_array_equal(both.jacp[:, 1], jacp)
    np.testing.assert_array_equal(sim.jac_site(sim.site("tip").id).jacr, jacr)
    assert np.abs(jacp[0] - jacp[1]).max() > 0.01


def test_a_jacobian_gives_the_velocity(sim):
    for kind, name in (("site", "tip"), ("geom", "shin"), ("body", "shank")):
        jacobian = getattr(sim, f"jac_{kind}")(name)
        velocity = sim.object_velocity("xbody" if kind == "body" else kind, name)
        both = np.concatenate([jacobian.jacr @ sim.d.qvel[0], jacobian.jacp @ sim.d.qvel[0]], axis=-1)
        np.testing.assert_allclose(both, velocity, atol=1e-5)


def test_inertia_goes_there_and_back(sim):
    vec = np.arange(7.0)
    np.testing.assert_allclose(sim.solve_m(sim.mul_m(vec)), np.tile(vec, (3, 1)), atol=1e-4)
    np.testing.assert_allclose(sim.full_m() @ vec, sim.mul_m(vec), atol=1e-5)


def test_a_force_acts_at_its_point(sim):
    tip = sim.site("tip").xpos
    qfrc = sim.apply_ft([0, 0, 2.0], [0, 0, 0], tip, "shank")
    np.testing.assert_allclose(qfrc, 2.0 * sim.jac_site("tip").jacp[:, 2], atol=1e-5)
    twice = sim.apply_ft([0, 0, 2.0], [0, 0, 0], tip, "shank", qfrc)
    np.testing.assert_allclose(twice, 2 * qfrc, atol=1e-5)


def test_rays_distances_energy_and_loads(sim):
    hit = sim.ray(sim.geom("belly").xpos + [0, 0, 1], [0, 0, -1.0])
    assert hit.geomid.tolist() == [sim.geom("belly").id] * 3
    apart = sim.geom_distance("belly", "shin")
    assert apart.dist.shape == (3,) and apart.fromto.shape == (3, 6)
    capped = sim.geom_distance("belly", ["shin"], -10.0)
    assert capped.dist.shape == (3, 1) and (capped.dist == -10).all() and not capped.fromto.any()
    np.testing.assert_allclose(sim.energy(), sim.d.energy)
    np.testing.assert_array_equal(sim.rne_post_constraint().cacc, sim.d.cacc)
    assert sim.name2id("joint", "knee") == 1 and sim.id2name("body", 1) == "trunk" and sim.name2id("geom", "x") == -1


def test_both_engines_agree():
    found = {}
    for solver in ("convex", "mujoco"):
        sim = Simulation(LIMBS, worlds=2, device="cpu", threads=1, solver=solver)
        sim.set_state(**START)
        sim.forward()
        found[solver] = [sim.jac_dot([0.1, 0.2, 0.3], "shank").jacp, sim.angmom_mat("trunk"), sim.rne(), sim.full_m(),
                         sim.jac_subtree_com("world"), sim.object_velocity("camera", "eye"),
                         sim.integrate_pos(sim.d.qpos, sim.d.qvel, 0.1)]  # fmt: skip
    for ours, theirs in zip(*found.values(), strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-4)


def test_tensors_in_and_out(sim):
    torch = pytest.importorskip("torch")
    vec = torch.arange(7.0)
    found = sim.mul_m(vec, torch=True)
    assert isinstance(found, torch.Tensor) and found.device.type == sim.engine.device.alias.partition(":")[0]
    np.testing.assert_array_equal(found.numpy(), sim.mul_m(vec.numpy()))
    np.testing.assert_array_equal(sim.mul_m(wp.array(np.arange(7.0), dtype=float, device="cpu")), found.numpy())
    np.testing.assert_array_equal(sim.jac_site("tip", torch=True).jacp.numpy(), sim.jac_site("tip").jacp)
    assert sim.geom_distance("belly", "shin", torch=True).fromto.shape == (3, 6)
    point = torch.zeros(3, 3)
    np.testing.assert_array_equal(sim.jac(point, "shank").jacp, sim.jac([0, 0, 0], "shank").jacp)


def test_what_is_refused(sim):
    with pytest.raises(UnknownKey, match="no site named 'tpi'; did you mean 'tip'"):
        sim.jac_site("tpi")
    with pytest.raises(UnknownKey, match="did you mean 'site'"):
        sim.object_velocity("sitte", "tip")
    with pytest.raises(BuildError, match=r"point: an array of shape \(2,\) does not fit"):
        sim.jac([1, 2], "shank")
    with pytest.raises(BuildError, match=r"vec: an array of shape \(6,\)"):
        sim.mul_m(np.zeros(6))
    with pytest.raises(BuildError, match="geomgroup of length 2"):
        sim.ray([0, 0, 0], [0, 0, 1], geomgroup=[1, 0])
    with pytest.raises(UnknownKey, match="did you mean 'joint'"):
        sim.name2id("jont", "knee")


def test_contacts_of_mujoco_are_not_there():
    sim = Simulation(LIMBS, device="cpu", solver="mujoco")
    with pytest.raises(UnknownKey, match="not brought over"):
        sim.contacts()
