"""A world built by hand, as a document: core arrays -> MJCF -> mjModel's rows.

    joint frames      body frame = X_p X_c^-1 in the parent; a MuJoCo joint stands at X_c in the child, its axis turned
                      by X_c's rotation. A D6 joint is its slides, then its hinges, on one body
    drives            force = ke (target_q - q) + kd (target_qd - qd), as an actuator for each of the two terms; the
                      effort limit is the joint's range of actuator force
    limits            a limit with stiffness ke and damping kd [force units]. MuJoCo's soft limit resists a steady force
                      with (stiffness of solref) / (A (1 - dmax)), A the dof's inverse weight; with f = A (1 - dmax)
                      solref = (2 / (kd f), kd f / (2 sqrt(ke f))) gives the force ke x + kd v
    loops             a second joint that holds a body becomes an equality: fixed a weld, ball a connect, revolute two
    distance          a free joint, and a tendon between the two anchors with a range of lengths
    particles         bodies after all others, and flexes between them (`deformables.py`)

The document is compiled as any other, so everything MuJoCo derives (weights, sparsity, bounds) is there.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from kinema.adapter.deformables import Soft
from kinema.adapter.shape_geoms import ShapeDocument, element, pose_attributes, text
from kinema.compile.elements import element_name, elements_of
from kinema.compile.host_model import HostModel
from kinema.compile.pipeline import compile_model
from kinema.errors import BuildError
from kinema.mjcf.source import Node
from kinema.model.enums import MAXVAL, BodyFlags, EqType, JointTargetMode, JointType
from kinema.model.transform import quat_rotate, transform_inverse, transform_mul

UNLIMITED_EFFORT = 1e6
"""Effort limits from here on mean none: Newton's default."""

OWN, TARGET_Q, TARGET_QD = 0, 1, 2
ROUNDING = 1e-6


@dataclass
class Lowered:
    """A compiled document and where its parts stand in the core arrays.

    Attributes:
        host: The compiled model.
        document: What was compiled, for reading.
        bodies: Core body of each body, -1 for the world.
        joints: (core joint, first coordinate, first dof) of each joint, counted within the world.
        geoms: Row of the shape columns of each geom.
        controls: (TARGET_Q or TARGET_QD, coordinate or dof) of each control, or (OWN, row of `mujoco:ctrl`).

    Bodies, joints and geoms of particles follow those that are listed.
    """

    host: HostModel
    document: Node
    bodies: list[int] = field(default_factory=list)
    joints: list[tuple[int, int, int]] = field(default_factory=list)
    geoms: list[int] = field(default_factory=list)
    controls: list[tuple[int, int]] = field(default_factory=list)


@dataclass
class Parts:
    """What is to be lowered.

    Attributes:
        rows: Core columns of the world, indices counted within it.
        shapes: Columns of the shapes (`shape_geoms.COLUMNS`), those of no world at the end.
        bodies: Core bodies to lower.
        filters: Pairs of rows of `shapes` that never touch.
        coordinate_targets: Whether position targets are laid out as coordinates are.
        ties: Joints that are not of this part, since they tie it to a document (`ties.py`).
        soft: Particles and what is between them.
        places: Row of `shapes` of each shape of the world.
    """

    rows: Mapping[str, np.ndarray]
    shapes: Mapping[str, np.ndarray]
    bodies: list[int]
    filters: np.ndarray
    coordinate_targets: bool = True
    ties: list[int] = field(default_factory=list)
    soft: Soft | None = None
    places: Mapping[int, int] = field(default_factory=dict)


def lower(parts: Parts) -> Lowered:
    """Compile the hand-built part of a world."""
    return _Lowering(parts).run()


class _Lowering:
    def __init__(self, parts: Parts):
        self.parts, self.rows = parts, parts.rows
        self.root = Node("mujoco", {"model": "world"})
        element(self.root, "compiler", angle="radian", autolimits="false", balanceinertia="false")
        rods = bool(np.any(np.asarray(self.rows["joint_type"]) == JointType.ROD)) and parts.soft is None
        option = element(self.root, "option", integrator="discrete" if rods else "implicitfast")  # for stiff springs
        element(option, "flag", filterparent="disable")  # joints name the pairs they filter
        self.actuators = Node("actuator")
        self.equality = Node("equality")
        self.tendons = Node("tendon")
        self.controls: list[tuple[int, int]] = []
        self.joint_places: dict[str, tuple[int, int, int]] = {}
        self.first_joint: dict[int, str] = {}
        self.limits: list[tuple[Node, str, int]] = []
        self.loops: list[int] = []
        self.tree = self._tree()

    def run(self) -> Lowered:
        world = element(self.root, "worldbody")
        elements, names = {-1: world}, {-1: "world"}
        for body in self._depth_first():
            elements[body] = self._body(body, elements)
            names[body] = f"body{body}"
        shapes = ShapeDocument(self.root, self.parts.shapes, elements, names)
        geoms = {name: shape for shape in range(len(self.parts.shapes["shape_type"])) if (name := shapes.add(shape))}
        shapes.filter(self.parts.filters)
        if self.parts.soft is not None:
            self.parts.soft.write(self.root, world)
        for joint in self.loops:
            self._loop(joint)
        self._constraints()
        self._elements()
        for section in (self.tendons, self.actuators, self.equality):
            if section.children:
                self.root.add(section)
        host = self._compile()
        if any(self._set_limits(host)):
            host = self._compile()
        host.stated = {}  # its options are for a world without documents, not a wish against theirs
        return Lowered(
            host,
            self.root,
            bodies=[-1 if name == "world" else int(name[4:]) for name in host.names("body") if name[:8] != "particle"],
            joints=[self.joint_places[name] for name in host.names("joint") if name in self.joint_places],
            geoms=[geoms[name] for name in host.names("geom") if name in geoms],
            controls=self.controls,
        )

    def _compile(self) -> HostModel:
        with warnings.catch_warnings():  # what holds a flex together is written once it is compiled
            warnings.filterwarnings("ignore", message=".*is not rigid and has no equality constraints")
            return compile_model(self.root)

    # ---- the tree

    def _tree(self) -> dict[int, int]:
        """The joint that holds each body; further joints are loops. Joints of an articulation come first."""
        order = np.argsort(np.asarray(self.rows["joint_articulation"]) < 0, kind="stable")
        wanted, holds = set(self.parts.bodies), {}
        for joint in order.tolist():
            child = int(self.rows["joint_child"][joint])
            if child not in wanted or joint in self.parts.ties:
                continue
            if child in holds:
                self.loops.append(joint)
            else:
                holds[child] = joint
        return holds

    def _parent(self, body: int) -> int:
        joint = self.tree.get(body)
        if joint is None:
            return -1
        parent = int(self.rows["joint_parent"][joint])
        if parent >= 0 and parent not in self.parts.bodies:
            raise BuildError(
                f"joint {self._joint_label(joint)!r} holds a body built by hand to a body of an MJCF document: "
                "put it into the document, or hold it with an equality constraint"
            )
        return parent

    def _depth_first(self) -> list[int]:
        children: dict[int, list[int]] = {}
        for body in self.parts.bodies:
            children.setdefault(self._parent(body), []).append(body)
        order, stack = [], list(reversed(children.get(-1, [])))
        while stack:
            body = stack.pop()
            order.append(body)
            stack.extend(reversed(children.get(body, [])))
        if len(order) != len(self.parts.bodies):
            missing = sorted(set(self.parts.bodies) - set(order))
            raise BuildError(f"bodies {missing} hang on one another in a circle; take a joint out of the articulation")
        return order

    def _body(self, body: int, elements: Mapping[int, Node]) -> Node:
        joint = self.tree.get(body)
        if joint is None or (self._is_held(body) and self._type(joint) in (JointType.FREE, JointType.FIXED)):
            placed = pose_attributes(self.rows["body_q"][body])
            node = element(elements[-1], "body", name=f"body{body}", mocap="true", **placed)
        else:
            placed = pose_attributes(self._rest_pose(joint, body))
            node = element(elements[self._parent(body)], "body", name=f"body{body}", **placed)
            self._joint(node, joint)
        self._inertial(node, body)
        return node

    def _is_held(self, body: int) -> bool:
        """Whether no force moves a body: it moves as it is told, or has neither mass nor inertia (inverses of 0)."""
        told = bool(int(self.rows["body_flags"][body]) & BodyFlags.KINEMATIC)
        return told or not (self.rows["body_mass"][body] or np.any(self.rows["body_inertia"][body]))

    def _rest_pose(self, joint: int, body: int) -> np.ndarray:
        """Pose of the body in its parent at coordinates zero; free bodies where they start."""
        if self._type(joint) in (JointType.FREE, JointType.DISTANCE):
            if int(self.rows["joint_parent"][joint]) >= 0:
                raise BuildError(
                    f"joint {self._joint_label(joint)!r} leaves its child free but has a parent body: give the child a "
                    "free joint of its own (add_body does), and add a distance joint after it"
                )
            return np.asarray(self.rows["body_q"][body], dtype=float)
        if self._type(joint) == JointType.ROD:  # at rest as it was built
            parent, own = self._parent(body), np.asarray(self.rows["body_q"][body], dtype=float)
            if parent < 0:
                return own
            return transform_mul(transform_inverse(np.asarray(self.rows["body_q"][parent], dtype=float)), own)
        frame_p, frame_c = self._frames(joint)
        return transform_mul(frame_p, transform_inverse(frame_c))

    def _inertial(self, node: Node, body: int) -> None:
        mass = float(self.rows["body_mass"][body])
        joint = self.tree.get(body)
        if joint is not None and self._type(joint) == JointType.ROD and self._is_held(body):
            raise BuildError(
                f"the segment of a rod that joint {self._joint_label(joint)!r} holds has no mass: only the first one, "
                "which has a free joint, can be pinned so; give it its mass and hold it by a fixed joint to the world"
            )
        if mass <= 0.0:
            return
        inertia = np.asarray(self.rows["body_inertia"][body], dtype=float).reshape(3, 3)
        inertia = _rounded_back((inertia + inertia.T) / 2)
        full = inertia[[0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]]
        numbers = {"fullinertia": text(full)} if full[3:].any() else {"diaginertia": text(full[:3])}
        element(node, "inertial", pos=text(self.rows["body_com"][body]), mass=text(mass), **numbers)

    # ---- joints

    def _type(self, joint: int) -> JointType:
        return JointType(int(self.rows["joint_type"][joint]))

    def _joint_label(self, joint: int) -> str:
        return str(self.rows["joint_label"][joint])

    def _frames(self, joint: int) -> tuple[np.ndarray, np.ndarray]:
        above, below = (np.asarray(self.rows[key][joint], dtype=float) for key in ("joint_X_p", "joint_X_c"))
        return above, below

    def _joint(self, node: Node, joint: int) -> None:
        kind, label = self._type(joint), self._joint_label(joint)
        if kind == JointType.ROD:
            return self._rod(node, joint)
        if not bool(self.rows["joint_enabled"][joint]):
            raise BuildError(f"joint {label!r} is disabled but is the one that holds its body; give it a free joint")
        coord, dof = int(self.rows["joint_q_start"][joint]), int(self.rows["joint_qd_start"][joint])
        _, frame_c = self._frames(joint)
        if kind in (JointType.FREE, JointType.DISTANCE, JointType.BALL):
            name = "free" if kind != JointType.BALL else "ball"
            place = {} if name == "free" else {"pos": text(frame_c[:3])}
            self._add_joint(node, joint, name, coord, dof, place)
            if kind == JointType.DISTANCE:
                self.loops.append(joint)  # a tendon between the anchors, once all bodies are there
            if np.any(np.asarray(self.rows["joint_target_ke"][dof : dof + 3])):
                raise BuildError(f"joint {label!r}: drives of {kind.name} joints are not supported; use a D6 joint")
            return
        linear, angular = (int(n) for n in self.rows["joint_dof_dim"][joint])
        for k in range(linear + angular):
            axis = quat_rotate(frame_c[3:], np.asarray(self.rows["joint_axis"][dof + k], dtype=float))
            place = {"pos": text(frame_c[:3]), "axis": text(axis)}
            self._add_joint(node, joint, "slide" if k < linear else "hinge", coord + k, dof + k, place)

    def _rod(self, node: Node, joint: int) -> None:
        """The joint between two segments: a ball with a spring; hinges where twist has a stiffness of its own.

        Stretch and shear are rigid. What it has of coordinates says nothing: poses of bodies do (conventions.py).
        """
        label, dof = self._joint_label(joint), int(self.rows["joint_qd_start"][joint])
        if not bool(self.rows["joint_enabled"][joint]):
            raise BuildError(f"joint {label!r} is disabled but is the one that holds its body; give it a free joint")
        _, frame_c = self._frames(joint)
        gains = [(float(self.rows["joint_target_ke"][dof + k]), float(self.rows["joint_target_kd"][dof + k]))
                 for k in (2, 3)]  # fmt: skip
        place = {"pos": text(frame_c[:3])}
        axes = [{"type": "ball"}] if gains[0] == gains[1] else [
            {"type": "hinge", "axis": text(quat_rotate(frame_c[3:], axis))} for axis in np.eye(3)
        ]  # fmt: skip
        for k, axis in enumerate(axes):
            name = f"joint{joint}.rod{k}"
            self.first_joint.setdefault(joint, name)
            self.joint_places[name] = (joint, -1, dof + k)
            ke, kd = gains[k // 2]
            element(node, "joint", name=name, stiffness=text(ke), damping=text(kd), **axis, **place)

    def _add_joint(self, node: Node, joint: int, kind: str, coord: int, dof: int, place: dict[str, str]) -> None:
        """One MuJoCo joint, its passive forces, limits and drive."""
        name = f"joint{joint}.{coord}"
        self.first_joint.setdefault(joint, name)
        self.joint_places[name] = (joint, coord, dof)
        more: dict[str, Any] = {}
        effort = float(self.rows["joint_effort_limit"][dof])
        lower, upper = float(self.rows["joint_limit_lower"][dof]), float(self.rows["joint_limit_upper"][dof])
        if kind in ("slide", "hinge"):
            if effort < UNLIMITED_EFFORT:
                more |= {"actuatorfrclimited": "true", "actuatorfrcrange": text(-effort, effort)}
            if lower > -MAXVAL or upper < MAXVAL:
                more |= {"limited": "true", "range": text(lower, upper)}
        added = element(
            node, "joint", name=name, type=kind, armature=text(self.rows["joint_armature"][dof]),
            damping=text(self.rows["joint_damping"][dof]), frictionloss=text(self.rows["joint_friction"][dof]),
            **place, **more,
        )  # fmt: skip
        if "limited" in more:
            self.limits.append((added, name, dof))
        if kind in ("slide", "hinge"):
            self._drive(name, coord, dof)

    def _set_limits(self, host: HostModel) -> list[bool]:
        """Stiffness and damping of limits, now that the inertia behind them is known; says which are not MuJoCo's."""
        changed = []
        for added, name, dof in self.limits:
            ke, kd = float(self.rows["joint_limit_ke"][dof]), float(self.rows["joint_limit_kd"][dof])
            joint = host.id("joint", name)
            scale = float(host.dof_invweight0[host.jnt_dofadr[joint]] * (1.0 - host.jnt_solimp[joint, 1]))
            changed.append(ke > 0.0 and kd > 0.0)
            if changed[-1]:
                added.attributes["solreflimit"] = text(2.0 / (kd * scale), kd * scale / (2.0 * np.sqrt(ke * scale)))
        return changed

    def _drive(self, name: str, coord: int, dof: int) -> None:
        mode = JointTargetMode(int(self.rows["joint_target_mode"][dof]))
        ke, kd = float(self.rows["joint_target_ke"][dof]), float(self.rows["joint_target_kd"][dof])
        if mode in (JointTargetMode.NONE, JointTargetMode.EFFORT):
            return
        if mode != JointTargetMode.VELOCITY:
            element(self.actuators, "position", joint=name, kp=text(ke))
            self.controls.append((TARGET_Q, coord if self.parts.coordinate_targets else dof))
        if kd != 0.0:
            element(self.actuators, "velocity", joint=name, kv=text(kd))
            self.controls.append((TARGET_QD, dof))

    # ---- constraints

    def _name(self, body: int) -> str:
        return "world" if body < 0 else f"body{body}"

    def _anchor(self, body: int, frame: np.ndarray, name: str) -> str:
        """A site at a joint's frame on a body."""
        for node in self.root.walk():
            if node.tag in ("body", "worldbody") and node.attributes.get("name", "world") == self._name(body):
                element(node, "site", name=name, **pose_attributes(frame))
                return name
        raise BuildError(f"body {body} of a joint is not part of this world")

    def _loop(self, joint: int) -> None:
        kind, label = self._type(joint), self._joint_label(joint)
        parent, child = int(self.rows["joint_parent"][joint]), int(self.rows["joint_child"][joint])
        frame_p, frame_c = self._frames(joint)
        sites = [self._anchor(body, frame, f"loop{joint}.{end}") for end, (body, frame) in
                 enumerate([(parent, frame_p), (child, frame_c)])]  # fmt: skip
        active = "true" if bool(self.rows["joint_enabled"][joint]) else "false"
        if kind == JointType.DISTANCE:
            dof = int(self.rows["joint_qd_start"][joint])
            least, most = float(self.rows["joint_limit_lower"][dof]), float(self.rows["joint_limit_upper"][dof])
            rope = element(
                self.tendons, "spatial", name=f"loop{joint}", limited="true",
                range=text(max(least, 0.0), most if most >= 0.0 else MAXVAL),
            )  # fmt: skip
            for site in sites:
                element(rope, "site", site=site)
        elif kind == JointType.FIXED:
            element(self.equality, "weld", site1=sites[0], site2=sites[1], active=active)
        elif kind in (JointType.BALL, JointType.ROD):
            element(self.equality, "connect", site1=sites[0], site2=sites[1], active=active)
        elif kind == JointType.REVOLUTE:
            axis = np.asarray(self.rows["joint_axis"][int(self.rows["joint_qd_start"][joint])], dtype=float)
            along = np.concatenate([axis, [0.0, 0.0, 0.0, 1.0]])  # a second point on the axis
            far = [self._anchor(body, transform_mul(frame, along), f"loop{joint}.{end}") for end, (body, frame) in
                   zip((2, 3), [(parent, frame_p), (child, frame_c)], strict=True)]  # fmt: skip
            for first, second in (sites, far):
                element(self.equality, "connect", site1=first, site2=second, active=active)
        else:
            raise BuildError(
                f"joint {label!r} closes a loop, which a {kind.name} joint cannot: use a fixed, ball, revolute or "
                "distance joint"
            )

    def _constraints(self) -> None:
        """Equality constraints, and joints that follow others."""
        rows, key = self.rows, "mujoco:equality_constraint_"
        for k in range(len(rows[f"{key}type"])):
            kind = EqType(int(rows[f"{key}type"][k]))
            active = "true" if bool(rows[f"{key}enabled"][k]) else "false"
            bodies = {f"body{n}": self._name(int(rows[f"{key}body{n}"][k])) for n in (1, 2)}
            if kind == EqType.JOINT:
                poly = text(rows[f"{key}polycoef"][k])
                self._follow(int(rows[f"{key}joint1"][k]), int(rows[f"{key}joint2"][k]), poly, active)
            elif kind == EqType.CONNECT:
                anchor = text(rows[f"{key}anchor"][k])
                element(self.equality, "connect", anchor=anchor, active=active, **bodies)
            else:
                relpose = np.asarray(rows[f"{key}relpose"][k], dtype=float)
                element(
                    self.equality, "weld", anchor=text(rows[f"{key}anchor"][k]), active=active,
                    relpose=text(relpose[:3], relpose[6], relpose[3:6]),
                    torquescale=text(rows[f"{key}torquescale"][k]), **bodies,
                )  # fmt: skip
        for k in range(len(rows["constraint_mimic_joint0"])):
            poly = text(rows["constraint_mimic_coef0"][k], rows["constraint_mimic_coef1"][k], 0, 0, 0)
            active = "true" if bool(rows["constraint_mimic_enabled"][k]) else "false"
            first, second = (int(rows[f"constraint_mimic_joint{n}"][k]) for n in (0, 1))
            self._follow(first, second, poly, active)
        for joint, leader in enumerate(np.asarray(rows["joint_mimic_joint"]).tolist()):
            if leader >= 0 and joint in self.first_joint:
                self._follow(joint, leader, text(rows["joint_mimic_coeffs"][joint], 0, 0, 0), "true")

    def _elements(self) -> None:
        """Actuators and tendons of MuJoCo's own kinds."""
        sections = {"actuator": self.actuators, "tendon": self.tendons}
        by_dof = {dof: name for name, (_, _, dof) in self.joint_places.items()}

        def named(kind: str, row: int) -> str:
            if kind == "target":
                return element_name(row)
            if kind == "body":
                return self._name(row)
            if (row not in by_dof) if kind == "dof" else (row not in self.parts.places):
                raise BuildError(f"{kind} {row}, which MuJoCo's actuators or tendons act on, is not built by hand here")
            return by_dof[row] if kind == "dof" else f"shape{self.parts.places[row]}"

        for each in elements_of(self.rows):
            sections[each.section].add(each.node(named))
            if each.control >= 0:
                self.controls.append((OWN, each.control))

    def _follow(self, joint: int, leader: int, poly: str, active: str) -> None:
        names = {"joint1": self.first_joint[joint]}
        if leader >= 0:
            names["joint2"] = self.first_joint[leader]
        element(self.equality, "joint", polycoef=poly, active=active, **names)


def _rounded_back(inertia: np.ndarray) -> np.ndarray:
    """Undo what rounding to float32 did to thin bodies, whose largest moment is the sum of the other two."""
    moments, axes = np.linalg.eigh(inertia)
    excess = moments[2] - moments[0] - moments[1]
    if 0.0 < excess <= ROUNDING * moments[2]:
        return inertia - 2.0 * excess * np.outer(axes[:, 2], axes[:, 2])
    return inertia
