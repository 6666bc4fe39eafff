"""One world of a Model as the engine sees it: an object with mjModel's attributes, and where its parts stand.

A world holds documents (complete `mujoco` rows), bodies and shapes built by hand, and shapes of no world, such as a
ground plane that all share. Documents come back as they were compiled; the rest is lowered (`lower.py`) and joined to
them. Everything is in the world's own frame: where the world was placed is the boundary's business.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from dataclasses import field as dataclass_field
from typing import Any

import numpy as np

from kinema.adapter.deformables import Soft, SoftContact, soft_bodies
from kinema.adapter.elastic import add_elasticity
from kinema.adapter.lower import Lowered, Parts, lower
from kinema.adapter.pairs import add_pairs
from kinema.adapter.shape_geoms import COLUMNS
from kinema.adapter.stable_step import largest_step
from kinema.adapter.ties import add_ties, tying_joints
from kinema.compile.elements import check_order, elements_of
from kinema.compile.host_model import HostModel
from kinema.compile.join import join
from kinema.compile.rows import host_models
from kinema.compile.world_rows import (
    WholeRows,
    all_rows,
    claimed_rows,
    documents_in,
    has_no_worlds,
    shared_shapes,
)
from kinema.errors import BuildError
from kinema.model import Model, WorldClass
from kinema.model.enums import JointType, ShapeFlags
from kinema.model.transform import quat_rotate, transform_inverse, transform_mul
from kinema.mujoco_enums import Joint

OWN_CONTROL = 0


class OwnFrame(Mapping):
    """Core rows of a world in its own frame, undoing where it was placed."""

    def __init__(self, rows: Mapping[str, np.ndarray], placed: np.ndarray | None):
        self.rows = rows
        self.back = None if placed is None else transform_inverse(np.asarray(placed, dtype=float))

    def __getitem__(self, key: str) -> np.ndarray:
        values = self.rows[key]
        if self.back is None or not len(values):
            return values
        if key == "body_q":
            return transform_mul(self.back, values.astype(float))
        if key == "particle_q":
            return quat_rotate(self.back[3:], values.astype(float)) + self.back[:3]
        if key not in ("shape_transform", "joint_X_p"):
            return values
        return np.where(self.is_fixed(key)[:, None], transform_mul(self.back, values.astype(float)), values)

    def is_fixed(self, key: str) -> np.ndarray:
        """Which frames of a column stand in the world, and so move with where it is placed."""
        if key == "shape_transform":
            return np.asarray(self.rows["shape_body"]) < 0
        return (np.asarray(self.rows["joint_parent"]) < 0) & (np.asarray(self.rows["joint_type"]) != JointType.FREE)

    def __iter__(self) -> Iterator[str]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)


@dataclass
class Source:
    """What one class of worlds runs.

    Attributes:
        host: Object with mjModel's attributes.
        bodies: Core body of each body, counted within the world; -1: none.
        joints: (core joint, coordinate, dof) of each joint, counted within the world, shape (njnt, 3).
        geoms: Shape of each geom, counted within the world; `-2 - index` for shapes of no world.
        sites: Shape of each site of a document, counted within the world; -1: none.
        controls: What each control is: (0, row of `mujoco:ctrl`), (1, row of joint_target_q) or (2, dof of
            joint_target_qd), shape (nu, 2).
        documents: Rows of each size that documents account for, first in every array.
        particles: Body of each particle, counted within the world.
        step: Longest stable time step [s] of the soft bodies.
        among: Whether soft bodies touch each other and themselves.

    Bodies and joints of particles follow those that `bodies` and `joints` list.
    """

    host: HostModel
    bodies: np.ndarray
    joints: np.ndarray
    geoms: np.ndarray
    sites: np.ndarray
    controls: np.ndarray
    documents: Mapping[str, int]
    particles: np.ndarray = dataclass_field(default_factory=lambda: np.zeros(0, int))
    step: float = np.inf
    among: bool = False


def view(
    model: Model, worlds: WorldClass, rows: Mapping[str, np.ndarray] | None = None, *, among: bool = False
) -> Source:
    """A class of worlds as an object with mjModel's attributes.

    Args:
        model: The model.
        worlds: One of its classes.
        rows: Rows to use instead of the class's template, in the world's own frame: those of a world that was changed
            since.
        among: Whether cloth and soft bodies touch each other and themselves.
    """
    whole = has_no_worlds(model)
    if rows is None:
        rows = WholeRows(model) if whole else worlds.template
        own: Mapping[str, np.ndarray] = OwnFrame(rows, worlds.origin)
    else:
        own = rows
    documents = host_models(rows) if documents_in(model) else []
    check_order(elements_of(rows), sum(int(host.nu) for host in documents))
    sources = [_document(host, rows, start) for host, start in zip(documents, _starts(documents), strict=True)]
    bodies = claimed_rows(rows, "body_index") if documents else set()
    ties = tying_joints(own, bodies, claimed_rows(rows, "body_joint")) if documents else []
    shapes = claimed_rows(rows, "geom_shape", "site_shape") if documents else set()
    contact = SoftContact(model.soft_contact_ke, model.soft_contact_kd, model.soft_contact_mu, among)
    soft = soft_bodies(own, contact)
    by_hand = _lowered(model, own, whole, bodies, shapes, ties, soft, empty=not sources)
    if by_hand is not None:
        sources.append(by_hand)
    found = _together(sources, documents)
    found.among = among
    add_ties(found, own, ties)
    add_pairs(found, model, rows)
    if soft is not None:
        _complete(found, model, own, soft)
    return found


def _complete(source: Source, model: Model, rows: Mapping[str, np.ndarray], soft: Soft) -> None:
    """Materials and contacts of soft bodies, and where their particles are."""
    host = source.host
    bits = (np.asarray(host.geom_contype) | np.asarray(host.geom_conaffinity))[: len(source.geoms)] != 0
    documents = np.arange(len(source.geoms)) < int(source.documents.get("ngeom", 0))
    flags = np.concatenate([rows["shape_flags"], all_rows(model, "shape_flags"), [0]]).astype(int)
    place = np.where(source.geoms >= 0, source.geoms, len(rows["shape_flags"]) - 2 - source.geoms)
    place = np.where(source.geoms == -1, -1, place)
    meets = (flags[place] & ShapeFlags.COLLIDE_PARTICLES) != 0
    add_elasticity(host, soft, np.flatnonzero(np.where(documents, bits, meets)))
    source.geoms = np.concatenate([source.geoms, np.full(len(soft.lone), -1)])
    source.particles = int(host.nbody) - soft.count + np.arange(soft.count)
    source.step = largest_step(host, soft.contact.stiffness)


def _starts(documents: list[HostModel]) -> list[dict[str, int]]:
    starts: list[dict[str, int]] = []
    at: dict[str, int] = {}
    for host in documents:
        starts.append(dict(at))
        at = {name: at.get(name, 0) + int(size) for name, size in host.sizes.items()}
    return starts


def _document(host: HostModel, rows: Mapping[str, np.ndarray], start: Mapping[str, int]) -> Source:
    """A document's part of the world."""

    def column(name: str, symbol: str) -> np.ndarray:
        first = start.get(symbol, 0)
        return np.asarray(rows[f"mujoco:{name}"])[first : first + host.sizes[symbol]].astype(int)

    bodies, core = column("body_index", "nbody"), column("body_joint", "nbody")
    joints = np.full((host.njnt, 3), -1)
    for body in np.flatnonzero(host.body_jntnum > 0):
        _document_joints(host, rows, int(body), int(core[body]), joints)
    controls = np.stack([np.full(host.nu, OWN_CONTROL), start.get("nu", 0) + np.arange(host.nu)], axis=1)
    shapes = column("geom_shape", "ngeom"), column("site_shape", "nsite")
    return Source(host, bodies, joints, *shapes, controls, host.sizes)


def _document_joints(host: HostModel, rows: Mapping[str, Any], body: int, joint: int, out: np.ndarray) -> None:
    """Coordinates of one body's joints: the core joint lists slides first, then turns."""
    coord, dof = int(rows["joint_q_start"][joint]), int(rows["joint_qd_start"][joint])
    ids = np.arange(host.body_jntadr[body], host.body_jntadr[body] + host.body_jntnum[body])
    kinds = np.asarray(host.jnt_type)[ids]
    if len(ids) > 1 and (kinds == Joint.BALL).any():
        raise BuildError(
            f"body {host.names('body')[body]!r} has a ball joint beside others, which joint_q cannot hold: "
            "put them on nested bodies, or run the document with Simulation"
        )
    order = np.argsort(kinds == Joint.HINGE, kind="stable")  # hinges last
    count = np.arange(len(ids))
    out[ids[order]] = np.stack([np.full(len(ids), joint), coord + count, dof + count], axis=1)


def _lowered(
    model: Model, rows: Mapping[str, np.ndarray], whole: bool, bodies: set[int], shapes: set[int], ties: list[int],
    soft: Soft | None, *, empty: bool = False,
) -> Source | None:
    """What was built by hand and what all worlds share; None if there is nothing of it."""
    ours = [b for b in range(len(rows["body_mass"])) if b not in bodies]
    local = [s for s in range(len(rows["shape_type"])) if s not in shapes]
    shared = [] if whole else shared_shapes(model)
    if not (ours or local or shared or soft or empty):
        return None
    columns = {key: np.concatenate([rows[key][local], all_rows(model, key)[shared]]) for key in COLUMNS}
    columns["shape_body"][len(local) :] = -1
    theirs = [s for s in columns["shape_body"].tolist() if s in bodies]
    if theirs:
        raise BuildError(
            f"{len(theirs)} shapes were added by hand to bodies of an MJCF document: put them into the document"
        )
    place = {shape: k for k, shape in enumerate(local)} | {-2 - s: len(local) + k for k, s in enumerate(shared)}
    filters = [[place[a], place[b]] for a, b in rows["shape_filter_pairs"].tolist() if a in place and b in place]
    _check_mixed_filters(rows, place)
    found: Lowered = lower(
        Parts(
            rows, columns, ours, np.array(filters, dtype=int).reshape(-1, 2), model.use_coord_layout_targets, ties,
            soft, place,
        )  # fmt: skip
    )
    names = np.array([*local, *(-2 - s for s in shared)], dtype=int)
    return Source(
        found.host, np.array(found.bodies), np.array(found.joints, dtype=int).reshape(-1, 3),
        names[np.array(found.geoms, dtype=int)], np.full(found.host.nsite, -1),
        np.array(found.controls, dtype=int).reshape(-1, 2), {},
    )  # fmt: skip


def _check_mixed_filters(rows: Mapping[str, np.ndarray], place: Mapping[int, int]) -> None:
    """Refuse filters between a shape of a document and one built by hand.

    Those that the builder adds by itself, between bodies that a joint of the document connects, are nobody's wish: such
    a joint ends at the world, and who touches the world is decided by MuJoCo's rules.
    """
    mixed = [(a, b) for a, b in rows["shape_filter_pairs"].tolist() if (a in place) != (b in place)]
    if not mixed:
        return
    body, ends = rows["shape_body"], zip(rows["joint_parent"], rows["joint_child"], strict=True)
    joined = {frozenset((int(parent), int(child))) for parent, child in ends}
    for a, b in mixed:
        if frozenset((int(body[a]), int(body[b]))) not in joined:
            names = [str(rows["shape_label"][k]) for k in (a, b)]
            raise BuildError(
                f"shapes {names[0]!r} and {names[1]!r} are filtered, one of a document and one built by hand: use the "
                "document's contypes"
            )


def _together(sources: list[Source], documents: list[HostModel]) -> Source:
    host = sources[0].host
    for source in sources[1:]:
        host = join(host, source.host)
    parts: dict[str, Any] = {name: np.concatenate([getattr(s, name) for s in sources]) for name in
             ("bodies", "joints", "geoms", "sites", "controls")}  # fmt: skip
    sizes: dict[str, int] = {}
    for document in documents:
        sizes = {name: sizes.get(name, 0) + int(size) for name, size in document.sizes.items()}
    return Source(host, documents=sizes, **parts)


__all__ = ["Source", "view"]
