"""MuJoCo's actuators and tendons in stages (MjcActuator, MjcTendon).

    position, velocity     an actuator on one dof with MuJoCo's gains of these becomes the dof's drive, as in Newton:
                           control.joint_target_q, joint_target_qd
    others                 elements beside the bodies (`kinema.compile.elements`): control.mujoco.ctrl

Attributes are MJCF's, in the table below; limits that are "auto" hold where a range is given.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..compile.elements import Element, add_element
from ..errors import BuildError
from ..model import JointTargetMode, ShapeFlags
from .scene import Scene
from .schemas import authored

ACTUATOR = {
    "mjc:group": "group", "mjc:gear": "gear", "mjc:crankLength": "cranklength", "mjc:dynType": "dyntype",
    "mjc:gainType": "gaintype", "mjc:biasType": "biastype", "mjc:dynPrm": "dynprm", "mjc:gainPrm": "gainprm",
    "mjc:biasPrm": "biasprm", "mjc:actEarly": "actearly", "mjc:actDim": "actdim",
}  # fmt: skip
ACTUATOR_RANGES = {"ctrl": "ctrlRange", "force": "forceRange", "act": "actRange"}
TENDON = {
    "mjc:group": "group", "mjc:solreflimit": "solreflimit", "mjc:solimplimit": "solimplimit",
    "mjc:solreffriction": "solreffriction", "mjc:solimpfriction": "solimpfriction", "mjc:margin": "margin",
    "mjc:frictionloss": "frictionloss", "mjc:width": "width", "mjc:springlength": "springlength",
    "mjc:stiffness": "stiffness", "mjc:damping": "damping", "mjc:armature": "armature", "mjc:rgba": "rgba",
}  # fmt: skip
POSITION, VELOCITY = JointTargetMode.POSITION, JointTargetMode.VELOCITY


def add_mujoco_elements(scene: Scene) -> None:
    """Tendons first, since actuators pull on them."""
    tendons = {}
    for prim in scene.of_type("MjcTendon"):
        row = _add_tendon(scene, prim)
        if row is not None:
            tendons[str(prim.GetPath())] = row
    for prim in scene.of_type("MjcActuator"):
        _add_actuator(scene, prim, tendons)


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (str, int)):
        return str(value)
    return " ".join(repr(float(x)) for x in np.ravel(np.asarray(value, dtype=float)))


def _plain(prim: Any, table: dict[str, str]) -> dict[str, str]:
    """Attributes that stand for themselves."""
    found = {ours: authored(prim, theirs) for theirs, ours in table.items()}
    if found.get("actdim") == -1:  # as many as the dynamics have
        found["actdim"] = None
    return {name: _text(value) for name, value in found.items() if value is not None}


def _limit(prim: Any, limited: str, extent: str) -> tuple[str, str] | None:
    """Whether something is limited, and its range; None where nothing is said."""
    ends = [authored(prim, f"{extent}:{end}") for end in ("min", "max")]
    word = str(authored(prim, limited) or "auto").lower()
    if word == "auto" and ends == [None, None]:
        return None
    low, high = (0.0 if end is None else float(end) for end in ends)
    on = word == "true" or (word == "auto" and (low, high) != (0.0, 0.0))
    return _text(on), _text([low, high])


def _targets(prim: Any, name: str) -> list[str]:
    relation = prim.GetRelationship(name)
    return [str(path) for path in relation.GetTargets()] if relation else []


def _numbers(prim: Any, name: str) -> list[Any]:
    value = authored(prim, name)
    return [] if value is None else list(value)


# ---- actuators


def _add_actuator(scene: Scene, prim: Any, tendons: dict[str, int]) -> None:
    path = str(prim.GetPath())
    targets = _targets(prim, "mjc:target")
    if not targets:
        warnings.warn(f"{path}: an actuator without mjc:target is left out", stacklevel=4)
        return
    if scene.ignored(targets[0]):
        return
    dof = scene.dofs.get(targets[0])
    attributes: dict[str, Any] = _plain(prim, ACTUATOR)
    for name, extent in ACTUATOR_RANGES.items():
        limit = _limit(prim, f"mjc:{name}Limited", f"mjc:{extent}")
        if limit is not None:
            attributes |= {f"{name}limited": limit[0], f"{name}range": limit[1]}
    length = _limit(prim, "mjc:lengthLimited", "mjc:lengthRange")
    if length is not None:
        attributes["lengthrange"] = length[1]
    if authored(prim, "mjc:inheritRange"):
        warnings.warn(f"{path}: mjc:inheritRange is left out; write mjc:ctrlRange", stacklevel=4)
    if dof is not None and _drives(scene, dof, attributes):
        return
    references = _transmission(scene, prim, targets[0], dof, tendons, attributes)
    dynamics = attributes.get("dyntype", "none")
    count = 0 if dynamics == "none" else max(int(attributes.get("actdim", 1)), 1)
    add_element(scene.builder, Element("actuator", "general", attributes, (), references), path, activations=count)


def _transmission(
    scene: Scene, prim: Any, target: str, dof: int | None, tendons: dict[str, int], attributes: dict[str, Any]
) -> list[tuple[str, int]]:
    """What an actuator acts on: writes the attributes, and gives the references they stand for."""
    path = prim.GetPath()
    if dof is not None:
        attributes["jointinparent" if authored(prim, "mjc:jointInParent") else "joint"] = 0
        return [("dof", dof)]
    if target in tendons:
        attributes["tendon"] = 0
        return [("target", tendons[target])]
    if target in scene.shapes:
        slider, reference = _targets(prim, "mjc:sliderSite"), _targets(prim, "mjc:refSite")
        sites = [target, *(slider or reference)[:1]]
        for site in sites:
            _check_site(scene, site, path)
        names = ("cranksite", "slidersite") if slider else ("site", "refsite")
        attributes |= {name: k for k, name in enumerate(names[: len(sites)])}
        return [("shape", scene.shapes[site]) for site in sites]
    if target in scene.bodies:
        attributes["body"] = 0
        return [("body", scene.bodies[target])]
    raise BuildError(f"{path}: mjc:target names {target}, which is no joint, tendon, site or body of the model")


def _check_site(scene: Scene, path: str, user: Any) -> None:
    shape = scene.shapes.get(path)
    if shape is None or not int(scene.builder.rows("shape_flags")[shape]) & ShapeFlags.SITE:
        raise BuildError(f"{user}: {path} is no site of the model (NewtonSiteAPI or MjcSiteAPI)")


def _drives(scene: Scene, dof: int, attributes: dict[str, Any]) -> bool:
    """Whether an actuator is a position or velocity servo of one dof; if so, the dof's drive is set."""
    words = [attributes.get(name, default) for name, default in (
        ("biastype", "none"), ("dyntype", "none"), ("gaintype", "fixed"))]  # fmt: skip
    gear = np.array([float(x) for x in str(attributes.get("gear", "1")).split()])
    if words != ["affine", "none", "fixed"] or not np.allclose(gear, np.eye(1, len(gear))[0]):
        return False
    words = (str(attributes.get(name, "")).split() for name in ("gainprm", "biasprm"))
    gain, bias = ([*map(float, numbers), 0.0, 0.0, 0.0] for numbers in words)
    kp = gain[0] if attributes.get("gainprm") else 1.0
    position = np.isclose(bias[0], 0.0) and np.isclose(bias[1], -kp) and bias[2] <= 0.0
    velocity = np.isclose(bias[0], 0.0) and np.isclose(bias[1], 0.0) and np.isclose(bias[2], -kp)
    if kp <= 0.0 or not (position or velocity):
        return False
    builder = scene.builder
    mode = builder.edit("joint_target_mode")
    before = JointTargetMode(int(mode[dof]))
    if position:
        builder.edit("joint_target_ke")[dof] = kp
        if before == JointTargetMode.NONE:
            builder.edit("joint_target_kd")[dof] = -bias[2]
    else:
        builder.edit("joint_target_kd")[dof] = kp
    mine, other = (POSITION, VELOCITY) if position else (VELOCITY, POSITION)
    if before in (JointTargetMode.NONE, other):
        mode[dof] = int(mine if before == JointTargetMode.NONE else JointTargetMode.POSITION_VELOCITY)
    return True


# ---- tendons


def _add_tendon(scene: Scene, prim: Any) -> int | None:
    path, kind = str(prim.GetPath()), str(authored(prim, "mjc:type") or "spatial").lower()
    if kind not in ("fixed", "spatial"):
        raise BuildError(f"{path}: mjc:type={kind!r} is neither 'fixed' nor 'spatial'")
    attributes: dict[str, Any] = _plain(prim, TENDON)
    for limited, extent in (("limited", "range"), ("actuatorfrclimited", "actuatorfrcrange")):
        limit = _limit(prim, f"mjc:{limited}", f"mjc:{extent}")
        if limit is not None:
            attributes |= {limited: limit[0], extent: limit[1]}
    targets = _targets(prim, "mjc:path")
    order = [int(k) for k in _numbers(prim, "mjc:path:indices")] or list(range(len(targets)))
    if not order or not all(0 <= k < len(targets) for k in order):
        raise BuildError(f"{path}: mjc:path:indices {order} are not of the {len(targets)} targets of mjc:path")
    along = [targets[k] for k in order]
    if kind == "fixed":
        for name in ("width", "rgba"):
            attributes.pop(name, None)
        children, references = _over_joints(scene, prim, along)
    else:
        children, references = _over_shapes(scene, prim, along)
    return add_element(scene.builder, Element("tendon", kind, attributes, children, references), path)


Parts = tuple[list[tuple[str, dict[str, Any]]], list[tuple[str, int]]]
"""Children of a tendon, and what they refer to."""


def _over_joints(scene: Scene, prim: Any, along: Sequence[str]) -> Parts:
    factors = [float(x) for x in _numbers(prim, "mjc:path:coef")]
    children, references = [], []
    for k, joint in enumerate(along):
        if joint not in scene.dofs:
            raise BuildError(f"{prim.GetPath()}: mjc:path names {joint}, which is no hinge or slide of the model")
        children.append(("joint", {"joint": k, "coef": _text([factors[k] if k < len(factors) else 1.0])}))
        references.append(("dof", scene.dofs[joint]))
    return children, references


def _over_shapes(scene: Scene, prim: Any, along: Sequence[str]) -> Parts:
    path = prim.GetPath()
    segments = [int(x) for x in _numbers(prim, "mjc:path:segments")]
    divisors = [float(x) for x in _numbers(prim, "mjc:path:divisors")]
    sides, side_of = _targets(prim, "mjc:sideSites"), [int(x) for x in _numbers(prim, "mjc:sideSites:indices")]
    for name, values in (("mjc:path:segments", segments), ("mjc:sideSites:indices", side_of)):
        if values and len(values) != len(along):
            raise BuildError(f"{path}: {name} has {len(values)} entries for a path of {len(along)}")
    children: list[tuple[str, dict[str, Any]]] = []
    references: list[tuple[str, int]] = []

    def refer(shape: str) -> int:
        references.append(("shape", scene.shapes[shape]))
        return len(references) - 1

    for k, shape in enumerate(along):
        if segments and k and segments[k] > segments[k - 1]:
            if segments[k] >= len(divisors) or not divisors[segments[k]] > 0.0:
                raise BuildError(f"{path}: mjc:path:divisors has no divisor above zero for segment {segments[k]}")
            children.append(("pulley", {"divisor": _text([divisors[segments[k]]])}))
        if shape not in scene.shapes:
            raise BuildError(f"{path}: mjc:path names {shape}, which is no shape or site of the model")
        if int(scene.builder.rows("shape_flags")[scene.shapes[shape]]) & ShapeFlags.SITE:
            children.append(("site", {"site": refer(shape)}))
            continue
        wrap: dict[str, Any] = {"geom": refer(shape)}
        if side_of and side_of[k] >= 0:
            _check_site(scene, sides[side_of[k]], path)
            wrap["sidesite"] = refer(sides[side_of[k]])
        children.append(("geom", wrap))
    return children, references
