"""<actuator>: from records to mjModel's arrays: transmissions, blocks of controls, outputs and activations, limits.

One actuator has `ctrlnum` controls, `outnum` force outputs and `actnum` activations, each a block in its own vector;
arrays that describe controls or outputs have a row for each of those.
"""

from __future__ import annotations

import numpy as np

from kinema.compile.actuator_default import class_record, read_record
from kinema.compile.actuator_record import INPUTS, Record
from kinema.compile.context import Compilation
from kinema.compile.dcmotor import dcmotor_states
from kinema.compile.element import FALSE, TRUE, Element, Scope
from kinema.compile.limits import limited
from kinema.mujoco_enums import Bias, ControlChart, ControlInput, Dynamics, Gain, Joint, Transmission, Wrap

MAX_SAMPLES = 2**24
TARGETS = (
    ("joint", "joint", Transmission.JOINT), ("jointinparent", "joint", Transmission.JOINTINPARENT),
    ("tendon", "tendon", Transmission.TENDON), ("cranksite", "site", Transmission.SLIDERCRANK),
    ("site", "site", Transmission.SITE), ("body", "body", Transmission.BODY),
)  # fmt: skip
"""Attribute that names a target, the kind it names, the transmission it asks for; the last one given wins."""


def compile_actuator(c: Compilation) -> None:
    """Fill the actuator arrays; lengths, acc0, dampratio and simulated length ranges come with the constants."""
    actuators = c.elements["actuator"]
    cache: dict[int, Record] = {}
    for default in c.defaults:  # a class that nothing uses must make sense too
        class_record(default, Scope(settings=c.settings), cache)
    rows = [_Row(c, e, read_record(e, cache), index) for index, e in enumerate(actuators)]
    a = c.arrays

    def column(name: str, dtype=np.int32) -> np.ndarray:
        return np.array([getattr(row, name) for row in rows], dtype=dtype)

    def table(name: str, width: int) -> np.ndarray:
        return np.array([getattr(row.r, name) for row in rows], dtype=np.float64).reshape(-1, width)

    for name in ("trntype", "ctrlnum", "ctrlspec", "outnum", "actnum"):
        a[f"actuator_{name}"] = column(name)
    for name in ("dyntype", "gaintype", "biastype", "group"):
        a[f"actuator_{name}"] = np.array([getattr(row.r, name) for row in rows], dtype=np.int32)
    for name in ("ctrl", "out"):
        number = a[f"actuator_{name}num"]
        a[f"actuator_{name}adr"] = (np.cumsum(number) - number).astype(np.int32)
    number = a["actuator_actnum"]
    a["actuator_actadr"] = np.where(number > 0, np.cumsum(number) - number, -1).astype(np.int32)
    a["actuator_trnid"] = np.array([row.trnid for row in rows], dtype=np.int32).reshape(-1, 2)
    for name in ("dynprm", "gainprm", "biasprm"):
        a[f"actuator_{name}"] = table(name, 10)
    for name in ("cranklength", "armature", "delay"):
        a[f"actuator_{name}"] = np.array([getattr(row.r, name) for row in rows], dtype=np.float64)
    damping = table("damping", 3)
    a["actuator_damping"], a["actuator_dampingpoly"] = damping[:, 0].copy(), damping[:, 1:].copy()
    a["actuator_actrange"], a["actuator_forcerange"] = table("actrange", 2), table("forcerange", 2)
    for name in ("actlimited", "forcelimited"):
        a[f"actuator_{name}"] = column(name, np.uint8)
    a["actuator_actearly"] = np.array([row.r.actearly for row in rows], dtype=np.uint8)
    a["actuator_gear"] = np.repeat(table("gear", 6), a["actuator_outnum"], axis=0)
    a["actuator_lengthrange"] = np.repeat(table("lengthrange", 2), a["actuator_outnum"], axis=0)
    a["actuator_ctrllimited"] = np.array([flag for row in rows for flag in row.control_limited], dtype=np.uint8)
    ranges = [bounds for row in rows for bounds in row.control_ranges]
    a["actuator_ctrlrange"] = np.array(ranges, dtype=np.float64).reshape(-1, 2)
    a["actuator_user"] = _user(c, [row.r for row in rows])
    _history(c, rows)
    if "actuator_plugin" not in a:
        a["actuator_plugin"] = np.full(len(rows), -1, dtype=np.int32)
    c.sizes["nu"] = int(a["actuator_ctrlnum"].sum())
    c.sizes["nout"] = int(a["actuator_outnum"].sum())
    c.sizes["na"] = int(number.sum())


def _user(c: Compilation, records: list[Record]) -> np.ndarray:
    width = c.sizes.get("nuser_actuator", -1)
    if width < 0:
        width = max((len(r.user) for r in records), default=0)
    out = np.zeros((len(records), width))
    for row, r, e in zip(out, records, c.elements["actuator"], strict=True):
        if len(r.user) > width:
            raise e.error(f"user has {len(r.user)} values, more than nuser_actuator={width}", "user")
        row[: len(r.user)] = r.user
    c.sizes["nuser_actuator"] = width
    return out


def _history(c: Compilation, rows: list[_Row]) -> None:
    """Ring buffers of past controls: [user, cursor, times (n), values (n × controls)] each."""
    address, adr = 0, []
    for row in rows:
        adr.append(address if row.r.nsample > 0 else -1)
        if row.r.nsample > 0:
            address += 2 + row.r.nsample * (1 + row.ctrlnum)
    pairs = [(row.r.nsample, row.r.interp) for row in rows]
    c.arrays["actuator_history"] = np.array(pairs, dtype=np.int32).reshape(-1, 2)
    c.arrays["actuator_historyadr"] = np.array(adr, dtype=np.int32)
    c.sizes["nhistory"] = address


class _Row:
    """One actuator resolved: its transmission, the sizes of its blocks, its limits, all checked."""

    def __init__(self, c: Compilation, e: Element, r: Record, index: int):
        self.c, self.e, self.r, self.index = c, e, r, index
        self.ctrlnum = self.outnum = 1
        self.ctrlspec = r.ctrlspec if r.gaintype in (Gain.FIXED, Gain.AFFINE) else 0
        self.trntype, self.trnid = self._transmission()
        self._target_checks()
        self._signature()
        self._inherit_range()
        self.forcelimited = self._limited("force", r.forcelimited)
        self._ctrllimited = self._limited("ctrl", r.ctrllimited)
        self.actlimited = self._limited("act", r.actlimited)
        self.actnum = self._activations()
        self._limit_checks()
        self._muscle_checks()
        self._history_checks()
        self.control_limited, self.control_ranges = self._controls()

    # ---- transmission

    def _transmission(self) -> tuple[int, tuple[int, int]]:
        c, e = self.c, self.e
        found = [(attribute, kind, code) for attribute, kind, code in TARGETS if e.given(attribute)]
        slider = e.given("slidersite") or "cranklength" in e.node.attributes
        if not found:
            raise e.error("missing transmission target for actuator")
        attribute, kind, code = found[-1]
        if slider and code != Transmission.SLIDERCRANK:
            raise e.error("cranklength and slidersite can only be used in slidercrank transmission")
        if e.given("refsite") and code != Transmission.SITE:
            raise e.error("refsite can only be used with site transmission")
        target, second = c.reference(e, attribute, kind, required=True), -1
        if code == Transmission.SLIDERCRANK:
            second = c.reference(e, "slidersite", "site", required=True)
            if self.r.cranklength <= 0:
                raise e.error("crank length must be positive", "cranklength")
        elif code == Transmission.SITE:
            second = c.reference(e, "refsite", "site")
        return code, (target, second)

    def _target_checks(self) -> None:
        drives = self.trntype in (Transmission.JOINT, Transmission.JOINTINPARENT, Transmission.TENDON)
        if self.r.damping.any() and not drives:
            raise self.e.error("damping requires joint or tendon transmission", "damping")
        if self.r.armature and not drives:
            raise self.e.error("armature requires joint or tendon transmission", "armature")
        if self.r.armature and self.trntype == Transmission.TENDON:
            a, tendon = self.c.arrays, self.trnid[0]
            path = a["wrap_type"][a["tendon_adr"][tendon] :][: a["tendon_num"][tendon]]
            if np.isin(path, (Wrap.SPHERE, Wrap.CYLINDER)).any():
                raise self.e.error("a tendon that wraps around geoms cannot have armature", "armature")

    # ---- inputs and outputs

    def _signature(self) -> None:
        r, e = self.r, self.e
        if r.gaintype == Gain.SO3 or r.biastype == Bias.SO3:
            self._so3()
        elif r.gaintype == Gain.PID:
            self._pid()
        elif r.gaintype == Gain.DCMOTOR:
            self._dcmotor()
        elif r.gaintype in (Gain.FIXED, Gain.AFFINE):
            if r.ctrlspec not in (0, ControlInput.POS, ControlInput.VEL, ControlInput.PRESSURE):
                raise e.error("the input of this actuator can only be pos, vel or pressure", "input")
        elif r.ctrlspec:
            raise e.error("input is not available for this gaintype", "input")
        if r.dyntype == Dynamics.PID and r.gaintype != Gain.PID:
            raise e.error("dyntype 'pid' requires gaintype 'pid'")

    def _so3(self) -> None:
        r, e, c = self.r, self.e, self.c
        if (r.gaintype == Gain.SO3) != (r.biastype == Bias.SO3):
            raise e.error("gaintype and biastype must both be 'so3'")
        if r.dyntype not in (Dynamics.NONE, Dynamics.INTEGRATOR):
            raise e.error("so3 requires dyntype 'none' or 'integrator'")
        if r.gainprm[0] != -r.biasprm[1]:
            raise e.error("so3 requires gainprm[0] == -biasprm[1]")
        if self.trntype == Transmission.SITE:
            if self.trnid[1] < 0:
                raise e.error("so3 site transmission requires refsite")
        elif self.trntype != Transmission.JOINT or c.arrays["jnt_type"][self.trnid[0]] != Joint.BALL:
            raise e.error("so3 requires a ball joint, or a site with a refsite")
        if r.dyntype == Dynamics.INTEGRATOR:
            if r.actdim > 0 and r.actdim != 3:
                raise e.error("so3 integrator requires actdim 3", "actdim")
            r.actdim = 3
            if r.actlimited == TRUE and not r.actrange.any():
                r.actlimited = FALSE
        self.ctrlspec = r.ctrlspec or ControlChart.EXPMAP
        if self.ctrlspec not in (ControlChart.EXPMAP, ControlChart.QUAT):
            raise e.error("so3 input must be expmap or quat", "input")
        if self.ctrlspec == ControlChart.QUAT and r.dyntype != Dynamics.NONE:
            raise e.error("so3 quat input requires dyntype 'none'", "input")
        if self._limited("force", r.forcelimited) and r.forcerange[0] != 0:
            raise e.error("forcerange bounds the norm of the torque here and must begin at 0", "forcerange")
        self.ctrlnum, self.outnum, self.trntype = 4 if self.ctrlspec == ControlChart.QUAT else 3, 3, Transmission.SO3

    def _pid(self) -> None:
        r, e = self.r, self.e
        if r.biastype != Bias.AFFINE:
            raise e.error("pid requires biastype 'affine'")
        if r.dyntype not in (Dynamics.NONE, Dynamics.PID):
            raise e.error("pid requires dyntype 'none' or 'pid'")
        if r.dyntype == Dynamics.NONE and r.gainprm[0]:
            raise e.error("ki (gainprm[0]) requires dyntype 'pid'")
        if self.trntype == Transmission.BODY:
            raise e.error("pid cannot use body transmission")
        if r.dyntype == Dynamics.PID:
            if r.dynprm[:2].min() < 0:
                raise e.error("imax (dynprm[0]) and slewmax (dynprm[1]) must be non-negative")
            states = int(r.dynprm[1] > 0) + int(r.gainprm[0] > 0)
            if r.actdim > 0 and r.actdim != states:
                raise e.error(f"this pid has {states} states, which actdim must match", "actdim")
            r.actdim = states
        self.ctrlspec = r.ctrlspec or ControlInput.POS | ControlInput.VEL
        if self.ctrlspec & ~(ControlInput.POS | ControlInput.VEL | ControlInput.FF):
            raise e.error("pid inputs are a subset of pos, vel, ff", "input")
        if r.dyntype == Dynamics.PID and not self.ctrlspec & ControlInput.POS:
            raise e.error("pid controller states require the pos input", "input")
        self.ctrlnum = self.ctrlspec.bit_count()

    def _dcmotor(self) -> None:
        r, e = self.r, self.e
        self.ctrlspec = r.ctrlspec or ControlInput.VOLTAGE
        if self.ctrlspec != ControlInput.NONE and self.ctrlspec & ~sum(INPUTS.values()):
            raise e.error("dcmotor inputs are none, or a subset of pos, vel, ff, voltage", "input")
        tokens = 0 if self.ctrlspec == ControlInput.NONE else self.ctrlspec
        controller = tokens & (ControlInput.POS | ControlInput.VEL | ControlInput.FF)
        if controller and r.gainprm[1] <= 0:
            raise e.error("dcmotor controller inputs require a positive motor constant", "input")
        if not controller and r.gainprm[4:7].any():
            raise e.error("dcmotor controller gains require a controller input: pos, vel or ff", "input")
        if r.gainprm[5] > 0 and not tokens & ControlInput.POS:
            raise e.error("dcmotor integral gain requires the pos input", "input")
        if not controller and r.dynprm[7] > 0:
            raise e.error("dcmotor slew rate limiting requires a controller input: pos, vel or ff", "input")
        self.ctrlnum = tokens.bit_count()

    # ---- ranges

    def _inherit_range(self) -> None:
        r, e, c = self.r, self.e, self.c
        servo = (r.gaintype == Gain.FIXED and r.gainprm[0] == -r.biasprm[1]) or r.gaintype == Gain.PID
        if not (servo and r.biastype == Bias.AFFINE and r.inheritrange > 0):
            return
        if r.dyntype in (Dynamics.NONE, Dynamics.FILTEREXACT, Dynamics.PID):
            name = "ctrlrange"
        elif r.dyntype == Dynamics.INTEGRATOR:
            name = "actrange"
        else:
            raise e.error("inheritrange is only available for position, pid and intvelocity actuators", "inheritrange")
        target = self.trnid[0]
        if self.trntype == Transmission.JOINT:
            if c.arrays["jnt_type"][target] < Joint.SLIDE:
                raise e.error("inheritrange can only be used with hinge and slide joints", "inheritrange")
            bounds = c.arrays["jnt_range"][target]
        elif self.trntype == Transmission.TENDON:
            bounds = c.arrays["tendon_range"][target]
        else:
            raise e.error("inheritrange can only be used with joint and tendon transmission", "inheritrange")
        if bounds[0] == bounds[1]:
            raise e.error("inheritrange is used but the target has no range", "inheritrange")
        middle, radius = 0.5 * (bounds[1] + bounds[0]), 0.5 * (bounds[1] - bounds[0]) * r.inheritrange
        setattr(r, name, np.array([middle - radius, middle + radius]))

    def _limited(self, what: str, value: int) -> bool:
        return limited(self.e, f"{what}limited", getattr(self.r, f"{what}range"), f"{what}range", force=value)

    def _limit_checks(self) -> None:
        r, e = self.r, self.e
        for what, flag in (("force", self.forcelimited), ("ctrl", self._ctrllimited), ("act", self.actlimited)):
            low, high = getattr(r, f"{what}range")
            if flag and low >= high:
                raise e.error(f"{what}range must grow, not {low:g} {high:g}")
        if self.actlimited and r.dyntype == Dynamics.NONE:
            raise e.error("actrange is given but dyntype is 'none'")

    def _controls(self) -> tuple[list[bool], list[np.ndarray]]:
        r = self.r
        flags, ranges = [self._ctrllimited] * self.ctrlnum, [r.ctrlrange] * self.ctrlnum
        if r.gaintype == Gain.PID:
            slot = int(bool(self.ctrlspec & ControlInput.POS))
            for token, bounds in ((ControlInput.VEL, r.velrange), (ControlInput.FF, r.ffrange)):
                if self.ctrlspec & token:
                    flags[slot], ranges[slot] = bool(bounds[0] < bounds[1]), bounds
                    slot += 1
        return flags, ranges

    # ---- activations, muscles, history

    def _activations(self) -> int:
        r, e = self.r, self.e
        dim, stateful = r.actdim, r.dyntype != Dynamics.NONE
        plugin = e.tag == "plugin"
        if not plugin:
            wide = r.dyntype in (Dynamics.USER, Dynamics.DCMOTOR, Dynamics.PID) or self.outnum == 3
            if dim > 1 and not wide:
                raise e.error("actdim > 1 is only allowed for dyntype 'user' and 'dcmotor'", "actdim")
            if dim == 1 and not stateful:
                raise e.error("invalid actdim 1 in a stateless actuator", "actdim")
            if dim == 0 and stateful and r.dyntype != Dynamics.DCMOTOR:
                raise e.error("invalid actdim 0 in a stateful actuator", "actdim")
        if dim < 0:
            dim = dcmotor_states(r) if r.dyntype == Dynamics.DCMOTOR else int(stateful)
        if r.dyntype == Dynamics.DCMOTOR and not r.actearly:
            raise e.error("actearly cannot be false for a DC motor", "actearly")
        if r.gaintype == Gain.DCMOTOR and dim != dcmotor_states(r):
            raise e.error(f"a DC motor with these parameters has {dcmotor_states(r)} states, not {dim}")
        if plugin:
            self._plugin_activations(dim, int(stateful))
        return dim

    def _plugin_activations(self, dim: int, own: int) -> None:
        instances = self.c.scratch.get("plugin_instances")
        if instances is None:
            return
        instance = instances[self.c.arrays["actuator_plugin"][self.index]]
        if instance.info.activations is not None:
            wanted = instance.info.activations(instance.config) + own
            if dim != wanted:
                raise self.e.error(f"this plugin actuator has actdim {dim}, expected {wanted}: add actdim=\"{wanted}\"")

    def _muscle_checks(self) -> None:
        r, e = self.r, self.e
        for is_muscle, prm in ((r.gaintype == Gain.MUSCLE, r.gainprm), (r.biastype == Bias.MUSCLE, r.biasprm)):
            if not is_muscle:
                continue
            if prm[0] >= prm[1]:
                raise e.error("range[0] < range[1] required in muscle")
            if prm[4] >= 1 or prm[5] <= 1:
                raise e.error("lmin < 1 < lmax required in muscle")
            if min(prm[3], prm[6], prm[7], prm[8]) <= 0:
                raise e.error("positive scale, vmax, fpmax, fvmax required in muscle")

    def _history_checks(self) -> None:
        r, e = self.r, self.e
        if r.delay > 0 and r.nsample <= 0:
            raise e.error("delay needs a history buffer: set nsample", "delay")
        if (r.delay > 0 or r.nsample > 0) and self.ctrlnum == 0:
            raise e.error("history and delay require an input")
        if r.nsample > MAX_SAMPLES:
            raise e.error("at most 2^24 samples in a history buffer", "nsample")
