"""Inverse kinematics of all worlds at once: damped least squares with joint limits and several targets.

A target t wants a site, body or geom at a position, an orientation, or both. With e_p what is missing of the position,
e_r the rotation vector that is missing of the orientation, weights u, v, and d the way to a posture on the manifold,

    cost(q) = sum over t of u |e_p|^2 + v |e_r|^2,   + w |d|^2

is made small by Gauss-Newton steps with Levenberg's damping. With J_p, J_r the Jacobians of the target,

    H = sum of u J_p' J_p + v J_r' J_r  + w,    g = sum of u J_p' e_p + v J_r' e_r  + w d
    (H + damping) s = g,    lower <= q + s <= upper,    q <- q (+) s

Joints that a step would take past a limit are held there, and the rest solved again. A step that makes the cost
smaller is taken and damping falls; one that does not is dropped and damping grows: each world on its own. The
simulation is left as it was.

    found = ik.solve(sim, [ik.Target("hand", position=[0.4, 0.1, 0.5])])
    sim.d.qpos = found.qpos
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import warp as wp

from kinema.control.least_squares import Coordinates, Terms, add_posture, add_target, take_step
from kinema.errors import BuildError, UnknownKey, did_you_mean
from kinema.functions.exchange import hand_out, to_device
from kinema.functions.objects import FRAMES, bodies_of
from kinema.functions.positions import differentiate_positions, integrate_positions
from kinema.mujoco_enums import Joint, Obj
from kinema.simulation import Simulation
from kinema.simulation.named import ids_of

KINDS = {"site": Obj.SITE, "body": Obj.XBODY, "geom": Obj.GEOM, "camera": Obj.CAMERA}
"""What can have a target; a body's is its own frame."""

MOVED = (
    "xpos", "xquat", "xmat", "xipos", "ximat", "xanchor", "xaxis", "geom_xpos", "geom_xmat", "site_xpos", "site_xmat",
    "subtree_com", "cinert", "cdof", "cvel", "cdof_dot",
)  # fmt: skip
"""What looking at other positions computes, and is put back."""

EVERY = 5  # iterations between looks whether all worlds are there


@dataclass(frozen=True)
class Target:
    """Where something is to be.

    Attributes:
        which: Name or id.
        kind: "site", "body", "geom" or "camera".
        position: In the world, (3,) or (worlds, 3) [m]; None: anywhere.
        orientation: Quaternion wxyz, (4,) or (worlds, 4); None: any.
        position_weight, orientation_weight: How much a metre, and a radian, off counts.
    """

    which: int | str
    kind: str = "site"
    position: Any = None
    orientation: Any = None
    position_weight: float = 1.0
    orientation_weight: float = 1.0


@dataclass(frozen=True)
class Solution:
    """Positions of joints, and how near they come.

    Attributes:
        qpos: (worlds, nq), NumPy's or torch's.
        position_error: Distance of each target, (worlds, targets) [m]; 0 where none was asked for.
        orientation_error: Angle of each target, (worlds, targets) [rad].
        success: Worlds in which every target is met within the tolerances, (worlds,).
    """

    qpos: Any
    position_error: np.ndarray
    orientation_error: np.ndarray
    success: np.ndarray


def solve(
    sim: Simulation, targets: Sequence[Target] | Target, *, start: Any = None, posture: Any = None,
    posture_weight: float = 1e-3, joints: Sequence[int | str] | None = None, limits: bool = True,
    iterations: int = 60, damping: float = 1e-3, position_tolerance: float = 1e-4, orientation_tolerance: float = 1e-3,
    torch: bool = False,
) -> Solution:  # fmt: skip
    """Positions of joints that bring targets where they are to be, in every world.

    Args:
        sim: The simulation; it is not changed.
        targets: One target or several, all wanted at once.
        start: Where to begin, (nq,) or (worlds, nq); None: the present qpos. Worlds may begin at different places:
            the nearest of several solutions is found.
        posture: Positions to stay near, as far as targets leave room, (nq,) or (worlds, nq); None: none.
        posture_weight: How much a radian or metre away from the posture counts against the targets.
        joints: Names or ids of the joints that may move; None: all.
        limits: Whether ranges of hinges and slides hold.
        iterations: At most so many steps.
        damping: Of the first step; each world changes it as it goes.
        position_tolerance, orientation_tolerance: When a target is met [m], [rad].
        torch: Give qpos as a tensor.
    """
    wanted = [targets] if isinstance(targets, Target) else list(targets)
    if not wanted:
        raise BuildError("ik.solve: give at least one Target")
    search = _Search(sim, wanted, joints, limits, damping)
    engine = sim.engine
    shape = (sim.worlds, sim.model.nq)
    begin = engine.current("qpos") if start is None else to_device(engine.device, "start", start, shape)
    rest = None if posture is None else to_device(engine.device, "posture", posture, shape)
    tolerance = np.array([position_tolerance, orientation_tolerance])
    with _Kept(sim):
        search.begin(begin)
        for k in range(max(1, iterations)):
            search.look(rest, posture_weight)
            if rest is None and k % EVERY == EVERY - 1 and _met(search.errors(), tolerance).all():
                break
    errors = search.errors()
    return Solution(
        hand_out(search.best, torch=torch), errors[..., 0], errors[..., 1], _met(errors, tolerance)
    )  # fmt: skip


def _met(errors: np.ndarray, tolerance: np.ndarray) -> np.ndarray:
    return np.asarray((errors <= tolerance).all(axis=(1, 2)))


class _Kept:
    """Lets the positions of a simulation be tried, and puts everything back."""

    def __init__(self, sim: Simulation):
        self.engine = sim.engine

    def __enter__(self) -> None:
        names = ("qpos", *(name for name in MOVED if name in self.engine.names))
        self.before = {name: wp.clone(self.engine.current(name)) for name in names}

    def __exit__(self, *_: Any) -> None:
        wp.copy(self.engine.current("qpos"), self.before["qpos"])
        self.engine.motion()
        for name, values in self.before.items():
            wp.copy(self.engine.current(name), values)


class _Search:
    """The search of all worlds, on the engine's device."""

    def __init__(self, sim: Simulation, targets: list[Target], joints: Any, limits: bool, damping: float):
        self.engine, self.model = sim.engine, sim.model
        worlds, nv, device = sim.worlds, sim.model.nv, sim.engine.device
        if nv == 0:
            raise BuildError("ik.solve: the model has no joints")
        self.targets = [self._target(target) for target in targets]
        self.bounds = wp.array(self._bounds(joints, limits), dtype=wp.vec2, device=device)
        self.terms = terms = Terms()
        self._owned = {
            "H": wp.zeros((worlds, nv, nv), dtype=float, device=device),
            "g": wp.zeros((worlds, nv), dtype=float, device=device),
            "cost": wp.zeros(worlds, dtype=float, device=device),
            "error": wp.zeros((worlds, len(targets)), dtype=wp.vec2, device=device),
        }
        for name, array in self._owned.items():
            setattr(terms, name, array)
        self.kept = Terms()
        self._kept = {name: wp.zeros_like(array) for name, array in self._owned.items()}
        self._kept["cost"].fill_(np.inf)
        for name, array in self._kept.items():
            setattr(self.kept, name, array)
        self.damping = wp.full(worlds, float(damping), dtype=float, device=device)
        self.factor = wp.zeros((worlds, nv, nv), dtype=float, device=device)
        self.step = wp.zeros((worlds, nv), dtype=float, device=device)
        self.held = wp.zeros((worlds, nv), dtype=int, device=device)
        self.best = wp.zeros((worlds, self.model.nq), dtype=float, device=device)
        self.trial = wp.zeros_like(self.best)

    def _target(self, target: Target) -> tuple:
        """Fields of place and axes, id, body, and where it is to be, on the device."""
        if target.kind not in KINDS:
            known = ", ".join(KINDS)
            raise UnknownKey(f"Target kind={target.kind!r}{did_you_mean(str(target.kind), KINDS)}: known are {known}")
        if target.position is None and target.orientation is None:
            raise BuildError(f"Target({target.which!r}): give a position, an orientation, or both")
        kind = KINDS[target.kind]
        ids = ids_of(self.model, FRAMES[kind].element, target.which)[0]
        device, worlds = self.engine.device, self.engine.nworld
        place = [0.0] * 3 if target.position is None else target.position
        turn = [1.0, 0, 0, 0] if target.orientation is None else target.orientation
        position = to_device(device, "position", place, (worlds, 3), wp.vec3)
        orientation = to_device(device, "orientation", turn, (worlds, 4), wp.vec4)
        weights = wp.vec2(
            0.0 if target.position is None else float(target.position_weight),
            0.0 if target.orientation is None else float(target.orientation_weight),
        )
        return FRAMES[kind], ids[0], bodies_of(self.model, kind, ids)[0], position, orientation, weights

    def _bounds(self, joints: Any, limits: bool) -> np.ndarray:
        """Least and largest position of each dof; equal ones of dofs that may not move."""
        m = self.model
        bounds = np.tile([-np.inf, np.inf], (m.nv, 1))
        chosen = range(m.njnt) if joints is None else ids_of(m, "joint", list(joints))[0]
        width = {Joint.FREE: 6, Joint.BALL: 3}
        for j in range(m.njnt):
            first = int(m.jnt_dofadr[j])
            kind = Joint(int(m.jnt_type[j]))
            if j not in chosen:
                bounds[first : first + width.get(kind, 1)] = np.nan
            elif limits and m.jnt_limited[j] and kind in (Joint.HINGE, Joint.SLIDE):
                bounds[first] = np.asarray(m.jnt_range[j])
        return bounds.astype(np.float32)

    def begin(self, qpos: wp.array) -> None:
        """Start from positions."""
        wp.copy(self.trial, qpos)

    def look(self, posture: wp.array | None, weight: float) -> None:
        """Look at the trial positions, take or drop them, and choose the next ones."""
        engine, device, worlds = self.engine, self.engine.device, self.engine.nworld
        wp.copy(engine.current("qpos"), self.trial)
        engine.motion()
        for array in self._owned.values():
            array.zero_()
        for t, (frame, number, body, position, orientation, weights) in enumerate(self.targets):
            place, axes = engine.current(frame.position), engine.current(frame.axes)
            add_target(engine, self.terms, t, place, axes, number, body, position, orientation, weights)
        if posture is not None:
            away = differentiate_positions(engine, 1.0, self.trial, posture)
            wp.launch(add_posture, worlds, [away, float(weight)], [self.terms], device=device)
        inputs = [self.terms, self.trial, engine.bundle(Coordinates), self.bounds]
        outputs = [self.kept, self.best, self.damping, self.factor, self.held, self.step]
        wp.launch(take_step, worlds, inputs, outputs, device=device)
        wp.copy(self.trial, self.best)
        integrate_positions(engine, self.trial, self.step, 1.0)

    def errors(self) -> np.ndarray:
        """Distance and angle of each target at the best positions, (worlds, targets, 2)."""
        return self._kept["error"].numpy().reshape(self.engine.nworld, -1, 2)
