"""What `Simulation` has of MuJoCo's functions: their names in snake case, for all worlds at once.

    jacp, jacr = sim.jac_site("hand")              (worlds, 3, nv)
    jacp, jacr = sim.jac_site(["left", "right"])   (worlds, 2, 3, nv)

Elements go by name or id, one or several; where several are asked for, results have an axis of them after that of
worlds. Points, forces and the like are one for all worlds, (3,), or one a world, (worlds, 3); for several elements
(n, 3) or (worlds, n, 3). Results are NumPy's, or with `torch=True` tensors on the engine's device. As in MuJoCo they
are of what the last `step` or `forward` left.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import warp as wp

import kinema.functions as over_worlds
from kinema.compile.host_model import KINDS
from kinema.engine import Engine
from kinema.errors import BuildError, UnknownKey, did_you_mean
from kinema.functions.exchange import hand_out, to_device
from kinema.mujoco_enums import Obj
from kinema.simulation.named import ids_of
from kinema.simulation.source import names_of

if TYPE_CHECKING:
    from kinema.functions.contacts import ContactTable
    from kinema.gradients.linearize import Linearization

Which = int | str | Sequence
"""An element by name or id, or several."""


class Jacobian(NamedTuple):
    """Jacobians of position and orientation, (worlds, [n,] 3, nv)."""

    jacp: Any
    jacr: Any


class RayHit(NamedTuple):
    """What rays hit: distance in lengths of the ray's vector and id of the geom, -1 for nothing, and the normal."""

    dist: Any
    geomid: Any
    normal: Any


class Distance(NamedTuple):
    """Signed distance of two geoms, and the segment from the first to the second (worlds, [n,] 6)."""

    dist: Any
    fromto: Any


class Loads(NamedTuple):
    """Accelerations of bodies and forces on them, about the centre of mass of their tree, (worlds, nbody, 6)."""

    cacc: np.ndarray
    cfrc_int: np.ndarray
    cfrc_ext: np.ndarray


class MuJoCoFunctions:
    """MuJoCo's functions over the worlds of an engine."""

    engine: Engine
    model: Any

    # ------------------------------------------------------------------------------------------ derivatives

    def linearize(
        self, *, method: str = "exact", centered: bool = True, eps: Any = None, sensors: bool = True
    ) -> Linearization:
        """How the next state and the sensors depend on state and controls: A, B, C, D (mjd_transitionFD).

        A is (worlds, 2 nv + na, 2 nv + na): positions in their tangent space, velocities, activations; B is by the
        controls, C and D are of the sensors. The state stays as it is.

        Args:
            method: "exact": derivatives of the step's own arithmetic, at the constraints that are active and the geoms
                that touch. "fd": finite differences in single precision, for what the other refuses.
            centered: Differences to both sides; "fd" only.
            eps: Their step: a number, or one for each of "qpos", "qvel", "act" and "ctrl"; "fd" only.
            sensors: Also C and D, which are empty otherwise.
        """
        from kinema.gradients.linearize import linearize  # kernels of duals: imported on use

        return linearize(self.engine, method=method, centered=centered, eps=eps, sensors=sensors)

    # ------------------------------------------------------------------------------------------ Jacobians

    def jac(self, point: Any, body: Which, *, torch: bool = False) -> Jacobian:
        """Jacobians of a point of a body, in the world's axes (mj_jac).

        Args:
            point: Where it is now in the world.
            body: The body, or bodies, it moves with.
            torch: Give tensors.
        """
        ids, single = ids_of(self.model, "body", body)
        places = self._vectors("point", point, ids, single)
        found = over_worlds.jacobian.point_jacobians(self.engine, places, list(range(len(ids))), ids)
        return Jacobian(*(hand_out(each, torch=torch, single=single) for each in found))

    def jac_body(self, body: Which, *, torch: bool = False) -> Jacobian:
        """Jacobians of the frames of bodies (mj_jacBody)."""
        return self._jac(Obj.XBODY, body, torch)

    def jac_body_com(self, body: Which, *, torch: bool = False) -> Jacobian:
        """Jacobians of the centres of mass of bodies (mj_jacBodyCom)."""
        return self._jac(Obj.BODY, body, torch)

    def jac_geom(self, geom: Which, *, torch: bool = False) -> Jacobian:
        """Jacobians of geoms (mj_jacGeom)."""
        return self._jac(Obj.GEOM, geom, torch)

    def jac_site(self, site: Which, *, torch: bool = False) -> Jacobian:
        """Jacobians of sites (mj_jacSite)."""
        return self._jac(Obj.SITE, site, torch)

    def _jac(self, kind: Obj, which: Which, torch: bool) -> Jacobian:
        frame = over_worlds.objects.FRAMES[kind]
        ids, single = ids_of(self.model, frame.element, which)
        bodies = over_worlds.objects.bodies_of(self.model, kind, ids)
        found = over_worlds.jacobian.point_jacobians(self.engine, self.engine.current(frame.position), ids, bodies)
        return Jacobian(*(hand_out(each, torch=torch, single=single) for each in found))

    def jac_subtree_com(self, body: Which, *, torch: bool = False) -> Any:
        """Jacobian of the centre of mass of a subtree, (worlds, 3, nv) (mj_jacSubtreeCom)."""
        ids, single = ids_of(self.model, "body", body)
        return hand_out(over_worlds.jacobian.subtree_jacobians(self.engine, ids), torch=torch, single=single)

    def jac_dot(self, point: Any, body: Which, *, torch: bool = False) -> Jacobian:
        """Rates of the Jacobians of a point of a body (mj_jacDot)."""
        ids, single = ids_of(self.model, "body", body)
        found = over_worlds.jacobian.jacobian_rates(self.engine, self._vectors("point", point, ids, single), ids)
        return Jacobian(*(hand_out(each, torch=torch, single=single) for each in found))

    def angmom_mat(self, body: Which, *, torch: bool = False) -> Any:
        """Matrix that maps qvel to the angular momentum of a subtree about its centre of mass (mj_angmomMat)."""
        ids, single = ids_of(self.model, "body", body)
        return hand_out(over_worlds.jacobian.momentum_matrices(self.engine, ids), torch=torch, single=single)

    # ------------------------------------------------------------------------------------------ inertia

    def full_m(self, *, torch: bool = False) -> Any:
        """The inertia matrix as a dense one, (worlds, nv, nv) (mj_fullM)."""
        return hand_out(over_worlds.inertia.full_inertia(self.engine), torch=torch)

    def mul_m(self, vec: Any, *, torch: bool = False) -> Any:
        """The inertia matrix times a vector of dofs, or several: (nv,), (worlds, nv), (worlds, n, nv) (mj_mulM)."""
        return self._by_vector(over_worlds.inertia.mul_inertia, "vec", vec, torch)

    def solve_m(self, y: Any, *, torch: bool = False) -> Any:
        """The solution x of M x = y, of vectors as `mul_m` takes them (mj_solveM)."""
        return self._by_vector(over_worlds.inertia.solve_inertia, "y", y, torch)

    def _by_vector(self, function: Any, name: str, given: Any, torch: bool) -> Any:
        """Apply a function of [n, world, nv] to a vector a world, or to several."""
        shape = np.shape(given) if not hasattr(given, "shape") else tuple(given.shape)
        count = shape[1] if len(shape) == 3 else 1
        worlds, nv = self.engine.nworld, self.model.nv
        if not hasattr(given, "swapaxes"):
            given = np.asarray(given)
        turned = given.swapaxes(0, 1) if len(shape) == 3 else given
        x = to_device(self.engine.device, name, turned, (count, worlds, nv))
        found = hand_out(function(self.engine, x), torch=torch)
        return found.swapaxes(0, 1) if len(shape) == 3 else found[0]

    # ------------------------------------------------------------------------------------------ motion

    def object_velocity(self, objtype: str | int, which: Which, local: bool = False, *, torch: bool = False) -> Any:
        """Velocity of an object, angular before linear, (worlds, 6) (mj_objectVelocity).

        Args:
            objtype: "body" (where its mass is), "xbody" (its own frame), "geom", "site" or "camera".
            which: The object, or objects.
            local: In the object's axes rather than the world's.
            torch: Give a tensor.
        """
        return self._motion(objtype, which, 1, local, torch)

    def object_acceleration(self, objtype: str | int, which: Which, local: bool = False, *, torch: bool = False) -> Any:
        """Acceleration of an object against free fall, angular before linear (mj_objectAcceleration)."""
        return self._motion(objtype, which, 2, local, torch)

    def _motion(self, objtype: str | int, which: Which, order: int, local: bool, torch: bool) -> Any:
        kind = over_worlds.objects.kind_of(objtype)
        ids, single = ids_of(self.model, over_worlds.objects.FRAMES[kind].element, which)
        found = over_worlds.objects.object_motions(self.engine, kind, ids, order, local)
        return hand_out(found, torch=torch, single=single)

    def integrate_pos(self, qpos: Any, qvel: Any, dt: float, *, torch: bool = False) -> Any:
        """Positions after moving with a velocity for a time [s], (worlds, nq) (mj_integratePos)."""
        worlds, device = self.engine.nworld, self.engine.device
        moved = wp.clone(to_device(device, "qpos", qpos, (worlds, self.model.nq)))
        velocity = to_device(device, "qvel", qvel, (worlds, self.model.nv))
        over_worlds.positions.integrate_positions(self.engine, moved, velocity, dt)
        return hand_out(moved, torch=torch)

    def differentiate_pos(self, dt: float, qpos1: Any, qpos2: Any, *, torch: bool = False) -> Any:
        """The velocity that leads from qpos1 to qpos2 in a time [s], (worlds, nv) (mj_differentiatePos)."""
        shape = (self.engine.nworld, self.model.nq)
        ends = [to_device(self.engine.device, name, q, shape) for name, q in (("qpos1", qpos1), ("qpos2", qpos2))]
        return hand_out(over_worlds.positions.differentiate_positions(self.engine, dt, *ends), torch=torch)

    # ------------------------------------------------------------------------------------------ forces

    def apply_ft(
        self, force: Any, torque: Any, point: Any, body: Which, qfrc_target: Any = None, *, torch: bool = False
    ) -> Any:
        """Generalized forces of a force [N] and a torque [Nm] at a point of a body, (worlds, nv) (mj_applyFT).

        `sim.d.qfrc_applied = sim.apply_ft(force, torque, point, "hand")` lets the next step feel them.

        Args:
            force, torque: In the world's axes; of several bodies one each, which are added up.
            point: Where the force acts, in the world.
            body: The body, or bodies, acted on.
            qfrc_target: Generalized forces to add to; None: zeros.
            torch: Give a tensor.
        """
        ids, single = ids_of(self.model, "body", body)
        given = [self._vectors(*each, ids, single) for each in (("force", force), ("torque", torque), ("point", point))]
        shape = (self.engine.nworld, self.model.nv)
        target = 0.0 if qfrc_target is None else qfrc_target
        qfrc = wp.clone(to_device(self.engine.device, "qfrc_target", target, shape))
        over_worlds.forces.apply_forces(self.engine, given[0], given[1], given[2], ids, qfrc)
        return hand_out(qfrc, torch=torch)

    def rne(self, flg_acc: bool = False, *, torch: bool = False) -> Any:
        """Forces that velocity and gravity ask for, with flg_acc those of qacc too, (worlds, nv) (mj_rne)."""
        return hand_out(over_worlds.forces.newton_euler(self.engine, bool(flg_acc)), torch=torch)

    def rne_post_constraint(self) -> Loads:
        """Accelerations of bodies and forces between them, all forces included (mj_rnePostConstraint)."""
        return Loads(*(np.array(self.engine.read(name)) for name in Loads._fields))

    def energy(self) -> np.ndarray:
        """Potential and kinetic energy [J], (worlds, 2) (mj_energyPos, mj_energyVel)."""
        return np.array(self.engine.read("energy"))

    # ------------------------------------------------------------------------------------------ contacts

    def contact_force(self, contact: int | None = None, *, torch: bool = False) -> Any:
        """Force and torque of contacts in their frames, the normal force first (mj_contactForce).

        Args:
            contact: Number of the contact in each world; zeros where a world has fewer. None: all, (worlds, n, 6).
            torch: Give a tensor.
        """
        found = hand_out(over_worlds.contacts.forces(self.engine), torch=torch)
        most = int(np.max(self.engine.read("ncon"), initial=0))
        if contact is None:
            return found[:, :most]
        if isinstance(contact, bool) or not 0 <= int(contact) < most:
            raise UnknownKey(f"contact {contact!r}: no world has more than {most} contacts")
        return found[:, int(contact)]

    def contacts(self) -> ContactTable:
        """All contacts of all worlds as a table: geoms by name, positions, distances, frames, forces."""
        return over_worlds.contacts.contact_table(self.engine, names_of(self.model, "geom"))

    # ------------------------------------------------------------------------------------------ geometry

    def ray(
        self, pnt: Any, vec: Any, geomgroup: Sequence[bool] | None = None, flg_static: bool = True,
        bodyexclude: int | str = -1, *, torch: bool = False,
    ) -> RayHit:  # fmt: skip
        """The first geom that the ray pnt + x vec, x >= 0, hits in each world (mj_ray).

        Args:
            pnt, vec: Where it begins and where it leads, in the world.
            geomgroup: Which of the six groups of geoms can be hit; None: all.
            flg_static: Whether geoms that cannot move are.
            bodyexclude: A body whose geoms are not; -1: none.
            torch: Give tensors.
        """
        found = self._cast(self._rows("pnt", pnt, 1), self._rows("vec", vec, 1), geomgroup, flg_static, bodyexclude)
        return RayHit(*(hand_out(each, torch=torch, single=True) for each in found))

    def multi_ray(
        self, pnt: Any, vec: Any, geomgroup: Sequence[bool] | None = None, flg_static: bool = True,
        bodyexclude: int | str = -1, cutoff: float = np.inf, *, torch: bool = False,
    ) -> RayHit:  # fmt: skip
        """What each of several rays hits, (worlds, nray) (mj_multiRay).

        Args:
            pnt: Where they begin: (3,), (worlds, 3), or one a ray, (worlds, nray, 3).
            vec: Where they lead: (nray, 3) or (worlds, nray, 3).
            geomgroup, flg_static, bodyexclude: As of `ray`.
            cutoff: Nothing farther away is hit, in lengths of the ray's vector.
            torch: Give tensors.
        """
        lead = vec if hasattr(vec, "shape") else np.asarray(vec)
        if len(lead.shape) < 2:
            raise BuildError(f"vec: an array of shape {tuple(lead.shape)} is no list of rays, (nray, 3)")
        count = int(lead.shape[-2])
        begin = pnt if hasattr(pnt, "shape") else np.asarray(pnt)
        begin = begin[:, None] if len(begin.shape) == 2 else begin
        found = self._cast(
            self._rows("pnt", begin, count), self._rows("vec", lead, count), geomgroup, flg_static, bodyexclude
        )
        dist, geomid, normal = (hand_out(each, torch=torch) for each in found)
        far = dist > cutoff
        dist[far], geomid[far], normal[far] = -1.0, -1, 0.0
        return RayHit(dist, geomid, normal)

    def _cast(self, origin: wp.array, direction: wp.array, groups: Any, static: bool, exclude: int | str) -> Any:
        if groups is not None and len(groups) != 6:
            raise BuildError(f"geomgroup of length {len(groups)}: expected a flag for each of the 6 groups")
        body = ids_of(self.model, "body", exclude)[0][0] if isinstance(exclude, str) or exclude >= 0 else -1
        return over_worlds.rays.cast(self.engine, origin, direction, groups, static, body)

    def geom_distance(self, geom1: Which, geom2: Which, distmax: float = 1.0e10, *, torch: bool = False) -> Distance:
        """Smallest signed distance between two geoms, and the segment that spans it (mj_geomDistance).

        Args:
            geom1, geom2: Geoms; several on either side are taken in pairs.
            distmax: Geoms farther apart than this have this distance, and a segment of zeros [m].
            torch: Give tensors.
        """
        (ones, first), (twos, second) = (ids_of(self.model, "geom", each) for each in (geom1, geom2))
        if len(ones) != len(twos) and 1 not in (len(ones), len(twos)):
            raise BuildError(f"geom_distance: {len(ones)} geoms and {len(twos)} cannot be taken in pairs")
        pairs = np.stack(np.broadcast_arrays(ones, twos), axis=1)
        single = first and second
        dist, start, end = (hand_out(each, torch=torch, single=single)
                            for each in over_worlds.distance.distances(self.engine, pairs, distmax))  # fmt: skip
        if torch:
            import torch as package

            return Distance(dist, package.cat([start, end], dim=-1))
        return Distance(dist, np.concatenate([start, end], axis=-1))

    # ------------------------------------------------------------------------------------------ names

    def name2id(self, objtype: str | int, name: str) -> int:
        """Id of an element of a kind ("body", "joint", …) by its name; -1 where there is none (mj_name2id)."""
        names = self._names(objtype)
        return names.index(name) if name and name in names else -1

    def id2name(self, objtype: str | int, id: int) -> str | None:
        """Name of an element of a kind by its id; None where it has none (mj_id2name)."""
        names = self._names(objtype)
        return (names[id] or None) if 0 <= id < len(names) else None

    # ------------------------------------------------------------------------------------------ inside

    def _names(self, objtype: str | int) -> list[str]:
        """Names of the elements of a kind, by MuJoCo's name of it or its number in mjtObj."""
        kind = objtype if isinstance(objtype, str) else Obj(int(objtype)).name.lower()
        kind = {"xbody": "body"}.get(kind.lower(), kind.lower())
        if kind not in KINDS:
            raise UnknownKey(f"objtype={objtype!r}{did_you_mean(kind, KINDS)}: kinds are {', '.join(KINDS)}")
        return names_of(self.model, kind)

    def _vectors(self, name: str, value: Any, ids: list[int], single: bool) -> wp.array:
        """Vectors of elements, [world, n]: of a single one (3,) or (worlds, 3), else (n, 3) or (worlds, n, 3)."""
        value = value if hasattr(value, "shape") else np.asarray(value)
        if single and len(value.shape) == 2:
            value = value[:, None]
        return self._rows(name, value, len(ids))

    def _rows(self, name: str, value: Any, count: int) -> wp.array:
        value = value if hasattr(value, "shape") else np.asarray(value)
        if count == 1 and len(value.shape) == 2:
            value = value.reshape(-1, 1, value.shape[-1])
        return to_device(self.engine.device, name, value, (self.engine.nworld, count, 3), wp.vec3)
