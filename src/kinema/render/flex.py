"""Flexes as they are drawn: sheets and solids as skins, ropes as capsules.

A vertex of a flex is a weighted sum of points of bodies, x = sum w (x_b + R_b p), and so is a vertex of a skin. So a
flex is drawn as a skin whose bones are the supports of its vertices (`convex/flex/tables.py`), with nothing but poses
of bodies: whatever shows skins shows flexes, of any engine, and of a recording.

    solid    its shell, swollen by its radius
    sheet    both sides, each a radius away, and a rim between them; or one side, for who draws both alike
    rope     a capsule an element (`rope_ends`)
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kinema.convex.flex.tables import has_flexes, supports

UNIT = (1.0, 0.0, 0.0, 0.0)
LISTS = (
    "skin_vertadr", "skin_vertnum", "skin_vert", "skin_boneadr", "skin_bonenum", "skin_bonebodyid", "skin_bonebindpos",
    "skin_bonebindquat", "skin_bonevertadr", "skin_bonevertnum", "skin_bonevertid", "skin_bonevertweight",
    "skin_faceadr", "skin_facenum", "skin_face", "skin_inflate", "skin_rgba", "skin_matid", "skin_group",
    "skin_texcoordadr", "skin_texcoord",
)  # fmt: skip


class WithFlexes:
    """A model whose flexes of two and three dimensions are skins, after its own.

    Attributes:
        skin_flex: Flex that each skin is; -1: none.
    """

    def __init__(self, m: Any, lists: dict[str, np.ndarray], flexes: list[int]):
        own = int(getattr(m, "nskin", 0))
        self._m, self._lists, self.nskin = m, lists, own + len(flexes)
        self.skin_flex = np.array([-1] * own + flexes, dtype=int)

    def __getattr__(self, name: str) -> Any:
        lists = self.__dict__["_lists"]
        return lists[name] if name in lists else getattr(self.__dict__["_m"], name)


def with_flexes(m: Any, *, both_sides: bool = True) -> Any:
    """The model with its flexes as skins; itself where it has none.

    Args:
        m: An object with mjModel's attributes.
        both_sides: Whether sheets are closed: a side each way, and a rim.
    """
    if not has_flexes(m):
        return m
    flexes = [f for f in range(int(m.nflex)) if int(m.flex_dim[f]) > 1]
    if not flexes:
        return m
    pieces = {name: [np.asarray(getattr(m, name))] for name in LISTS} if int(m.nskin) else {n: [] for n in LISTS}
    carried = supports(m)
    for f in flexes:
        for name, values in _skin(m, f, carried, both_sides, {n: sum(map(len, p)) for n, p in pieces.items()}).items():
            pieces[name].append(values)
    return WithFlexes(m, {name: np.concatenate(values) for name, values in pieces.items()}, flexes)


def faces_of(m: Any, f: int, *, both_sides: bool) -> tuple[np.ndarray, int]:
    """Triangles of a flex by its own vertices, and how often each vertex is there."""
    count, dim = int(m.flex_vertnum[f]), int(m.flex_dim[f])
    first, number = max(int(m.flex_shelldataadr[f]), 0), int(m.flex_shellnum[f])
    shell = np.asarray(m.flex_shell, dtype=int)[first : first + dim * number].reshape(-1, dim)
    if dim == 3:
        return shell, 1
    start = int(m.flex_elemdataadr[f])
    front = np.asarray(m.flex_elem)[start : start + 3 * int(m.flex_elemnum[f])].reshape(-1, 3).astype(int)
    if not both_sides:
        return front, 1
    a, b = shell.T
    rim = [np.stack([a + count, b + count, b], axis=1), np.stack([a + count, b, a], axis=1)]
    return np.concatenate([front, front[:, ::-1] + count, *rim]), 2


def _skin(m: Any, f: int, carried: dict[str, np.ndarray], both_sides: bool, at: dict[str, int]) -> dict[str, Any]:
    """Rows of one skin; `at` says how many there are already."""
    faces, copies = faces_of(m, f, both_sides=both_sides)
    first, count = int(m.flex_vertadr[f]), int(m.flex_vertnum[f])
    adr = np.asarray(carried["flex_supportadr"])[first : first + count + 1]
    body = np.asarray(carried["flex_supportbody"])[adr[0] : adr[-1]]
    place = np.asarray(carried["flex_supportplace"])[adr[0] : adr[-1]]
    vertex = np.repeat(np.arange(count), np.diff(adr))
    rest = np.zeros((count, 3))
    np.add.at(rest, vertex, place[:, 3:] * (np.asarray(m.body_pos)[body] + place[:, :3]))
    bones = copies * len(body)
    vertex = np.concatenate([vertex + k * count for k in range(copies)])
    rest = np.tile(rest, (copies, 1))
    body, place = np.tile(body, copies), np.tile(place, (copies, 1))
    material, texture = int(m.flex_matid[int(m.flex_elemadr[f])]), int(m.flex_texcoordadr[f])
    texcoords = np.asarray(m.flex_texcoord).reshape(-1, 2)
    coordinates = texcoords[texture : texture + count] if texture >= 0 else texcoords[:0]
    known = len(coordinates) == count
    return {
        "skin_vertadr": [at["skin_vert"]], "skin_vertnum": [copies * count], "skin_vert": rest,
        "skin_boneadr": [at["skin_bonebodyid"]], "skin_bonenum": [bones], "skin_bonebodyid": body,
        "skin_bonebindpos": rest[vertex] - place[:, :3], "skin_bonebindquat": np.tile(UNIT, (bones, 1)),
        "skin_bonevertadr": at["skin_bonevertid"] + np.arange(bones), "skin_bonevertnum": np.ones(bones, int),
        "skin_bonevertid": vertex, "skin_bonevertweight": place[:, 3], "skin_faceadr": [at["skin_face"]],
        "skin_facenum": [len(faces)], "skin_face": faces, "skin_inflate": [float(m.flex_radius[f])],
        "skin_rgba": np.asarray(m.flex_rgba).reshape(-1, 4)[f : f + 1], "skin_matid": [material],
        "skin_group": [int(m.flex_group[f])], "skin_texcoordadr": [at["skin_texcoord"] if known else -1],
        "skin_texcoord": np.tile(coordinates, (copies, 1)) if known else np.zeros((0, 2)),
    }  # fmt: skip


def rope_ends(m: Any, f: int) -> tuple[np.ndarray, np.ndarray]:
    """Of each element of a rope the two bodies (n, 2), and points of theirs (n, 2, 3), it reaches between."""
    first, count = int(m.flex_vertadr[f]), int(m.flex_vertnum[f])
    start = int(m.flex_elemdataadr[f])
    ends = np.asarray(m.flex_elem)[start : start + 2 * int(m.flex_elemnum[f])].reshape(-1, 2)
    body = np.asarray(m.flex_vertbodyid)[first : first + count]
    local = np.asarray(m.flex_vert, dtype=float).reshape(-1, 3)[first : first + count]
    return body[ends], local[ends]
