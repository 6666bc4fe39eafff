"""A Model as a USD stage with UsdPhysics, which `add_usd` here and in Newton reads back.

    /world_3                    a world; worlds that are alike refer to one class of prims, each where it stands
    /world_3/<articulation>     its bodies and joints, PhysicsArticulationRootAPI
    .../<body>/<shape>          PhysicsRigidBodyAPI with mass, centre and inertia; gprims with PhysicsCollisionAPI
    /materials/<n>              friction, restitution and contact stiffness, each set of numbers once

Units are UsdPhysics': turns in degrees, gains per degree. A joint's axis is x, y or z of its frame: other axes turn the
frame, so that the joint is the same and its arrays are not. Attributes UsdPhysics has no name for are Newton's
(`newton:armature`). Joints to the world are written relative to the world's own prim, so a world can be moved as one.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ..compile.world_rows import LiveRows, WholeRows, has_no_worlds, shared_shapes
from ..errors import BuildError
from ..model import Axis, BodyFlags, JointTargetMode, JointType, Model, ShapeFlags
from ..model.transform import IDENTITY, quat_between, quat_rotate, transform_inverse, transform_mul
from .gprims import ShapeWriter, place, quat
from .joints import D6, DEGREE

UNLIMITED = 1e10
"""Limits and efforts from here on are none."""
NO_SPEED = 1e6
"""Limits of speed from here on are none: Newton's default."""
KINDS = {
    JointType.REVOLUTE: "RevoluteJoint", JointType.PRISMATIC: "PrismaticJoint", JointType.BALL: "SphericalJoint",
    JointType.FIXED: "FixedJoint", JointType.DISTANCE: "DistanceJoint", JointType.D6: "Joint",
}  # fmt: skip
LEFT_OUT = {
    "particle": "particles", "muscle": "muscles", "mujoco:actuator": "actuators of documents",
    "mujoco:tendon": "tendons of documents", "mujoco:element": "MuJoCo's actuators and tendons",
}  # fmt: skip
"""Kinds of rows that nothing is written of."""
PARTS = {
    "DrivePD": "NewtonPDControlAPI", "DrivePID": "NewtonPIDControlAPI",
    "ClampingMaxEffort": "NewtonMaxEffortClampingAPI", "ClampingDCMotor": "NewtonDCMotorClampingAPI",
    "ClampingPositionBased": "NewtonPositionBasedClampingAPI",
}  # fmt: skip


def save_usd(model: Model, path: Any = None, *, world: int | None = None, state: Any = None) -> Any:
    """Write a model to a stage; see `Model.save_usd`."""
    from ..errors import need

    need("pxr", "usd", "USD files")
    from pxr import Sdf, Usd, UsdGeom, UsdPhysics

    if world is not None and not 0 <= world < model.world_count:
        raise IndexError(f"save_usd(): world {world} is not in 0 to {model.world_count - 1}")
    layer = Sdf.Layer.CreateAnonymous(".usda") if path is None else _new_layer(Path(path))
    stage = Usd.Stage.Open(layer)
    UsdGeom.SetStageUpAxis(stage, "XYZ"[int(Axis.from_any(model.up_axis))])
    UsdGeom.SetStageMetersPerUnit(stage, 1.0)
    UsdPhysics.SetStageKilogramsPerUnit(stage, 1.0)
    _write_gravity(stage, model, 0 if world is None else world)
    shapes = ShapeWriter(stage)
    whole = has_no_worlds(model)
    wanted = range(model.world_count) if world is None else [world]
    templates: dict[int, str] = {}
    for w in wanted:
        root = f"/{name_of(model.world_label[w] if not whole else 'world', 'world', set())}"
        if stage.GetPrimAtPath(root):
            root = f"{root}_{w}"
        placed = None if model._world_xforms is None else np.asarray(model._world_xforms[w], float)
        kind = int(model.world_class_of[w])
        if state is None and len(model.world_classes[kind]) > 1 and world is None:
            if kind not in templates:
                templates[kind] = f"/kind_{kind}"
                _write_world(stage, model, w, templates[kind], placed, None, shapes, abstract=True)
            prim = UsdGeom.Xform.Define(stage, root).GetPrim()
            prim.GetReferences().AddInternalReference(templates[kind])
        else:
            prim = _write_world(stage, model, w, root, placed, state, shapes)
        place(prim, IDENTITY if placed is None else placed)
        if w == wanted[0]:
            stage.SetDefaultPrim(prim)
    if not whole:
        _write_shared(stage, model, shapes)
    if path is not None:
        layer.Save()
    return stage


def _new_layer(path: Path) -> Any:
    from pxr import Sdf

    if path.suffix not in (".usd", ".usda", ".usdc"):
        raise BuildError(f"save_usd(): {str(path)!r} does not end in .usda, .usdc or .usd")
    known = Sdf.Layer.Find(str(path))
    if known is not None:
        known.Clear()
        return known
    return Sdf.Layer.CreateNew(str(path))


def name_of(label: str, kind: str, taken: set[str]) -> str:
    """A label's last part as a name for USD that no sibling has."""
    word = re.sub(r"\W", "_", str(label).rstrip("/").rpartition("/")[2]) or kind
    word = f"_{word}" if word[0].isdigit() else word
    name, number = word, 1
    while name in taken:
        name, number = f"{word}_{number}", number + 1
    taken.add(name)
    return name


def _write_gravity(stage: Any, model: Model, world: int) -> None:
    from pxr import Gf, UsdPhysics

    gravity = model.gravity.numpy()[world].astype(float)
    size = float(np.linalg.norm(gravity))
    scene = UsdPhysics.Scene.Define(stage, "/physics")
    along = gravity / size if size > 0.0 else -Axis.from_any(model.up_axis).to_vec3()
    scene.CreateGravityDirectionAttr(Gf.Vec3f(*along.tolist()))
    scene.CreateGravityMagnitudeAttr(size)


def _write_shared(stage: Any, model: Model, shapes: ShapeWriter) -> None:
    """Static shapes of no world."""
    shared = shared_shapes(model)
    if shared:
        rows = WholeRows(model)
        taken = {prim.GetName() for prim in stage.GetPseudoRoot().GetChildren()}
        for shape in shared:
            shapes.write(rows, shape, f"/{name_of(rows['shape_label'][shape], 'shape', taken)}", IDENTITY)


def _write_world(
    stage: Any, model: Model, world: int, root: str, placed: np.ndarray | None, state: Any, shapes: ShapeWriter, *,
    abstract: bool = False,
) -> Any:  # fmt: skip
    from pxr import UsdGeom

    rows: Mapping[str, np.ndarray] = WholeRows(model) if has_no_worlds(model) else LiveRows(model, world)
    if state is not None:
        rows = _WithState(rows, model, world, state)
    prim = stage.CreateClassPrim(root) if abstract else UsdGeom.Xform.Define(stage, root).GetPrim()
    if abstract:
        prim.SetTypeName("Xform")
    _World(stage, model, rows, root, IDENTITY if placed is None else placed, shapes).write()
    return prim


class _WithState(Mapping):
    """Rows of a world with the numbers of a state."""

    NAMES = {"body_q": "body", "body_qd": "body", "joint_q": "joint_coord", "joint_qd": "joint_dof"}

    def __init__(self, rows: Mapping[str, np.ndarray], model: Model, world: int, state: Any):
        self.rows, self.model, self.world, self.state = rows, model, world, state

    def __getitem__(self, key: str) -> np.ndarray:
        if key not in self.NAMES:
            return self.rows[key]
        values = getattr(self.state, key).numpy()
        if has_no_worlds(self.model):
            return values
        start, end = self.model.row_span(self.NAMES[key], self.world)
        return values[start:end]

    def __iter__(self) -> Any:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)


class _World:
    """Writes one world, in its own frame."""

    def __init__(
        self, stage: Any, model: Model, rows: Mapping[str, np.ndarray], root: str, placed: np.ndarray,
        shapes: ShapeWriter,
    ):  # fmt: skip
        self.stage, self.model, self.rows, self.root, self.shapes = stage, model, rows, root, shapes
        self.back = transform_inverse(np.asarray(placed, float))
        self.taken: dict[str, set[str]] = {}
        self.bodies: dict[int, str] = {}
        self.joints: dict[int, str] = {}
        self.dofs: dict[int, str] = {}
        self.shape_paths: dict[int, str] = {}
        self.joint_labels = self._labels()

    def name(self, parent: str, label: str, kind: str) -> str:
        """A path below a parent that nothing has."""
        return f"{parent}/{name_of(label, kind, self.taken.setdefault(parent, set()))}"

    def write(self) -> None:
        """Bodies by articulation, then what is in none; shapes, joints, filters, followers and actuators."""
        self._warn()
        rows, homes = self.rows, self._homes()
        for body in range(len(rows["body_mass"])):
            self._body(body, homes.get(body, self.root))
        for shape in range(len(rows["shape_type"])):
            body = int(rows["shape_body"][shape])
            label = str(rows["shape_label"][shape])
            path = self.name(self.bodies.get(body, self.root), label, "shape")
            if self.shapes.write(rows, shape, path, self.back if body < 0 else IDENTITY):
                self.shape_paths[shape] = path
        for joint in range(len(rows["joint_type"])):
            if not self._is_free_root(joint):
                home = homes.get(int(rows["joint_child"][joint]), self.root)
                self._joint(joint, home)
        self._filter()
        self._follow()
        self._actuators()

    def _warn(self) -> None:
        left = [f"{count} {LEFT_OUT[kind]}" for kind, count in self.model.kinds.items() if kind in LEFT_OUT and count]
        if left:
            warnings.warn(f"save_usd(): left out: {', '.join(left)}; save_mjcf writes documents whole", stacklevel=6)

    # ---- bodies

    def _homes(self) -> dict[int, str]:
        """The prim of each articulation, by body; a tree of one free body is a body without one."""
        from pxr import UsdGeom, UsdPhysics

        rows, found = self.rows, {}
        owner, child = np.asarray(rows["joint_articulation"]), np.asarray(rows["joint_child"])
        for tree in range(len(rows["articulation_label"])):
            joints = np.flatnonzero(owner == tree)
            if len(joints) == 1 and self._is_free_root(int(joints[0])):
                continue
            path = self.name(self.root, str(rows["articulation_label"][tree]), "articulation")
            UsdPhysics.ArticulationRootAPI.Apply(UsdGeom.Xform.Define(self.stage, path).GetPrim())
            found |= dict.fromkeys(child[joints].tolist(), path)
        return found

    def _is_free_root(self, joint: int) -> bool:
        kind, parent = int(self.rows["joint_type"][joint]), int(self.rows["joint_parent"][joint])
        return kind == JointType.FREE and parent < 0

    def _body(self, body: int, home: str) -> None:
        from pxr import Gf, UsdGeom, UsdPhysics

        rows = self.rows
        path = self.bodies[body] = self.name(home, str(rows["body_label"][body]), "body")
        prim = UsdGeom.Xform.Define(self.stage, path).GetPrim()
        pose = transform_mul(self.back, np.asarray(rows["body_q"][body], float))
        place(prim, pose)
        api = UsdPhysics.RigidBodyAPI.Apply(prim)
        if int(rows["body_flags"][body]) & BodyFlags.KINEMATIC:
            api.CreateKinematicEnabledAttr(True)
        twist = np.asarray(rows["body_qd"][body], float)
        if np.any(twist):  # of the world's frame in a model, of the body's in a stage
            linear, angular = (quat_rotate(_inverse(pose[3:]), quat_rotate(self.back[3:], part))
                               for part in (twist[:3], twist[3:] / DEGREE))  # fmt: skip
            api.CreateVelocityAttr(Gf.Vec3f(*linear.tolist()))
            api.CreateAngularVelocityAttr(Gf.Vec3f(*angular.tolist()))
        mass = float(rows["body_mass"][body])
        if mass > 0.0:
            self._mass(prim, mass, np.asarray(rows["body_inertia"][body], float).reshape(3, 3), rows["body_com"][body])

    @staticmethod
    def _mass(prim: Any, mass: float, inertia: np.ndarray, com: Any) -> None:
        from pxr import Gf, Sdf, UsdPhysics
        from scipy.spatial.transform import Rotation

        api = UsdPhysics.MassAPI.Apply(prim)
        api.CreateMassAttr(mass)
        api.CreateCenterOfMassAttr(Gf.Vec3f(*map(float, com)))
        inertia = (inertia + inertia.T) / 2.0
        off_diagonal = inertia - np.diag(np.diag(inertia))
        if np.any(off_diagonal):
            moments, axes = np.linalg.eigh(inertia)
            axes[:, 0] *= np.sign(np.linalg.det(axes))
            turn = Rotation.from_matrix(axes).as_quat()
            prim.AddAppliedSchema("NewtonMassAPI")
            whole = [*np.diag(inertia), inertia[0, 1], inertia[0, 2], inertia[1, 2]]
            attribute = prim.CreateAttribute("newton:inertia", Sdf.ValueTypeNames.FloatArray)
            attribute.Set([float(x) for x in whole])
        else:
            moments, turn = np.diag(inertia), np.array([0.0, 0.0, 0.0, 1.0])
        api.CreateDiagonalInertiaAttr(Gf.Vec3f(*map(float, moments)))
        api.CreatePrincipalAxesAttr(quat(turn, Gf.Quatf))

    # ---- joints

    def _joint(self, joint: int, home: str) -> None:
        rows = self.rows
        kind, label = JointType(int(rows["joint_type"][joint])), self.joint_labels[joint]
        if kind not in KINDS:
            raise BuildError(f"save_usd(): joint {label!r} is a {kind.name} joint, which UsdPhysics does not have")
        first = int(rows["joint_qd_start"][joint])
        linear, angular = (int(n) for n in rows["joint_dof_dim"][joint])
        if kind == JointType.D6 and self._own_axes(joint) is None:  # one joint an axis, which are read as one D6
            for k in range(linear + angular):
                single = JointType.PRISMATIC if k < linear else JointType.REVOLUTE
                self._write_joint(joint, single, k, self.name(home, f"{label}_{k}", "joint"))
            return
        path = self.name(home, label, "joint")
        made, prim = self._write_joint(joint, kind, 0, path)
        if kind == JointType.DISTANCE:
            made.CreateMinDistanceAttr(float(rows["joint_limit_lower"][first]))
            made.CreateMaxDistanceAttr(float(rows["joint_limit_upper"][first]))
        elif kind == JointType.D6:
            self._axes(prim, joint)
        elif kind == JointType.BALL:
            self._numbers(prim, first, DEGREE)

    def _write_joint(self, joint: int, kind: JointType, k: int, path: str) -> tuple[Any, Any]:
        """The prim of a joint, or of the k-th axis of one, with its frames and ends."""
        from pxr import Gf, Sdf, UsdPhysics

        rows = self.rows
        self.joints.setdefault(joint, path)
        made = getattr(UsdPhysics, KINDS[kind]).Define(self.stage, path)
        prim = made.GetPrim()
        parent, child = int(rows["joint_parent"][joint]), int(rows["joint_child"][joint])
        frame_p, frame_c = (np.asarray(rows[key][joint], float) for key in ("joint_X_p", "joint_X_c"))
        if parent < 0:
            frame_p = transform_mul(self.back, frame_p)
        turn, dof = IDENTITY, int(rows["joint_qd_start"][joint]) + k
        if kind in (JointType.REVOLUTE, JointType.PRISMATIC):
            token, turn = _axis_token(np.asarray(rows["joint_axis"][dof], float))
            made.CreateAxisAttr(token)
        made.CreateBody0Rel().SetTargets([Sdf.Path(self.bodies.get(parent, self.root))])
        made.CreateBody1Rel().SetTargets([Sdf.Path(self.bodies[child])])
        for frame, position, rotation in (
            (transform_mul(frame_p, turn), made.CreateLocalPos0Attr, made.CreateLocalRot0Attr),
            (transform_mul(frame_c, turn), made.CreateLocalPos1Attr, made.CreateLocalRot1Attr),
        ):
            position(Gf.Vec3f(*map(float, frame[:3])))
            rotation(quat(frame[3:], Gf.Quatf))
        if not bool(rows["joint_enabled"][joint]):
            made.CreateJointEnabledAttr(False)
        if int(rows["joint_articulation"][joint]) < 0:
            made.CreateExcludeFromArticulationAttr(True)
        if parent >= 0 and not self._apart(parent, child):
            made.CreateCollisionEnabledAttr(True)
        if kind in (JointType.REVOLUTE, JointType.PRISMATIC):
            self._axis(made, prim, joint, k, "angular" if kind == JointType.REVOLUTE else "linear")
            self.dofs[dof] = path
        return made, prim

    def _own_axes(self, joint: int) -> dict[str, int] | None:
        """Which axis of its frame each axis of a D6 is, in the order of USD's; None where it is none of them."""
        rows, first = self.rows, int(self.rows["joint_qd_start"][joint])
        linear, angular = (int(n) for n in rows["joint_dof_dim"][joint])
        found: dict[str, int] = {}
        for k in range(linear + angular):
            axis = np.asarray(rows["joint_axis"][first + k], float)
            name = [name for name, along, turns in D6.values() if turns == (k >= linear) and np.allclose(along, axis)]
            if not name:
                return None
            found[name[0]] = k
        in_order = list(found) == [name for name in D6 if name in found]
        return found if in_order and len(found) == linear + angular else None

    def _axes(self, prim: Any, joint: int) -> None:
        """Axes of a D6: those of its frame that it has, and locks for those that it has not."""
        from pxr import UsdPhysics

        found = self._own_axes(joint) or {}
        for name in D6:
            word = name[0].lower() + name[1:]
            if name in found:
                self._axis(None, prim, joint, found[name], word)
            else:
                limit = UsdPhysics.LimitAPI.Apply(prim, word)
                limit.CreateLowAttr(1.0)
                limit.CreateHighAttr(-1.0)

    def _labels(self) -> list[str]:
        """What joints are called. USD lists joints of an articulation by name: where that is not the order of a
        body's children, they are numbered."""
        rows = self.rows
        labels = [str(label) for label in rows["joint_label"]]
        owner, parent = np.asarray(rows["joint_articulation"]), np.asarray(rows["joint_parent"])
        for tree in set(owner[owner >= 0].tolist()):
            joints = np.flatnonzero(owner == tree).tolist()
            names = {j: name_of(labels[j], "joint", set()) for j in joints}
            siblings = [[names[j] for j in joints if parent[j] == p] for p in set(parent[joints].tolist())]
            if any(group != sorted(group) for group in siblings):
                width = len(str(len(joints)))
                for k, j in enumerate(joints):
                    labels[j] = f"joint{k:0{width}d}_{names[j]}"
        return labels

    def _axis(self, made: Any, prim: Any, joint: int, k: int, axis: str) -> None:
        """Limits, drive and numbers of one axis; `made` is a joint with limits of its own."""
        from pxr import UsdPhysics

        rows = self.rows
        dof, coord = int(rows["joint_qd_start"][joint]) + k, int(rows["joint_q_start"][joint]) + k
        unit = DEGREE if axis == "angular" or axis.startswith("rot") else 1.0
        low, high = float(rows["joint_limit_lower"][dof]), float(rows["joint_limit_upper"][dof])
        ends = [(low, -np.inf), (high, np.inf)]
        values = [value / unit if abs(value) < UNLIMITED else endless for value, endless in ends]
        if made is not None:
            made.CreateLowerLimitAttr(values[0])
            made.CreateUpperLimitAttr(values[1])
        elif np.any(np.isfinite(values)):
            limit = UsdPhysics.LimitAPI.Apply(prim, axis)
            limit.CreateLowAttr(values[0])
            limit.CreateHighAttr(values[1])
        self._drive(prim, dof, coord, axis, unit)
        self._numbers(prim, dof, unit, f"{axis}:" if made is None else "")
        q, qd = float(rows["joint_q"][coord]), float(rows["joint_qd"][dof])
        if q or qd:
            self._write(prim, f"newton:{axis}:position", q / unit)
            self._write(prim, f"newton:{axis}:velocity", qd / unit)

    def _drive(self, prim: Any, dof: int, coord: int, axis: str, unit: float) -> None:
        from pxr import UsdPhysics

        rows = self.rows
        effort = float(rows["joint_effort_limit"][dof])
        if JointTargetMode(int(rows["joint_target_mode"][dof])) == JointTargetMode.NONE:
            return
        drive = UsdPhysics.DriveAPI.Apply(prim, axis)
        drive.CreateTypeAttr("force")
        drive.CreateStiffnessAttr(float(rows["joint_target_ke"][dof]) * unit)
        drive.CreateDampingAttr(float(rows["joint_target_kd"][dof]) * unit)
        at = coord if self.model.use_coord_layout_targets else dof
        drive.CreateTargetPositionAttr(float(rows["joint_target_q"][at]) / unit)
        drive.CreateTargetVelocityAttr(float(rows["joint_target_qd"][dof]) / unit)
        drive.CreateMaxForceAttr(effort if effort < UNLIMITED else np.inf)

    def _numbers(self, prim: Any, dof: int, unit: float, axis: str = "") -> None:
        """What UsdPhysics has no name for; angular values are per degree. Axes of a joint share all but limits."""
        rows = self.rows
        for name, key in (("limitStiffness", "joint_limit_ke"), ("limitDamping", "joint_limit_kd")):
            self._write(prim, f"newton:{axis}{name}", float(rows[key][dof]) * unit)
        shared = {"armature": float(rows["joint_armature"][dof]), "friction": float(rows["joint_friction"][dof]),
                  "damping": float(rows["joint_damping"][dof]) * unit}  # fmt: skip
        speed = float(rows["joint_velocity_limit"][dof])
        if speed < NO_SPEED:
            shared["velocityLimit"] = speed / unit
        for name, value in shared.items():
            written = prim.GetAttribute(f"newton:{name}")
            if written and not np.isclose(written.Get(), value):
                warnings.warn(f"save_usd(): {prim.GetPath()}: axes of a joint share {name} in a stage; the first's is "
                              "written", stacklevel=8)  # fmt: skip
            elif not written:
                self._write(prim, f"newton:{name}", value)

    @staticmethod
    def _write(prim: Any, name: str, value: float) -> None:
        from pxr import Sdf

        prim.CreateAttribute(name, Sdf.ValueTypeNames.Float).Set(value)

    # ---- who touches whom, who follows whom, who drives what

    def _pairs(self) -> set[tuple[int, int]]:
        pairs = np.sort(np.asarray(self.rows["shape_filter_pairs"]).reshape(-1, 2), axis=1).tolist()
        return {(a, b) for a, b in pairs if a >= 0}

    def _between(self, one: int, other: int) -> list[tuple[int, int]]:
        """Pairs of colliding shapes of two bodies."""
        body, flags = np.asarray(self.rows["shape_body"]), np.asarray(self.rows["shape_flags"])
        solid = (flags & int(ShapeFlags.COLLIDE_SHAPES)) != 0
        first, second = (np.flatnonzero(solid & (body == b)).tolist() for b in (one, other))
        return [(min(a, b), max(a, b)) for a in first for b in second]

    def _apart(self, parent: int, child: int) -> bool:
        """Whether no shape of one body touches one of the other."""
        return set(self._between(parent, child)) <= self._pairs()

    def _filter(self) -> None:
        """Pairs that a joint does not keep apart already."""
        from pxr import Sdf, UsdPhysics

        rows, done = self.rows, set()
        for joint in self.joints:
            ends = int(rows["joint_parent"][joint]), int(rows["joint_child"][joint])
            if min(ends) >= 0 and self._apart(*ends):
                done |= set(self._between(*ends))
        flags = np.asarray(rows["shape_flags"])
        for a, b in sorted(self._pairs() - done):
            solid = all(int(flags[s]) & ShapeFlags.COLLIDE_SHAPES for s in (a, b) if s < len(flags))
            if solid and a in self.shape_paths and b in self.shape_paths:
                api = UsdPhysics.FilteredPairsAPI.Apply(self.stage.GetPrimAtPath(self.shape_paths[a]))
                api.CreateFilteredPairsRel().AddTarget(Sdf.Path(self.shape_paths[b]))

    def _follow(self) -> None:
        from pxr import Sdf

        rows = self.rows
        for k in range(len(rows["constraint_mimic_joint0"])):
            follower, leader = (int(rows[f"constraint_mimic_joint{n}"][k]) for n in (0, 1))
            prim = self.stage.GetPrimAtPath(self.joints[follower])
            prim.AddAppliedSchema("NewtonMimicAPI")
            prim.CreateRelationship("newton:mimicJoint").SetTargets([Sdf.Path(self.joints[leader])])
            unit = DEGREE if int(rows["joint_type"][follower]) == JointType.REVOLUTE else 1.0
            self._write(prim, "newton:mimicCoef0", float(rows["constraint_mimic_coef0"][k]) / unit)
            self._write(prim, "newton:mimicCoef1", float(rows["constraint_mimic_coef1"][k]))
            if not bool(rows["constraint_mimic_enabled"][k]):
                prim.CreateAttribute("newton:mimicEnabled", Sdf.ValueTypeNames.Bool).Set(False)

    def _actuators(self) -> None:
        """Actuators beside the solver."""
        from pxr import Sdf

        rows = self.rows
        for dof, parts in zip(rows["actuator_dof"].tolist(), rows["actuator_parts"], strict=True):
            given: Iterable[Any] = (parts.drive, *parts.clamping)
            unknown = [cls.__name__ for cls, _ in given if cls.__name__ not in PARTS]
            if unknown or dof not in self.dofs:
                what = f"a {unknown[0]}" if unknown else f"dof {dof}, which is of no hinge or slide"
                warnings.warn(f"save_usd(): an actuator with {what} is left out", stacklevel=7)
                continue
            path = self.name(self.root, f"{self.dofs[dof]}_actuator", "actuator")
            prim = self.stage.DefinePrim(path, "NewtonActuator")
            prim.CreateRelationship("newton:targets").SetTargets([Sdf.Path(self.dofs[dof])])
            numbers = {}
            for cls, args in given:
                prim.AddAppliedSchema(PARTS[cls.__name__])
                numbers |= args
            if parts.delay_steps is not None:
                prim.AddAppliedSchema("NewtonActuatorDelayAPI")
                prim.CreateAttribute("newton:delaySteps", Sdf.ValueTypeNames.Int).Set(parts.delay_steps)
            for name, value in numbers.items():
                spelled = "newton:" + re.sub(r"_(\w)", lambda m: m[1].upper(), name)
                types = {tuple: Sdf.ValueTypeNames.FloatArray, str: Sdf.ValueTypeNames.String}
                attribute = prim.CreateAttribute(spelled, types.get(type(value), Sdf.ValueTypeNames.Float))
                attribute.Set(list(value) if isinstance(value, tuple) else value)


def _inverse(q: np.ndarray) -> np.ndarray:
    return np.array([-q[0], -q[1], -q[2], q[3]])


def _axis_token(axis: np.ndarray) -> tuple[str, np.ndarray]:
    """x, y or z, and what turns a joint's frame so that its axis lies along it."""
    for k, token in enumerate("XYZ"):
        if np.allclose(axis, np.eye(3)[k], atol=1e-6):
            return token, IDENTITY
    return "X", np.concatenate([np.zeros(3), quat_between(np.array([1.0, 0.0, 0.0]), axis / np.linalg.norm(axis))])
