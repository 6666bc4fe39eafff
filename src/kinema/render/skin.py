"""Skins: surfaces that bend with the bodies under them.

A vertex follows its bones, each as far as its weight says: x = sum_b w_b (R_b v + t_b), where R_b, t_b is the motion of
the bone's body since the skin was bound to it. The normal of a vertex is the mean of its faces' by area, and the
surface is blown up along it. Sums run over lists made beforehand (bones of a vertex, faces of a vertex), so their order
is fixed. All slots share one hierarchy a skin, with a tree for each slot.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import warp as wp

from kinema.math.quaternion import conjugate, mul_quat, rotate
from kinema.mujoco_enums import Geom
from kinema.render.items import Items
from kinema.render.shown import Shown


@wp.struct
class SkinArrays:
    """All skins of a model, by vertex, bone and face; vertices are numbered through all skins."""

    vert: wp.array(dtype=wp.vec3)  # as bound
    inflate: wp.array(dtype=float)  # by vertex
    place: wp.array(dtype=wp.vec2i)  # by vertex: where its skin's points begin, and their number
    bone_start: wp.array(dtype=int)  # where a vertex's bones begin in the next two
    bone: wp.array(dtype=int)
    weight: wp.array(dtype=float)
    face_start: wp.array(dtype=int)  # where a vertex's faces begin in the next
    face_at: wp.array(dtype=int)
    face: wp.array(dtype=wp.vec3i)  # vertices
    bone_body: wp.array(dtype=int)
    bone_pos: wp.array(dtype=wp.vec3)  # as bound
    bone_quat: wp.array(dtype=wp.vec4)
    bent: wp.array2d(dtype=wp.vec3)  # [slot, vertex]
    normal: wp.array2d(dtype=wp.vec3)  # [slot, vertex]
    point: wp.array(dtype=wp.vec3)  # skin after skin, slot after slot: what rays meet


@dataclass
class Skins:
    """Skins that are drawn: which items they are, and a hierarchy for each once it has been placed."""

    arrays: SkinArrays
    rows: list[int]
    ids: list[int]
    faces: list[np.ndarray]
    meshes: list[wp.Mesh]


def _lists(owners: np.ndarray, members: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Members by owner: where each owner's begin, and all of them, in order."""
    order = np.argsort(owners, kind="stable")
    start = np.concatenate([[0], np.cumsum(np.bincount(owners, minlength=count))])
    return start.astype(np.int32), members[order]


def upload_skins(m, items: Items, slots: int, device) -> Skins | None:
    """The skins among the items; None where there is none."""
    rows = np.flatnonzero(items.shape == Geom.SKIN).tolist()
    if not rows:
        return None
    first, number = np.asarray(m.skin_vertadr), np.asarray(m.skin_vertnum)
    count = int(number.sum())
    skin_of_bone = np.repeat(np.arange(m.nskin), np.asarray(m.skin_bonenum))
    bone_of_pair = np.repeat(np.arange(len(skin_of_bone)), np.asarray(m.skin_bonevertnum))
    vertices = np.asarray(m.skin_bonevertid) + first[skin_of_bone[bone_of_pair]]
    weights = np.asarray(m.skin_bonevertweight, np.float32)
    faces = np.asarray(m.skin_face).reshape(-1, 3) + np.repeat(first, np.asarray(m.skin_facenum))[:, None]
    bone_start, order = _lists(vertices, np.arange(len(vertices)), count)
    face_start, face_at = _lists(faces.ravel(), np.repeat(np.arange(len(faces)), 3), count)

    def array(values: np.ndarray, dtype) -> wp.array:
        kind = np.int32 if dtype in (int, wp.vec2i, wp.vec3i) else np.float32
        return wp.array(np.ascontiguousarray(values, kind), dtype=dtype, device=device)

    arrays = SkinArrays()
    arrays.vert = array(np.asarray(m.skin_vert).reshape(-1, 3), wp.vec3)
    arrays.inflate = array(np.repeat(np.asarray(m.skin_inflate), number), float)
    arrays.place = array(np.repeat(np.stack([first, number], axis=1), number, axis=0), wp.vec2i)
    arrays.bone_start, arrays.bone = array(bone_start, int), array(bone_of_pair[order], int)
    arrays.weight = array(weights[order], float)
    arrays.face_start, arrays.face_at = array(face_start, int), array(face_at, int)
    arrays.face = array(faces, wp.vec3i)
    arrays.bone_body = array(np.asarray(m.skin_bonebodyid), int)
    arrays.bone_pos = array(np.asarray(m.skin_bonebindpos).reshape(-1, 3), wp.vec3)
    arrays.bone_quat = array(np.asarray(m.skin_bonebindquat).reshape(-1, 4), wp.vec4)
    arrays.bent = wp.zeros((slots, count), dtype=wp.vec3, device=device)
    arrays.normal = wp.zeros((slots, count), dtype=wp.vec3, device=device)
    arrays.point = wp.zeros(slots * count, dtype=wp.vec3, device=device)
    ids = items.dataid[rows].tolist()
    starts = np.asarray(m.skin_faceadr)
    chosen = [faces[starts[i] : starts[i] + int(m.skin_facenum[i])] - first[i] for i in ids]
    return Skins(arrays, rows, ids, chosen, [])


def bend(skins: Skins, world: wp.array, shown: Shown) -> None:
    """Bring all vertices to where their bones are."""
    shape, device = skins.arrays.bent.shape, world.device
    wp.launch(_bend, dim=shape, inputs=[skins.arrays, world, shown], device=device)
    wp.launch(_swell, dim=shape, inputs=[skins.arrays], device=device)


def plant_skins(skins: Skins, m, surface: wp.array, root: wp.array) -> None:
    """Build the hierarchies over skins that have been bent once; write their ids and roots for the kernels."""
    slots, device = skins.arrays.bent.shape[0], surface.device
    ids, roots = surface.numpy().copy(), np.full(root.shape, -1, np.int32)
    for row, i, faces in zip(skins.rows, skins.ids, skins.faces, strict=True):
        first, number = int(m.skin_vertadr[i]), int(m.skin_vertnum[i])
        points = skins.arrays.point[first * slots : (first + number) * slots]
        all_faces = (faces[None] + number * np.arange(slots)[:, None, None]).astype(np.int32)
        groups = np.repeat(np.arange(slots, dtype=np.int32), len(faces))
        mesh = wp.Mesh(
            points=points, indices=wp.array(all_faces.ravel(), dtype=int, device=device),
            groups=wp.array(groups, dtype=int, device=device),
        )  # fmt: skip
        found = wp.zeros(slots, dtype=int, device=device)
        wp.launch(_roots, dim=slots, inputs=[mesh.id], outputs=[found], device=device)
        ids[row], roots[:, row] = mesh.id, found.numpy()
        skins.meshes.append(mesh)
    surface.assign(ids)
    root.assign(roots)


@wp.kernel(enable_backward=False)
def _roots(mesh: wp.uint64, root: wp.array(dtype=int)):
    slot = wp.tid()
    root[slot] = wp.mesh_get_group_root(mesh, slot)


@wp.kernel(enable_backward=False)
def _bend(skins: SkinArrays, world: wp.array(dtype=int), shown: Shown):
    slot, v = wp.tid()
    w = world[slot]
    x = wp.vec3()
    for k in range(skins.bone_start[v], skins.bone_start[v + 1]):
        b = skins.bone[k]
        body = skins.bone_body[b]
        turn = mul_quat(shown.xquat[w, body], conjugate(skins.bone_quat[b]))
        x += skins.weight[k] * (shown.xpos[w, body] + rotate(turn, skins.vert[v] - skins.bone_pos[b]))
    skins.bent[slot, v] = x


@wp.kernel(enable_backward=False)
def _swell(skins: SkinArrays):
    slot, v = wp.tid()
    normal = wp.vec3()
    for k in range(skins.face_start[v], skins.face_start[v + 1]):
        f = skins.face[skins.face_at[k]]
        a = skins.bent[slot, f[0]]
        normal += wp.cross(skins.bent[slot, f[1]] - a, skins.bent[slot, f[2]] - a)
    normal = wp.normalize(normal)
    skins.normal[slot, v] = normal
    place = skins.place[v]
    slots = skins.bent.shape[0]
    at = place[0] * slots + slot * place[1] + v - place[0]
    skins.point[at] = skins.bent[slot, v] + normal * skins.inflate[v]
