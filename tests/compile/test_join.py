"""Several documents in one world: every field and a short run equal MuJoCo's on one document that holds all."""

import warnings

import mujoco
import numpy as np
import pytest

from kinema.bridge import to_mjmodel
from kinema.compile import compile_model
from kinema.compile.join import join
from kinema.errors import BuildError
from kinema.model import ModelBuilder
from tests.conformance.compare import differences

SECTIONS = ("tendon", "equality", "actuator", "sensor", "contact", "keyframe", "custom")


def part(p: str, shift: float, key: bool) -> dict[str, str]:
    """Pieces of a document whose names begin with p."""
    return {
        "world": f'<geom name="{p}floor" type="plane" size="9 9 1" pos="{shift} 0 0"/><site name="{p}mark"/>'
        f'<camera name="{p}cam" pos="0 0 3"/><light pos="0 0 4"/>',
        "bodies": f'<body name="{p}ball" pos="{shift} 0 .5"><freejoint name="{p}free"/><geom name="{p}g" size=".1"/>'
        "</body>"
        f'<body name="{p}arm" pos="{shift} 1 1"><joint name="{p}j" axis="0 1 0" range="-60 60" damping=".1"/>'
        f'<geom name="{p}link" type="capsule" fromto="0 0 0 .5 0 0" size=".04"/><site name="{p}tip" pos=".5 0 0"/>'
        f'<body name="{p}hand" pos=".5 0 0"><joint name="{p}k" type="ball"/>'
        f'<geom name="{p}h" type="box" size=".05 .1 .1"/>'
        f'<inertial pos=".02 0 0" mass=".3" diaginertia=".001 .002 .002"/></body></body>'
        f'<body name="{p}aim" mocap="true" pos="{shift} 0 2"><site name="{p}here"/></body>',
        "tendon": f'<spatial name="{p}cord" stiffness="3"><site site="{p}mark"/><site site="{p}tip"/></spatial>'
        f'<fixed name="{p}fix"><joint joint="{p}j" coef="2"/></fixed>',
        "equality": f'<connect name="{p}hold" site1="{p}here" site2="{p}tip" active="false"/>'
        f'<joint joint1="{p}j" polycoef=".1 0 0 0 0" solref=".1 1"/>',
        "actuator": f'<position name="{p}p" joint="{p}j" kp="3"/>'
        f'<general name="{p}m" tendon="{p}cord" dyntype="filter"/>'
        f'<adhesion body="{p}ball" ctrlrange="0 1"/>',
        "sensor": f'<jointpos joint="{p}j"/>'
        f'<framepos objtype="body" objname="{p}hand" reftype="site" refname="{p}mark"/>'
        f'<touch site="{p}tip"/>',
        "contact": f'<exclude body1="{p}arm" body2="{p}ball"/><pair geom1="{p}g" geom2="{p}floor" condim="4"/>',
        "keyframe": f'<key name="{p}up" time="1" qpos="{shift} 0 .7 1 0 0 0 .3 1 0 0 0" qvel="{"1 " * 10}"'
        ' ctrl=".1 .2 .3" act=".5" mpos="1 2 3"/>' if key else "",
        "custom": f'<numeric name="{p}n" data="1 2"/>'
        f'<tuple name="{p}t"><element objtype="geom" objname="{p}h"/></tuple>',
    }  # fmt: skip


def document(pieces: dict[str, str]) -> str:
    outside = "".join(f"<{name}>{pieces[name]}</{name}>" for name in SECTIONS)
    return f"<mujoco><worldbody>{pieces['world']}{pieces['bodies']}</worldbody>{outside}</mujoco>"


def together(*all_pieces: dict[str, str]) -> str:
    """One document: what later worlds hold on a body without a name, their trees beside; keyframes made whole."""
    first, *rest = all_pieces
    tree = first["world"] + first["bodies"] + "".join(f"<body>{p['world']}</body>{p['bodies']}" for p in rest)
    outside = "".join(
        f"<{name}>{''.join(p[name] for p in all_pieces)}</{name}>" for name in SECTIONS if name != "keyframe"
    )
    return f"<mujoco><worldbody>{tree}</worldbody>{outside}<keyframe>{{keys}}</keyframe></mujoco>"


def oracle(*all_pieces: dict[str, str]) -> mujoco.MjModel:
    """MuJoCo's model of all, its keyframes with the other parts at their initial state."""
    text = together(*all_pieces)
    bare = mujoco.MjModel.from_xml_string(text.format(keys=""))
    alone = [mujoco.MjModel.from_xml_string(document(pieces)) for pieces in all_pieces]
    initial = mujoco.MjData(bare)
    keys, at = [], dict.fromkeys(("qpos", "qvel", "act", "ctrl", "mpos", "mquat"), 0)
    for model in alone:
        for k in range(model.nkey):
            values = {
                "qpos": initial.qpos, "qvel": initial.qvel, "act": initial.act, "ctrl": initial.ctrl,
                "mpos": initial.mocap_pos.ravel(), "mquat": initial.mocap_quat.ravel(),
            }  # fmt: skip
            whole = {}
            for name, value in values.items():
                value, own = value.copy(), getattr(model, f"key_{name}")[k].ravel()
                value[at[name] : at[name] + len(own)] = own
                whole[name] = " ".join(repr(float(x)) for x in value)
            attributes = " ".join(f'{name}="{value}"' for name, value in whole.items())
            keys.append(f'<key name="{model.key(k).name}" time="{model.key_time[k]}" {attributes}/>')
        for name in at:
            counts = {"qpos": model.nq, "qvel": model.nv, "act": model.na, "ctrl": model.nu}
            at[name] += counts.get(name, model.nmocap * (3 if name == "mpos" else 4))
    return mujoco.MjModel.from_xml_string(text.format(keys="".join(keys)))


CASES = {
    "two, no keyframes": (part("a_", 0, False), part("b_", 5, False)),
    "a keyframe in the first": (part("a_", 0, True), part("b_", 5, False)),
    "a keyframe in the second": (part("a_", 0, False), part("b_", 5, True)),
    "three, all with keyframes": (part("a_", 0, True), part("b_", 5, True), part("c_", 9, True)),
}


@pytest.mark.parametrize("case", CASES)
def test_joined_documents_equal_one_document(case):
    pieces = CASES[case]
    host = compile_model(document(pieces[0]))
    for more in pieces[1:]:
        host = join(host, compile_model(document(more)))
    theirs = oracle(*pieces)
    assert list(host.missing()) == []
    assert differences(host, theirs) == {}

    m = to_mjmodel(host)  # MuJoCo's own checks of every index, and a short run
    ours, expected = mujoco.MjData(m), mujoco.MjData(theirs)
    if m.nkey:
        mujoco.mj_resetDataKeyframe(m, ours, m.nkey - 1)
        mujoco.mj_resetDataKeyframe(theirs, expected, m.nkey - 1)
    mujoco.mj_step(m, ours, nstep=50)
    mujoco.mj_step(theirs, expected, nstep=50)
    np.testing.assert_allclose(ours.qpos, expected.qpos, atol=1e-8)
    np.testing.assert_allclose(ours.sensordata, expected.sensordata, atol=1e-5)


FREE = '<mujoco>{option}<worldbody><body name="b" pos="0 0 1"><freejoint/><geom size=".1"/></body></worldbody></mujoco>'


def test_documents_that_state_different_options_are_refused_where_they_are_added():
    builder = ModelBuilder()
    builder.add_mjcf(FREE.format(option='<option timestep="0.01"><flag gravity="enable"/></option>'))
    with pytest.raises(BuildError, match=r"timestep is 0.005 in this document but 0.01 in the one"):
        builder.add_mjcf(FREE.format(option='<option timestep="0.005"/>'))
    with pytest.raises(BuildError, match=r"flag gravity is disable in this document but enable in the one"):
        builder.add_mjcf(FREE.format(option='<option><flag gravity="disable"/></option>'))
    with pytest.warns(UserWarning, match="option density is 3 in this document and unset"):
        builder.add_mjcf(FREE.format(option='<option density="3"/>'))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        builder.add_mjcf(FREE.format(option='<option timestep="1e-2"/>'))
        builder.begin_world()
        builder.add_mjcf(FREE.format(option='<option timestep="0.005"/>'))  # a world of its own
        builder.end_world()


def test_builders_merged_into_one_world_are_refused_by_the_solver():
    from kinema.solvers import SolverConvex

    builder = ModelBuilder()
    for step in ("0.01", "0.005"):
        other = ModelBuilder()
        other.add_mjcf(FREE.format(option=f'<option timestep="{step}"/>'))
        builder.add_builder(other)
    with pytest.raises(BuildError, match="timestep is 0.005"):
        SolverConvex(builder.finalize(device="cpu"))


def _three(by_hand: bool) -> ModelBuilder:
    builder = ModelBuilder()
    builder.add_mjcf(FREE.format(option=""))
    key = '<keyframe><key name="k" qpos="0 0 3 1 0 0 0"/></keyframe></mujoco>'
    builder.add_mjcf(FREE.format(option="").replace("</mujoco>", key))
    if by_hand:
        body = builder.add_body(xform=(0.0, 2.0, 5.0, 0.0, 0.0, 0.0, 1.0), mass=1.0, inertia=np.eye(3) * 0.1)
        builder.add_shape_sphere(body, radius=0.1)
    else:
        builder.add_mjcf(FREE.format(option=""))
    return builder


@pytest.mark.parametrize("by_hand", [False, True])
def test_the_solver_runs_documents_and_bodies_built_by_hand(by_hand):
    """Loose bodies of three sources in one world fall as one does."""
    from kinema.solvers import SolverConvex

    model = _three(by_hand).finalize(device="cpu")
    solver = SolverConvex(model)
    state, following, control = model.state(), model.state(), model.control()
    start = state.body_q.numpy()[:, 2].copy()
    for _ in range(10):
        solver.step(state, following, control, None, 0.01)
        state, following = following, state
    fallen = start - state.body_q.numpy()[:, 2]
    np.testing.assert_allclose(fallen, 9.81 * 0.01**2 * 55, rtol=1e-3)
