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
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from ..compile.world_rows import LiveRows, WholeRows, has_no_worlds, shared_shapes
from ..errors import BuildError
from ..model import Axis, BodyFlags, JointType, Model, ShapeFlags
from ..model.transform import IDENTITY, quat_rotate, transform_inverse, transform_mul
from .gprims import ShapeWriter, name_of, place, quat
from .joint_prims import JointWriter, write_number
from .joints import DEGREE

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
        self.shape_paths: dict[int, str] = {}
        self.joints = JointWriter(
            stage, rows, self.back, root, self.bodies, self._apart, by_coordinate=model.use_coord_layout_targets
        )

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
                self.joints.write(joint, partial(self.name, home, kind="joint"))
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

        rows = self.rows
        found: dict[int, str] = {}
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
        for joint in self.joints.paths:
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
            prim = self.stage.GetPrimAtPath(self.joints.paths[follower])
            prim.AddAppliedSchema("NewtonMimicAPI")
            prim.CreateRelationship("newton:mimicJoint").SetTargets([Sdf.Path(self.joints.paths[leader])])
            unit = DEGREE if int(rows["joint_type"][follower]) == JointType.REVOLUTE else 1.0
            write_number(prim, "newton:mimicCoef0", float(rows["constraint_mimic_coef0"][k]) / unit)
            write_number(prim, "newton:mimicCoef1", float(rows["constraint_mimic_coef1"][k]))
            if not bool(rows["constraint_mimic_enabled"][k]):
                prim.CreateAttribute("newton:mimicEnabled", Sdf.ValueTypeNames.Bool).Set(False)

    def _actuators(self) -> None:
        """Actuators beside the solver."""
        from pxr import Sdf

        rows = self.rows
        for dof, parts in zip(rows["actuator_dof"].tolist(), rows["actuator_parts"], strict=True):
            given: Iterable[Any] = (parts.drive, *parts.clamping)
            unknown = [cls.__name__ for cls, _ in given if cls.__name__ not in PARTS]
            if unknown or dof not in self.joints.dofs:
                what = f"a {unknown[0]}" if unknown else f"dof {dof}, which is of no hinge or slide"
                warnings.warn(f"save_usd(): an actuator with {what} is left out", stacklevel=7)
                continue
            path = self.name(self.root, f"{self.joints.dofs[dof]}_actuator", "actuator")
            prim = self.stage.DefinePrim(path, "NewtonActuator")
            prim.CreateRelationship("newton:targets").SetTargets([Sdf.Path(self.joints.dofs[dof])])
            numbers: dict[str, Any] = {}
            for cls, args in given:
                prim.AddAppliedSchema(PARTS[cls.__name__])
                numbers |= args
            if parts.delay_steps is not None:
                prim.AddAppliedSchema("NewtonActuatorDelayAPI")
                prim.CreateAttribute("newton:delaySteps", Sdf.ValueTypeNames.Int).Set(parts.delay_steps)
            for name, value in numbers.items():
                spelled = "newton:" + re.sub(r"_(\w)", lambda m: m[1].upper(), name)
                types: dict[Any, Any] = {tuple: Sdf.ValueTypeNames.FloatArray, str: Sdf.ValueTypeNames.String}
                attribute = prim.CreateAttribute(spelled, types.get(type(value), Sdf.ValueTypeNames.Float))
                attribute.Set(list(value) if isinstance(value, tuple) else value)


def _inverse(q: np.ndarray) -> np.ndarray:
    return np.array([-q[0], -q[1], -q[2], q[3]])
