"""Derived constants against MuJoCo: recomputed from the other fields of a compiled model, on every model at hand."""

import importlib.util
import time
import warnings
from pathlib import Path

import mujoco
import numpy as np
import pytest

from kinema.compile.constants import derived_constants, rest
from kinema.compile.constants.kinematics import forward_kinematics
from kinema.compile.constants.mass import mass_matrix
from kinema.compile.constants.tendon import segments, tendon_lengths, tendon_rows
from kinema.compile.constants.transmission import transmissions
from kinema.compile.constants.tree import Tree
from tests.compile.sections import WORLD, document

STATISTICS = ("meaninertia", "meanmass", "meansize", "extent")
CLEARED = (
    "body_subtreemass", "body_invweight0", "dof_invweight0", "dof_M0", "dof_length", "tendon_length0",
    "tendon_invweight0", "actuator_acc0", "actuator_length0", "cam_pos0", "cam_poscom0", "cam_mat0", "light_pos0",
    "light_poscom0", "light_dir0", "jnt_actuatorid", "tendon_actuatorid", "tendon_treenum", "tendon_treeid",
    "ten_J_rownnz", "ten_J_rowadr", "ten_J_colind", "tree_bodyadr", "tree_bodynum", "tree_dofadr", "tree_dofnum",
)  # fmt: skip
AUTO_POLICIES = (1, 2)


def _folder(package: str) -> Path | None:
    spec = importlib.util.find_spec(package)
    return Path(next(iter(spec.submodule_search_locations))) if spec and spec.submodule_search_locations else None


def _models(group: str) -> list[Path]:
    folder = Path(__file__).parents[3] / "shared" / "models" if group == "shared" else _folder(group)
    return sorted(folder.rglob("*.xml")) if folder and folder.exists() else []


def _compiled(path: Path) -> tuple[mujoco.MjSpec, mujoco.MjModel] | None:
    """A model without user statistics, or None for a file that is not a model of its own."""
    try:
        spec = mujoco.MjSpec.from_file(str(path))
        for name in STATISTICS:
            setattr(spec.stat, name, float("nan"))
        spec.stat.center[:] = float("nan")
        return spec, spec.compile()
    except ValueError:
        return None


def _forget(m: mujoco.MjModel, spec: mujoco.MjSpec) -> dict[str, np.ndarray]:
    """Clear what is derived; returns what it was."""
    wanted = {name: np.array(getattr(m, name)) for name in CLEARED}
    for name in ("tendon_lengthspring", "eq_data", "tree_sleep_policy"):
        wanted[name] = np.array(getattr(m, name))
    for name in CLEARED:
        getattr(m, name)[:] = 0
    for tendon in spec.tendons:
        if (np.asarray(tendon.springlength) == -1).all():
            m.tendon_lengthspring[tendon.id] = -1
    m.eq_data[np.asarray(m.eq_type) == mujoco.mjtEq.mjEQ_CONNECT, 3:6] = 0
    m.eq_data[m.eq_data[:, 11] != 0, 3:10] = 0
    m.tree_sleep_policy[np.isin(m.tree_sleep_policy, AUTO_POLICIES)] = 0
    return wanted


@pytest.mark.parametrize("group", ["dm_control", "gymnasium", "mujoco_warp", "mujoco", "brax", "shared"])
def test_models_agree_with_mujoco(group):
    paths = _models(group)
    if not paths:
        pytest.skip(f"no models of {group} here")
    wrong, compared = [], 0
    for path in paths:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            loaded = _compiled(path)
        if loaded is None:
            continue
        spec, m = loaded
        statistics = {name: np.array(getattr(m.stat, name)) for name in (*STATISTICS, "center")}
        wanted = _forget(m, spec)
        found = derived_constants(m)
        compared += 1
        wanted |= {f"stat.{name}": value for name, value in statistics.items()}
        found |= {f"stat.{name}": np.asarray(value) for name, value in vars(found.pop("stat")).items()}
        if m.nflex:
            wanted.pop("tree_sleep_policy")
        for name, value in wanted.items():
            # geoms are bounded in float32 for meshes, which sizes and extents inherit
            loose = name.startswith("stat.") or name == "dof_length"
            scale = float(np.abs(value).max(initial=1.0))
            ours = np.asarray(found[name]).reshape(value.shape)
            if not np.allclose(ours, value, rtol=1e-4 if loose else 1e-6, atol=(1e-6 if loose else 1e-9) * scale):
                wrong.append(f"{path.name}: {name} off by {np.abs(ours - value).max():.2g}")
    assert compared > 0
    assert wrong == []


WRAPS = """<tendon>
  <spatial name="side"><site site="s0"/><geom geom="ball" sidesite="s1"/><site site="s3"/></spatial>
  <spatial name="plain"><site site="s0"/><geom geom="tube"/><site site="s3"/><geom geom="ball"/><site site="s4"/>
  </spatial>
  <spatial name="in"><site site="s0"/><geom geom="ball" sidesite="inner"/><site site="s3"/></spatial>
  <spatial name="tube in"><site site="s0"/><geom geom="tube" sidesite="inner2"/><site site="s4"/></spatial>
  <spatial name="pulley"><site site="s0"/><site site="s1"/><pulley divisor="2"/><site site="s2"/><site site="s4"/>
  </spatial>
  <spatial name="heavy" armature=".7"><site site="s0"/><site site="s2"/><site site="s4"/></spatial>
  <fixed name="sum"><joint joint="hinge" coef="2"/><joint joint="slide" coef="-3"/></fixed>
</tendon>
<actuator><motor joint="hinge" gear="2" armature=".1"/><motor tendon="plain" gear="3"/>
  <motor tendon="sum" armature=".2"/><motor joint="ballj" gear="1 2 3"/>
  <motor jointinparent="ballj" gear="1 2 3"/><motor joint="free" gear="1 2 3 4 5 6"/>
  <motor jointinparent="free" gear="1 2 3 4 5 6"/><motor site="s3" gear="1 2 3 4 5 6"/>
  <motor site="s3" refsite="s1" gear="1 2 3 4 5 6"/><motor site="s3" refsite="s0" gear="0 2 0 0 0 0"/>
  <motor site="s4" refsite="s3" gear="0 0 0 1 2 3"/><motor cranksite="s3" slidersite="s0" cranklength="2"/>
  <motor cranksite="s4" slidersite="s1" cranklength=".1"/><orientation joint="ballj"/>
  <orientation site="s3" refsite="s1"/></actuator>"""
SITES = WORLD.replace('<site name="s1"', '<site name="inner" pos=".01 .02 0"/><site name="s1"').replace(
    '<site name="s2"', '<site name="inner2" pos=".1 .01 0"/><site name="s2"'
)


def test_kinematics_tendons_and_transmissions_at_many_poses():
    """The batched position stage against mj_fwdPosition at random configurations, wraps of every kind among them."""
    m = mujoco.MjModel.from_xml_string(document(WRAPS, world=SITES))
    d = mujoco.MjData(m)
    rng = np.random.default_rng(3)
    poses = []
    for _ in range(200):
        mujoco.mj_resetData(m, d)
        mujoco.mj_integratePos(m, d.qpos, rng.normal(size=m.nv), 1.5)
        poses.append(d.qpos.copy())
    tree, cut = Tree(m), segments(m)
    pose = forward_kinematics(m, tree, np.array(poses))
    length, points = tendon_lengths(m, pose, cut)
    rows = tendon_rows(m, tree, pose, cut, points)
    act_length, act_rows = transmissions(m, tree, pose, length, rows)
    mass, _ = mass_matrix(m, tree, pose, rows)
    wrapped = 0
    for i, qpos in enumerate(poses):
        d.qpos[:] = qpos
        mujoco.mj_fwdPosition(m, d)
        for name in ("xpos", "xquat", "xipos", "xanchor", "xaxis", "subtree_com", "cdof", "site_xpos", "geom_xpos"):
            np.testing.assert_allclose(getattr(pose, name)[i], getattr(d, name), atol=1e-9, err_msg=name)
        np.testing.assert_allclose(length[i], d.ten_length, atol=1e-8)
        dense = np.zeros((m.ntendon, m.nv))
        mujoco.mju_sparse2dense(dense, d.ten_J, m.ten_J_rownnz, m.ten_J_rowadr, m.ten_J_colind)
        np.testing.assert_allclose(rows[i], dense, atol=1e-7)
        np.testing.assert_allclose(act_length[i], d.actuator_length, atol=1e-8)
        dense = np.zeros((m.nout, m.nv))
        mujoco.mju_sparse2dense(dense, d.actuator_moment, d.moment_rownnz, d.moment_rowadr, d.moment_colind)
        np.testing.assert_allclose(act_rows[i], dense, atol=1e-7)
        solved = np.zeros((1, m.nv))
        mujoco.mj_solveM(m, d, solved, rows[i, :1])
        np.testing.assert_allclose(mass.solve(rows)[i, 0], solved[0], rtol=1e-6, atol=1e-8)
        wrapped += int((d.wrap_obj >= 0).sum() > 0)
    assert wrapped > 50


def test_singular_inertia_is_regularised_like_mujoco():
    """Four slides along one axis on one body: M has rank one."""
    body = '<body>' + '<joint type="slide"/>' * 4 + '<geom size=".1" mass="1"/></body>'
    m = mujoco.MjModel.from_xml_string(f"<mujoco><worldbody>{body}</worldbody></mujoco>")
    np.testing.assert_allclose(derived_constants(m)["body_invweight0"], m.body_invweight0, rtol=1e-6)


def test_many_loose_bodies_are_batched():
    body = '<body pos="{} 0 0"><freejoint/><geom size=".1" mass="{}"/></body>'
    m = mujoco.MjModel.from_xml_string(
        "<mujoco><worldbody>" + "".join(body.format(i, i + 1) for i in range(300)) + "</worldbody></mujoco>"
    )
    assert len(rest(m).mass.factors) == 1
    start = time.perf_counter()
    found = derived_constants(m)
    assert time.perf_counter() - start < 1.0
    np.testing.assert_allclose(found["body_invweight0"], m.body_invweight0, rtol=1e-9)
    np.testing.assert_allclose(found["dof_invweight0"], m.dof_invweight0, rtol=1e-9)


def test_a_robot_takes_milliseconds():
    path = _folder("dm_control") / "suite" / "humanoid_CMU.xml"
    m = mujoco.MjModel.from_xml_path(str(path))
    derived_constants(m)
    start = time.perf_counter()
    for _ in range(5):
        derived_constants(m)
    assert m.nv > 60
    assert (time.perf_counter() - start) / 5 < 0.1
