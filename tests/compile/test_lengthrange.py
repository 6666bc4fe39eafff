"""Length ranges of muscles against MuJoCo: the pulling simulation, what it may be replaced by, and its failures."""

import mujoco
import numpy as np
import pytest

from kinema.compile.lengthrange import LengthRangeError, length_ranges, simulate
from kinema.compile.settings import LengthRange
from tests.compile.sections import WORLD, document

SHORT = LengthRange(inttotal=0.6, interval=0.2, tolrange=1e6)
TENDON = """<tendon><spatial name="w"><site site="s0"/><geom geom="ball" sidesite="s1"/><site site="s3"/></spatial>
  <spatial name="x"><site site="s1"/><site site="s4"/></spatial>
  <fixed name="f"><joint joint="hinge" coef="1"/><joint joint="slide" coef="2"/></fixed>{}</tendon>"""
MUSCLES = """<actuator><muscle tendon="w"/><muscle tendon="x"/><muscle joint="hinge"/><muscle tendon="f"/>
  <general site="s3" refsite="s0" gear="1 0 0" gaintype="muscle" biastype="muscle"
    gainprm=".75 1.05 -1 200 .5 1.6 1.5 1.3 1.2" biasprm=".75 1.05 -1 200 .5 1.6 1.5 1.3 1.2"/></actuator>"""
OFF = mujoco.mjtDisableBit


def _mujoco(m: mujoco.MjModel, options: LengthRange, step: float = 0.01) -> np.ndarray:
    """The ranges MuJoCo finds, with the physics its compiler switches off switched off."""
    lr = mujoco.MjLROpt() if hasattr(mujoco, "MjLROpt") else mujoco.mjLROpt()
    lr.mode, lr.useexisting, lr.uselimit = mujoco.mjtLRMode.mjLRMODE_ALL, 0, 0
    for name in ("accel", "maxforce", "timeconst", "inttotal", "interval", "tolrange"):
        setattr(lr, name, getattr(options, name))
    m.opt.timestep = step
    m.opt.disableflags = int(
        OFF.mjDSBL_FRICTIONLOSS | OFF.mjDSBL_CONTACT | OFF.mjDSBL_SPRING | OFF.mjDSBL_DAMPER | OFF.mjDSBL_GRAVITY
        | OFF.mjDSBL_ACTUATION
    )  # fmt: skip
    d = mujoco.MjData(m)
    for i in range(m.nactuator):
        mujoco.mj_setLengthRange(m, d, i, lr)
    return m.actuator_lengthrange[m.actuator_outadr].copy()


def _model(section: str = "", *, tendons: str = "", world: str = WORLD) -> mujoco.MjModel:
    """A model whose compiler does not look for ranges."""
    before = '<compiler><lengthrange mode="none"/></compiler>'
    sections = TENDON.format(tendons) + MUSCLES + section
    return mujoco.MjModel.from_xml_string(document(sections, before=before, world=world))


LIMITED_BALL = WORLD.replace('name="ballj"', 'name="ballj" range="0 10"')
CASES = {
    "free": {},
    "limited ball": {"world": LIMITED_BALL},
    "limited tendon": {"tendons": '<spatial range=".5 .9" margin=".01"><site site="s2"/><site site="s4"/></spatial>'},
    "connect": {"section": '<equality><connect body1="c" body2="loose" anchor=".1 .2 .3"/></equality>'},
    "connect sites": {"section": '<equality><connect site1="s3" site2="s4" solref="-100 -5"/></equality>'},
    "weld": {"section": '<equality><weld body1="c" body2="loose" torquescale=".5"/></equality>'},
    "weld sites": {"section": """<equality><weld site1="s3" site2="s4" solref="1 1"/><weld body1="c" active="false"/>
        </equality>"""},
    "joints": {"section": '<equality><joint joint1="hinge" joint2="slide" polycoef="0 .5 .2"/></equality>'},
    "tendons": {"section": """<equality><tendon tendon1="w" tendon2="x" polycoef="0 .5"/><tendon tendon1="f"/>
        </equality>"""},
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_simulation_follows_mujoco(name):
    """Short runs, where path and end are compared before anything settles."""
    m = _model(**CASES[name])
    low, high = simulate(m, np.arange(m.nactuator), SHORT, 0.01)
    wanted = _mujoco(m, SHORT)
    assert (wanted[:, 1] > wanted[:, 0]).all()
    np.testing.assert_allclose(np.stack((low[:, 0], high[:, 1]), axis=1), wanted, rtol=1e-6, atol=1e-7)


def test_options():
    m = _model()
    options = LengthRange(inttotal=0.5, interval=0.3, accel=5.0, maxforce=2.0, timeconst=0.2, tolrange=1e6)
    low, high = simulate(m, np.arange(m.nactuator), options, 0.005)
    wanted = _mujoco(m, options, 0.005)
    np.testing.assert_allclose(np.stack((low[:, 0], high[:, 1]), axis=1), wanted, rtol=1e-6, atol=1e-7)


def test_compiled_range():
    """The whole way, as the compiler goes it: a limited hinge with one muscle."""
    xml = """<mujoco><worldbody><site name="a" pos="0 0 .3"/><body><joint name="j" axis="0 1 0" range="-40 60"/>
      <geom type="capsule" fromto="0 0 0 .3 0 0" size=".02"/><site name="b" pos=".2 0 .02"/></body></worldbody>
      <tendon><spatial name="t"><site site="a"/><site site="b"/></spatial></tendon>
      <actuator><muscle tendon="t"/><muscle joint="j" lengthrange="-1 1"/><motor joint="j"/></actuator></mujoco>"""
    m = mujoco.MjModel.from_xml_string(xml)
    wanted = m.actuator_lengthrange.copy()
    m.actuator_lengthrange[0] = 0
    np.testing.assert_allclose(length_ranges(m, LengthRange(), m.opt.timestep), wanted, rtol=1e-6)


def test_limits_and_modes():
    m = _model()
    found = length_ranges(m, LengthRange(mode="all", uselimit=True, inttotal=0.1, interval=0.05, tolrange=1e6), 0.01)
    assert found[2] == pytest.approx(m.jnt_range[0])
    assert (length_ranges(m, LengthRange(mode="none"), 0.01) == 0).all()
    m.actuator_lengthrange[:] = 1, 2
    assert (length_ranges(m, LengthRange(), 0.01) == [1, 2]).all()


def test_unlimited_actuator_is_refused_like_mujoco():
    xml = """<mujoco><worldbody><body><joint name="j"/><geom size=".1"/></body></worldbody>
      <actuator>{}</actuator></mujoco>"""
    with pytest.raises(ValueError, match="engthrange"):
        mujoco.MjModel.from_xml_string(xml.format('<muscle joint="j"/>'))
    m = mujoco.MjModel.from_xml_string(xml.format('<muscle joint="j" lengthrange="0 1"/>'))
    m.actuator_lengthrange[:] = 0
    with pytest.raises(LengthRangeError, match="converge") as caught:
        length_ranges(m, LengthRange(), 0.01)
    assert caught.value.actuator == 0
