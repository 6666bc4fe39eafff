"""What changed in a model's arrays since its worlds were built, and worlds that came to differ.

A world is made again from its rows as they are now (`view`), and whatever an engine reads of the result is compared
with what the engine has: numbers are written, world by world where worlds differ; anything else means a new engine,
which all worlds of the class must share.

Frames that move along when a world is placed (`joint_X_p`, `shape_transform`) are looked at in the world's own frame.
Rows of them that nobody touched are taken as they were built, free of the rounding of there and back.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

import numpy as np

from kinema.adapter.core_changes import MOVED, CoreChanges, differing, snapshot
from kinema.adapter.view import OwnFrame, Source, view
from kinema.compile.constants import derived_constants
from kinema.compile.world_rows import LiveRows, WholeRows, has_no_worlds, live_block
from kinema.convex.parameters import FIXED
from kinema.convex.present import FOLLOWS
from kinema.errors import BuildError
from kinema.model import Model, WorldClass
from kinema.model.enums import JointType
from kinema.model.transform import transform_inverse, transform_mul
from kinema.mujoco_enums import Joint

NEAR = 1e-5
"""What a frame may be off by for having been placed."""
DIGITS = 6  # of a frame, by which worlds that were moved alike are told
NOT_COMPARED = {"names", "paths", "signature", *FOLLOWS, *FIXED}
"""Fields that follow from others, or that nothing is computed from."""

UNSEEN = ("name", "paths", "signature", "bvh_", "key_", "text_", "tuple_", "numeric_")
"""How arrays begin that no stage computes from: boxes of trees follow from meshes and sizes."""

MADE_OF = ("joint_", "body_", "shape_", "constraint_", "particle_", "spring_", "tri_", "edge_", "tet_", "mujoco:jnt_",
           "mujoco:dof_", "mujoco:body_", "mujoco:geom_", "mujoco:pair_", "mujoco:equality_", "mujoco:eq_",
           "mujoco:tendon_", "mujoco:actuator_")  # fmt: skip
"""How fields begin whose numbers may change."""

SPREAD = frozenset({
    "flex_radius", "flex_damping", "flex_edgestiffness", "flex_edgedamping", "flex_stiffness", "flex_bending",
    "flexedge_length0", "flexedge_invweight0",
})  # fmt: skip
"""Numbers of flexes that an engine has in lists of its own, which are parameters: what is 0 of them is structure."""
LISTS = frozenset({"flex_number", "flex_edgenumber", "flex_elastic"})
"""Those lists."""

LENGTHS = frozenset({"nnames", "nnames_map", "npaths", "narena", "nbuffer", "signature", "ntext", "ntextdata"})
"""Sizes of what no stage computes from."""


class OwnRows(Mapping):
    """Rows of a world in its own frame, those of MOVED as built where nobody changed them."""

    def __init__(self, now: OwnFrame, built: Mapping[str, np.ndarray], changed: Mapping[str, np.ndarray]):
        self.now, self.built, self.changed = now, built, changed

    def __getitem__(self, key: str) -> np.ndarray:
        if key == "particle_q":  # where it starts only says where coordinates are counted from
            return self.built[key]
        if key not in MOVED:
            return self.now[key]
        return np.where(self.changed[key][:, None], self.now[key], self.built[key])

    def __iter__(self) -> Iterator[str]:
        return iter(self.now)

    def __len__(self) -> int:
        return len(self.now)


class Watch:
    """The arrays of a class of worlds as they were when its solver was made."""

    def __init__(self, model: Model, worlds: WorldClass, source: Source):
        self.model, self.worlds, self.documents, self.among = model, worlds, bool(source.documents), source.among
        self.whole = has_no_worlds(model)
        template = WholeRows(model) if self.whole else worlds.template
        own = OwnFrame(template, worlds.origin)
        self.built = {**snapshot(own), "particle_q": np.array(own["particle_q"])}
        self.placed = {key: self._placed(key, own) for key in MOVED}

    def _placed(self, key: str, own: OwnFrame) -> np.ndarray:
        """A column of frames where worlds were placed, to the digits it has where nobody has changed it since."""
        now = np.array(self._now(key))
        if self.worlds.xforms is None:
            built = np.broadcast_to(own.rows[key], now.shape)
        else:
            there = np.asarray(self.worlds.xforms, dtype=float)[:, None]
            moved = transform_mul(there, np.asarray(own[key], dtype=float))
            built = np.where(own.is_fixed(key)[:, None], moved, own.rows[key])
        return np.where(np.abs(now - built) <= NEAR * (1.0 + np.abs(built)), now, built).astype(now.dtype)

    def is_changed(self) -> bool:
        """Whether a number of some world is no longer what the class was built with."""
        if self.whole:  # it is looked at as it is
            return False
        template = self.worlds.template
        return any(
            not np.array_equal(now, np.broadcast_to(built, now.shape), equal_nan=now.dtype.kind == "f")
            for key in self._numbers()
            for now in [self._now(key)]
            for built in [self.placed[key] if key in MOVED else np.asarray(template[key])]
            if now.size
        )

    def _numbers(self) -> Iterator[str]:
        """Fields that worlds are made of and may differ in."""
        for key, field in self.model.fields.items():
            if not key.startswith(MADE_OF) or field.is_object or field.runtime or field.prefixed or field.display:
                continue
            if field.assignment == Model.AttributeAssignment.MODEL and not key.endswith(("_world", "_world_start")):
                yield key

    def _now(self, key: str) -> np.ndarray:
        """A column of all worlds, (worlds, rows, ...)."""
        if self.whole:
            return np.asarray(WholeRows(self.model)[key])[None]
        return live_block(self.model, key, self.worlds.worlds)

    def rows(self, world: int) -> OwnRows:
        """One world as it is now; `world` counts within the class."""
        live = WholeRows(self.model) if self.whole else LiveRows(self.model, int(self.worlds.worlds[world]))
        placed = None if self.worlds.xforms is None else self.worlds.xforms[world]
        changed = {key: differing(self.placed[key][world], self._now(key)[world]) for key in MOVED}
        return OwnRows(OwnFrame(live, placed), self.built, changed)

    def source(self, world: int) -> Source:
        """One world as it is now, what it runs."""
        rows = self.rows(world)
        source = view(self.model, self.worlds, rows, among=self.among)
        if self.documents:
            nbody, njnt, ngeom, nsite = (int(source.documents[name]) for name in ("nbody", "njnt", "ngeom", "nsite"))
            parts = (source.bodies[:nbody], source.joints[:njnt], source.geoms[:ngeom], source.sites[:nsite])
            CoreChanges(source.host, *parts, self.built, rows, rows.changed).apply()
            found = derived_constants(source.host)
            found.pop("stat")
            found.pop("flexedge_length0", None)  # rest shapes of soft bodies are their own, not where particles are
            source.host.arrays.update(found)
        return source

    def variants(self) -> tuple[list[int], np.ndarray]:
        """A world of each kind that the fields tell apart, and which kind each world is of.

        All fields that worlds are made of are looked at, whatever is said to have changed: worlds that differ in masses
        still do when somebody changes joints.
        """
        count = len(self.worlds)
        if self.whole:
            return [0], np.zeros(1, int)
        of = np.zeros(count, np.int64)
        for key in self._numbers():
            flat = (self._moved(key) if key in MOVED else self._now(key)).reshape(count, -1)
            if flat.size and not (flat == flat[:1]).all():
                values = np.unique(flat, axis=0, return_inverse=True)[1].reshape(-1)
                of = np.unique(np.stack([of, values], axis=1), axis=0, return_inverse=True)[1].reshape(-1)
        _, first = np.unique(of, return_index=True)
        return first.tolist(), of

    def _moved(self, key: str) -> np.ndarray:
        """A column of frames, each in its world's own frame, rounded; 0 where nobody changed it."""
        now = self._now(key)
        changed = (now != self.placed[key]).any(axis=-1)
        found = np.zeros(now.shape)
        for world in np.flatnonzero(changed.any(axis=1)):
            found[world, changed[world]] = np.round(self.rows(int(world))[key][changed[world]], DIGITS) + 1.0
        return found


def joint_frames(rows: Mapping[str, np.ndarray], source: Source) -> list[np.ndarray]:
    """X_p and X_c of every joint of a world, as its rows have them."""
    core = source.joints[:, 0]
    frames = [np.asarray(rows[key], dtype=np.float32).reshape(-1, 7)[core] for key in ("joint_X_p", "joint_X_c")]
    for k, (parent, child, _) in enumerate(rod_joints(rows, source)):
        if child >= 0:  # of rods how the child stands in its parent at rest
            poses = np.asarray(rows["body_q"], dtype=float).reshape(-1, 7)
            above = transform_inverse(poses[parent]) if parent >= 0 else np.array([0, 0, 0, 0, 0, 0, 1.0])
            frames[0][k] = transform_mul(above, poses[child])
    return frames


def rod_joints(rows: Mapping[str, np.ndarray], source: Source) -> np.ndarray:
    """Of every joint that is one of a rod both bodies, and its axis, -1: all three; child -1: it is none."""
    core = source.joints[:, 0]
    if not np.any(np.asarray(rows["joint_type"]) == JointType.ROD):
        return np.full((len(core), 3), -1)
    is_rod = (np.asarray(rows["joint_type"])[core] == JointType.ROD) & (core >= 0)
    bodies = [np.asarray(rows[key])[core] for key in ("joint_parent", "joint_child")]
    ball = np.asarray(source.host.jnt_type)[: len(core)] == Joint.BALL
    axis = np.where(ball, -1, source.joints[:, 2] - np.asarray(rows["joint_qd_start"])[core])
    return np.where(is_rod[:, None], np.column_stack([*bodies, axis]), [-1, -1, -1]).astype(int).reshape(-1, 3)


def is_spread(name: str, one: Any, other: Any, parameters: Collection[str]) -> bool:
    """Whether a field of flexes, in which two models differ, reaches an engine by parameters alone."""
    if name not in SPREAD or not LISTS <= set(parameters) or not (_is_mesh(one) and _is_mesh(other)):
        return False
    first, second = np.asarray(getattr(one, name)), np.asarray(getattr(other, name))
    return first.shape == second.shape and (name == "flex_bending" or _same(first != 0.0, second != 0.0))


def _is_mesh(m: Any) -> bool:
    """Whether stiffness is of triangles, tetrahedra and hinges alone: that of cells and rods holds numbers of nodes."""
    rods = (np.asarray(m.flex_dim) == 1) & (np.asarray(m.flex_bendingadr) >= 0)
    return not (np.any(m.flex_interp) or rods.any())


def new_structure(before: Any, hosts: list[Any], read: set[str], parameters: Collection[str] = ()) -> bool:
    """Whether worlds changed in more than parameters; BuildError where an engine cannot be made for that."""
    for host in hosts:
        sizes = [n for n, value in before.sizes.items() if int(value) != int(host.sizes[n]) and n not in LENGTHS]
        if sizes:
            told = ", ".join(f"{n} is {int(host.sizes[n])}, was {int(before.sizes[n])}" for n in sizes[:3])
            raise BuildError(f"the structure of the model changed ({told}); make a new solver")
    read = {name for name in read if not name.startswith(UNSEEN)}

    def differ(n: str, one: Any, other: Any) -> bool:
        return not _same(getattr(one, n), getattr(other, n)) and not is_spread(n, one, other, parameters)

    changed = [n for n in read if any(differ(n, h, before) for h in hosts)]
    apart = sorted(n for n in changed if any(differ(n, h, hosts[0]) for h in hosts))
    if apart:
        raise BuildError(
            f"{', '.join(apart[:3])} differ from world to world, which is not a number that may while a solver runs: "
            "make a new solver, in which each kind of world has an engine of its own"
        )
    return bool(changed)


def _same(one: Any, other: Any) -> bool:
    return np.array_equal(np.asarray(one), np.asarray(other))
