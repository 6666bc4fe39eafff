"""Particles, springs, cloth and soft bodies of a world as MuJoCo's bodies and flexes.

    particle       a body with three slides; of mass 0 or not active, a mocap body: it is where the state puts it
    spring         an edge of a flex of dim 1, with the same law: ke (l - L) + kd dl/dt
    triangle       an element of a flex of dim 2: Saint Venant-Kirchhoff, mu = tri_ke and lambda = tri_ka [N/m]
    bending edge   a hinge of a flex of dim 2, of torsional stiffness edge_ke times the length of the edge, as in Newton
    tetrahedron    an element of a flex of dim 3: Saint Venant-Kirchhoff, mu = k_mu and lambda = k_lambda [Pa]

Newton's solids and membranes are neo-Hookean with the same Lamé parameters: both laws agree where strains are small.
Damping is Rayleigh's, the stiffness times a time d. Newton resists the rate of C = F'F with kd dC/dt, which is d mu / 2
dC/dt for d = 2 kd / mu; that of a hinge is d = edge_kd / edge_ke.

A flex has one radius, one d, and one stiffness of springs, so elements are sorted into as many flexes as differ in
them; they share the bodies of their particles. Everything else may differ from element to element: it is written into
the compiled model (`elastic.py`). Triangles of no stiffness on the surface of a solid are the solid's own shell.

Contact: elements touch as flexes do. Particles of no element, such as those of a rope of springs, have a sphere.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from kinema.adapter.shape_geoms import element, text
from kinema.errors import BuildError
from kinema.mjcf.source import Node
from kinema.model.enums import ParticleFlags

MOST_FLEXES = 64
SMALLEST_INERTIA = 1e-12
"""Of a particle's body, about which nothing ever turns [kg m^2]."""
SMALLEST_RADIUS = 1e-6
"""Of the sphere of a lone particle [m]: one of radius 0 is a point, which touches too."""
DEFAULT_KE, DEFAULT_KD = 1.0e3, 10.0
"""Newton's soft_contact_ke and soft_contact_kd."""
ALONE = 1.0e15
"""Weight of a side of a contact beside which the other's does not count."""
MUJOCO_KE, MUJOCO_KD = 2.5e3, 100.0
"""What MuJoCo's default solref amounts to, per unit of mass [1/s^2, 1/s]."""


@dataclass(frozen=True)
class SoftContact:
    """How particles and elements touch.

    `ke` and `kd` count in proportion to Newton's defaults, which are MuJoCo's defaults here. Others than the defaults
    are what contacts have, whatever the geom says: a mean of two references is neither's stiffness.

    Attributes:
        ke: Stiffness, Newton's soft_contact_ke.
        kd: Damping, Newton's soft_contact_kd.
        mu: Friction.
        among: Whether flexes touch one another, and themselves.
    """

    ke: float = DEFAULT_KE
    kd: float = DEFAULT_KD
    mu: float = 0.5
    among: bool = False

    def __post_init__(self) -> None:
        for name, value in (("ke", self.ke), ("kd", self.kd), ("mu", self.mu)):
            if not np.isfinite(value) or value < 0.0 or (value == 0.0 and name == "ke"):
                least = "above 0" if name == "ke" else "0 or more"
                raise BuildError(f"model.soft_contact_{name} is {value}: it must be finite and {least}")

    def solref(self) -> np.ndarray:
        """MuJoCo's reference of the contacts."""
        k, b = MUJOCO_KE * self.ke / DEFAULT_KE, MUJOCO_KD * self.kd / DEFAULT_KD
        if b == 0.0:  # which no time constant says: stiffness and damping themselves
            return np.array([-k, 0.0])
        return np.array([2.0 / b, b / (2.0 * np.sqrt(k))])

    @property
    def is_default(self) -> bool:
        """Whether contacts are as MuJoCo has them where nothing is said."""
        return self.ke == DEFAULT_KE and self.kd == DEFAULT_KD

    @property
    def stiffness(self) -> float:
        """Of a contact, per unit of mass [1/s^2]; 0 where MuJoCo's own rules keep it stable."""
        return 0.0 if self.is_default else MUJOCO_KE * self.ke / DEFAULT_KE

    def attributes(self) -> dict[str, str]:
        """The contact attributes that geoms and flexes share."""
        weight = 1.0 if self.is_default else ALONE
        found = {"condim": "3", "friction": text(self.mu, 0.005, 0.0001), "solref": text(self.solref())}
        return {**found, "solmix": text(weight)}


@dataclass
class FlexPart:
    """Elements that become one flex.

    Attributes:
        elements: Particles of each element, (n, dim + 1).
        rows: Row of each element in tri_*, tet_* or spring_*; -1: it is only there for its hinges.
        radius: Radius [m].
        damping: Rayleigh's d [s].
        touches: Whether it collides.
        hinges: Rows of edge_* that are hinges of it.
        spring: Stiffness and damping of its edges.
        rgba: What it looks like; transparent where other elements show what it is part of.
    """

    elements: np.ndarray
    rows: np.ndarray
    radius: float
    damping: float
    touches: bool
    hinges: np.ndarray = field(default_factory=lambda: np.zeros(0, int))
    spring: tuple[float, float] = (0.0, 0.0)
    rgba: tuple[float, ...] = (0.5, 0.5, 0.5, 0.0)
    vertices: np.ndarray = field(init=False)

    def __post_init__(self) -> None:
        self.vertices = np.unique(self.elements)

    @property
    def dim(self) -> int:
        return self.elements.shape[1] - 1

    def local(self, particles: np.ndarray) -> np.ndarray:
        """Numbers of particles among the vertices."""
        return np.searchsorted(self.vertices, particles)


@dataclass
class Soft:
    """All that a world has of particles.

    Attributes:
        rows: Core columns of the world, in its own frame.
        contact: How they touch.
        fixed: Which particles are where the state puts them.
        parts: The flexes.
        lone: Particles that no element holds: they are spheres.
    """

    rows: Mapping[str, np.ndarray]
    contact: SoftContact
    fixed: np.ndarray
    parts: list[FlexPart]
    lone: np.ndarray

    @property
    def count(self) -> int:
        return len(self.fixed)

    def write(self, root: Node, world: Node) -> None:
        """Bodies of the particles after all others, and the flexes."""
        q = np.asarray(self.rows["particle_q"], dtype=float)
        mass = np.asarray(self.rows["particle_mass"], dtype=float)
        radius = np.asarray(self.rows["particle_radius"], dtype=float)
        spheres = set(self.lone.tolist())
        for p in range(self.count):
            body = element(world, "body", name=f"particle{p}", pos=text(q[p]))
            if self.fixed[p]:
                body.attributes["mocap"] = "true"
            else:
                for axis, along in zip("xyz", ("1 0 0", "0 1 0", "0 0 1"), strict=True):
                    element(body, "joint", name=f"particle{p}.{axis}", type="slide", axis=along)
                inertia = max(0.4 * mass[p] * radius[p] ** 2, SMALLEST_INERTIA)
                element(body, "inertial", pos="0 0 0", mass=text(mass[p]), diaginertia=text([inertia] * 3))
            if p in spheres:
                element(
                    body, "geom", name=f"particle{p}", size=text(max(radius[p], SMALLEST_RADIUS)), mass="0",
                    contype="0", conaffinity="0", **self.contact.attributes(),
                )  # fmt: skip
        if not self.parts:
            return
        section = element(root, "deformable")
        for k, part in enumerate(self.parts):
            flex = element(
                section, "flex", name=f"flex{k}", dim=str(part.dim), radius=text(part.radius),
                body=" ".join(f"particle{p}" for p in part.vertices),
                element=" ".join(map(str, part.local(part.elements).ravel())), rgba=text(part.rgba),
            )  # fmt: skip
            element(flex, "contact", contype="0", conaffinity="0", selfcollide="none", **self.contact.attributes())
            element(flex, "edge", stiffness=text(part.spring[0]), damping=text(part.spring[1]))
            element(flex, "elasticity", damping=text(part.damping))


def soft_bodies(rows: Mapping[str, np.ndarray], contact: SoftContact) -> Soft | None:
    """What a world has of particles, sorted into flexes; None if there are none."""
    count = len(rows["particle_q"])
    if not count:
        return None
    _refuse(rows)
    inactive = (np.asarray(rows["particle_flags"]) & ParticleFlags.ACTIVE) == 0
    fixed = (np.asarray(rows["particle_mass"]) <= 0.0) | inactive
    radius = np.asarray(rows["particle_radius"], dtype=float)
    solids, cloth = _solids(rows, radius), _cloth(rows, radius)
    parts = [*solids, *cloth, *_springs(rows, radius)]
    _paint(rows, solids, cloth)
    if len(parts) > MOST_FLEXES:
        raise BuildError(
            f"soft bodies of one world differ in {len(parts)} radii, damping ratios and stiffnesses of springs: use at "
            f"most {MOST_FLEXES} (damping ratio: 2 tri_kd / tri_ke, 2 k_damp / k_mu, edge_kd / edge_ke)"
        )
    held = [part.vertices for part in parts if part.touches]
    lone = np.setdiff1d(np.arange(count), np.concatenate([np.zeros(0, int), *held]))
    return Soft(rows, contact, fixed, parts, lone)


ACTING = {"tri_activations": "triangles", "tet_activations": "tetrahedra", "spring_control": "springs"}
AMOUNTS = ("particle_mass", "particle_radius", "spring_rest_length", "spring_stiffness", "spring_damping",
           "tri_materials", "edge_bending_properties", "tet_materials")  # fmt: skip
PLACES = ("particle_q", "particle_qd", "tri_poses", "tri_areas", "edge_rest_angle", "edge_rest_length", "tet_poses")
"""Columns whose numbers are finite; amounts are not negative either."""


def _check_numbers(rows: Mapping[str, np.ndarray]) -> None:
    """Raise where a number means nothing: a stiffness below 0 pushes things apart without end.

    Lamé's lambda may be negative while the bulk modulus, lambda + 2/3 mu, is not.
    """
    for name in (*AMOUNTS, *PLACES):
        values = np.asarray(rows[name], dtype=float)
        least = np.full_like(values, -np.inf if name in PLACES else 0.0)
        if name in ("tri_materials", "tet_materials"):
            least[:, 1] = -2 / 3 * np.maximum(values[:, 0], 0.0)
        wrong = np.argwhere(~(np.isfinite(values) & (values >= least)))
        if len(wrong):
            at = tuple(wrong[0].tolist())
            limit = "" if name in PLACES else f" and at least {least[at]:g}"
            raise BuildError(f"{name}[{', '.join(map(str, at))}] of a world is {values[at]}: it must be finite{limit}")


def _refuse(rows: Mapping[str, np.ndarray]) -> None:
    """Raise where elements ask for what has no counterpart."""
    _check_numbers(rows)
    if len(rows["tri_materials"]):
        for name, column in (("tri_drag", 3), ("tri_lift", 4)):
            if np.any(np.asarray(rows["tri_materials"])[:, column]):
                raise BuildError(f"{name}: air drag and lift of triangles are not simulated; leave it at 0")
    for key in ACTING:
        refuse_activation(key, rows[key])
    _refuse_idle_damping(rows)
    mass, inverse = np.asarray(rows["particle_mass"]), np.asarray(rows["particle_inv_mass"])
    torn = np.flatnonzero((mass > 0.0) & (inverse == 0.0))
    if len(torn):
        raise BuildError(
            f"particle {int(torn[0])} of a world has particle_inv_mass 0 and particle_mass {mass[torn[0]]:g}: write "
            "both; mass 0, or no flag ACTIVE, fixes a particle"
        )


def _refuse_idle_damping(rows: Mapping[str, np.ndarray]) -> None:
    """Raise where damping, which is the stiffness times a time, has no stiffness to act on."""
    edges = np.asarray(rows["edge_indices"], dtype=int).reshape(-1, 4)
    triangles, solids = (np.asarray(rows[f"{kind}_materials"], dtype=float) for kind in ("tri", "tet"))
    bending = np.asarray(rows["edge_bending_properties"], dtype=float).reshape(-1, 2)
    for key, stiffness, damping, instead in (
        ("tri_materials", triangles[:, :2].max(axis=1, initial=0.0), triangles[:, 2], "tri_kd=0, or a tri_ke"),
        ("tet_materials", solids[:, :2].max(axis=1, initial=0.0), solids[:, 2], "k_damp=0, or a k_mu"),
        ("edge_bending_properties", np.where((edges >= 0).all(axis=1), bending[:, 0], 1.0), bending[:, 1],
         "edge_kd=0, or an edge_ke"),
    ):  # fmt: skip
        idle = np.flatnonzero((stiffness <= 0.0) & (damping > 0.0))
        if len(idle):
            raise BuildError(
                f"{key}[{int(idle[0])}] of a world has damping {damping[idle[0]]:g} and no stiffness: damping acts as "
                f"the stiffness times a time, so it would do nothing; give {instead}"
            )


def refuse_activation(key: str, values: np.ndarray) -> None:
    """Raise where elements are to act by themselves."""
    if np.any(values):
        raise BuildError(f"{key}: activation of {ACTING[key]} is not simulated; leave it at 0")


def _ratio(damping: np.ndarray, stiffness: np.ndarray) -> np.ndarray:
    """damping / stiffness, in the digits that floats have; 0 where there is no stiffness."""
    safe = np.where(stiffness > 0.0, stiffness, 1.0)
    return np.where(stiffness > 0.0, damping / safe, 0.0).astype(np.float32).astype(float)


def _occurrence(keys: np.ndarray) -> np.ndarray:
    """Of each row, how many equal rows stand before it."""
    seen: dict[tuple, int] = {}
    found = np.zeros(len(keys), int)
    for k, key in enumerate(map(tuple, keys.tolist())):
        found[k] = seen.get(key, 0)
        seen[key] = found[k] + 1
    return found


def _groups(*keys: np.ndarray) -> list[np.ndarray]:
    """Rows with the same keys, in order of first appearance."""
    table = np.stack([np.asarray(key, dtype=float) for key in keys], axis=1)
    _, first, inverse = np.unique(table, axis=0, return_index=True, return_inverse=True)
    return [np.flatnonzero(inverse.reshape(-1) == g) for g in np.argsort(first)]


def _stiff_first(members: np.ndarray, stiffness: np.ndarray) -> np.ndarray:
    """Members with the stiff ones first: MuJoCo tells by the first element whether a flex is elastic."""
    return members[np.argsort(stiffness[members] <= 0.0, kind="stable")]


def _solids(rows: Mapping[str, np.ndarray], radius: np.ndarray) -> list[FlexPart]:
    corners = np.asarray(rows["tet_indices"], dtype=int)
    if not len(corners):
        return []
    mu, lame, kd = np.asarray(rows["tet_materials"], dtype=float).T
    damping = _ratio(2.0 * kd, np.where(mu > 0.0, mu, lame))
    size = radius[corners].max(axis=1)
    again = _occurrence(np.sort(corners, axis=1))  # a tetrahedron twice has no face outside: each is in another flex
    found = []
    for members in _groups(size, damping, again):
        members = _stiff_first(members, mu + lame)
        found.append(FlexPart(corners[members], members, size[members[0]], damping[members[0]], not again[members[0]]))
    return found


def _cloth(rows: Mapping[str, np.ndarray], radius: np.ndarray) -> list[FlexPart]:
    """Flexes of triangles, with the hinges that fit; other hinges have flexes of their own."""
    corners = np.asarray(rows["tri_indices"], dtype=int)
    materials = np.asarray(rows["tri_materials"], dtype=float).reshape(-1, 5)
    mu, lame, kd = materials[:, :3].T
    damping = _ratio(2.0 * kd, np.where(mu > 0.0, mu, lame))
    size = radius[corners].max(axis=1, initial=0.0) if len(corners) else np.zeros(0)
    shell = np.isin(corners, rows["tet_indices"]).all(axis=1) & (mu + lame <= 0.0) if len(corners) else size > 0
    kept = np.flatnonzero(~shell)
    found = []
    for members in _groups(size[kept], damping[kept]) if len(kept) else []:
        members = _stiff_first(kept[members], mu + lame)
        found.append(FlexPart(corners[members], members, size[members[0]], damping[members[0]], True))
    return found + _hinges(rows, radius, found)


def _hinges(rows: Mapping[str, np.ndarray], radius: np.ndarray, cloth: list[FlexPart]) -> list[FlexPart]:
    """Give each hinge to a flex with its two triangles and its damping; returns flexes for those without one."""
    edges = np.asarray(rows["edge_indices"], dtype=int).reshape(-1, 4)
    if not len(edges):
        return []
    ke, kd = np.asarray(rows["edge_bending_properties"], dtype=float).T
    live = np.flatnonzero((edges >= 0).all(axis=1) & (ke > 0.0))
    damping = _ratio(kd, ke)
    wings = [np.sort(edges[:, [k, 2, 3]], axis=1) for k in (0, 1)]
    again = np.zeros(len(edges), int)
    again[live] = _occurrence(np.sort(edges[live][:, 2:], axis=1))
    left = []
    triangles = [{tuple(t) for t in np.sort(part.elements, axis=1).tolist()} for part in cloth]
    taken: list[list[int]] = [[] for _ in cloth]
    for k in live.tolist():
        home = next((
            f for f, part in enumerate(cloth) if part.damping == damping[k] and not again[k]
            and all(tuple(wing[k].tolist()) in triangles[f] for wing in wings)
        ), None)  # fmt: skip
        left.append(k) if home is None else taken[home].append(k)
    for part, hinges in zip(cloth, taken, strict=True):
        part.hinges = np.array(hinges, dtype=int)
    rest, more = np.array(left, dtype=int), []
    for members in _groups(damping[rest], again[rest]) if len(rest) else []:
        mine = rest[members]
        both = np.unique(np.concatenate([wing[mine] for wing in wings]), axis=0)
        size = float(radius[both].max())
        more.append(FlexPart(both, np.full(len(both), -1), size, damping[mine[0]], False, mine))
    return more


def _paint(rows: Mapping[str, np.ndarray], solids: list[FlexPart], cloth: list[FlexPart]) -> None:
    """Give solids and cloth the mean colour of their triangles."""
    shown = np.column_stack([np.reshape(rows["tri_color"], (-1, 3)), np.reshape(rows["tri_opacity"], (-1, 1))])
    corners = np.asarray(rows["tri_indices"], dtype=int).reshape(-1, 3)
    for part in (*solids, *(part for part in cloth if part.touches)):
        mine = shown[part.rows] if part.dim == 2 else shown[np.isin(corners, part.vertices).all(axis=1)]
        part.rgba = tuple(mine.mean(axis=0).tolist()) if len(mine) else (0.5, 0.5, 0.5, 1.0)


ROPE = (0.6, 0.5, 0.35, 1.0)


def _springs(rows: Mapping[str, np.ndarray], radius: np.ndarray) -> list[FlexPart]:
    ends = np.asarray(rows["spring_indices"], dtype=int).reshape(-1, 2)
    if not len(ends):
        return []
    ke, kd = (np.asarray(rows[f"spring_{name}"], dtype=float) for name in ("stiffness", "damping"))
    live = np.flatnonzero((ends >= 0).all(axis=1) & (ends[:, 0] != ends[:, 1]) & ((ke != 0.0) | (kd != 0.0)))
    if not len(live):
        return []
    again = _occurrence(np.sort(ends[live], axis=1))
    found = []
    for group in _groups(ke[live], kd[live], again):
        members = live[group]
        spring = float(ke[members[0]]), float(kd[members[0]])
        within = np.isin(ends[members], np.append(rows["tri_indices"], rows["tet_indices"])).all()
        rgba = (*ROPE[:3], 0.0 if within else 1.0)
        thick = 0.5 * float(radius[ends[members]].min())
        found.append(FlexPart(ends[members], members, thick, 0.0, False, spring=spring, rgba=rgba))
    return found
