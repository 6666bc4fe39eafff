"""A compiled model as MJCF again: a document that compiles to the same numbers.

    root = decompile(host)            a tree of elements; `serialise(root)` is its text
    text = mjcf_text(host)            the text, compiled once more and compared before it is given

Everything is stated: masses as <inertial>, angles in radians, no default classes, no shortcuts among actuators. So the
document is longer than its author's was, and says the same. Meshes and height fields are in it as numbers, as they were
before the compiler centred them. What only pictures need (textures, normals, texture coordinates) is left out. Flexes,
skins and plugins are refused by name; so is anything that does not come back as it was.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

from kinema.compile.camera import MODES, OUTPUTS, PROJECTIONS
from kinema.compile.field_attributes import LIMITS, POLYNOMIALS, ROWS
from kinema.compile.host_model import KINDS, HostModel
from kinema.compile.option import DISABLE, ENABLE, INTEGERS, KEYWORDS, NUMBERS, SHORT_VECTORS, VECTORS
from kinema.compile.sensor import DISTANCE, FRAME, RAY_FIELDS, SIMPLE
from kinema.compile.visual import COLORS, SWITCHES
from kinema.compile.visual import INTEGERS as VISUAL_INTEGERS
from kinema.compile.visual import NUMBERS as VISUAL_NUMBERS
from kinema.errors import BuildError
from kinema.mjcf.attribute import shortest
from kinema.mjcf.source import Node
from kinema.mjcf.write import serialise
from kinema.model.transform import quat_rotate, transform_inverse, transform_mul
from kinema.mujoco_enums import (
    Bias,
    ControlInput,
    DataType,
    Dynamics,
    Equality,
    Gain,
    Geom,
    Interpolation,
    Joint,
    LightType,
    Obj,
    Sensor,
    SleepPolicy,
    Stage,
    Transmission,
    Wrap,
    words,
)

REFUSED = {"nflex": "flexes", "nskin": "skins", "nplugin": "plugins"}
PREFIX = {"joint": "jnt", "camera": "cam", "equality": "eq", "material": "mat", "texture": "tex"}
OBJECTS = {Obj.XBODY: "body", Obj.BODY: "body", Obj.GEOM: "geom", Obj.SITE: "site", Obj.CAMERA: "camera",
           Obj.JOINT: "joint", Obj.TENDON: "tendon", Obj.ACTUATOR: "actuator", Obj.SENSOR: "sensor",
           Obj.EQUALITY: "equality", Obj.MATERIAL: "material", Obj.MESH: "mesh", Obj.KEY: "key"}  # fmt: skip
CODES = {Obj.XBODY: "xbody", Obj.BODY: "body"}
INTEGER_ROWS = {
    "geom": ("contype", "conaffinity", "condim", "group", "priority"), "site": ("group",), "joint": ("group",),
    "tendon": ("group",), "actuator": ("group",), "pair": (),
}  # fmt: skip
"""Attributes of whole numbers that are a field of the same name."""

NUMERIC: tuple[Mapping[str, Any], ...] = (VISUAL_INTEGERS, VISUAL_NUMBERS, COLORS)
PICTURES = ("mat_tex", "tex_", "ntex", "mesh_normal", "mesh_texcoord", "mesh_face", "mesh_path", "hfield_path",
            "nmeshnormal", "nmeshtexcoord", "skin_", "light_texid", "tendon_width")  # fmt: skip
"""What is left out, or follows from how meshes are written."""

REMADE = ("name", "paths", "npaths", "nnames", "signature", "narena", "nbuffer", "bvh", "nbvh", "mesh_pos", "mesh_quat",
          "mesh_scale", "mesh_graph", "mesh_poly", "mesh_vert", "mesh_bvh", "mesh_oct", "oct_", "noct", "geom_aabb",
          "body_bvh", "nmesh", "npolygonmax", "mesh_extrema", "geom_matid", "text_")  # fmt: skip
"""What is numbered anew, or of which places on surfaces are compared instead."""


def decompile(m: HostModel) -> Node:
    """The model as a tree of elements."""
    found = [name for size, name in REFUSED.items() if int(m.sizes.get(size, 0))]
    if found:
        raise BuildError(f"a model with {' and '.join(found)} cannot be written as MJCF from its numbers")
    return _Writer(m).write()


def mjcf_text(m: HostModel, following: Collection[str] = ()) -> str:
    """The model as text; BuildError, naming the fields, where it would not compile to the same numbers.

    Args:
        m: The model.
        following: Fields that follow from others when a document is compiled, and need not be as they are.
    """
    from kinema.compile.pipeline import compile_model  # imported on use: it imports everything

    text = serialise(decompile(m))
    differ = [name for name in differences(compile_model(text), m) if name not in following]
    if differ:
        told = ", ".join(differ[:5])
        raise BuildError(f"the model cannot be written as MJCF: {told} would not come back as they are")
    return text


def differences(one: HostModel, other: HostModel, tolerance: float = 1e-6) -> list[str]:
    """Names of fields that differ, by more than a fraction of the largest number of each."""
    found = [name for name, size in other.sizes.items() if not name.startswith((*PICTURES, *REMADE))
             and not name.startswith("nuser") and int(one.sizes[name]) != int(size)]  # fmt: skip
    if found:
        return found
    placed = np.isin(np.asarray(other.geom_type), (Geom.MESH, Geom.SDF)) & (np.asarray(other.geom_dataid) >= 0)
    for name, theirs in other.arrays.items():
        if name.startswith((*PICTURES, *REMADE)) or name.endswith("_user"):
            continue
        mine, wanted = (np.asarray(a, dtype=float) for a in (one.arrays[name], theirs))
        if name in ("geom_pos", "geom_quat", "geom_size", "geom_rbound", "geom_dataid"):  # meshes: see below
            mine, wanted = mine[~placed], wanted[~placed]
        if name.endswith("quat") and mine.shape == wanted.shape:
            mine = mine * np.where(np.sum(mine * wanted, axis=-1, keepdims=True) < 0, -1, 1)
        atol = tolerance * max(1e-3, np.abs(wanted[np.isfinite(wanted)]).max(initial=0))
        if mine.shape != wanted.shape or not np.allclose(mine, wanted, rtol=tolerance, atol=atol, equal_nan=True):
            found.append(name)
    for g in np.flatnonzero(placed).tolist():
        surfaces = [_vertices(m, g) for m in (one, other)]
        scale = np.abs(surfaces[1]).max(initial=1e-3)
        if len(surfaces[0]) != len(surfaces[1]) or np.abs(surfaces[0] - surfaces[1]).max(initial=0) > 1e-5 * scale:
            found.append(f"the mesh of geom {g}")
    for owner in ("opt", "stat"):
        for name, theirs in vars(getattr(other, owner)).items():
            if not np.allclose(getattr(getattr(one, owner), name), theirs, rtol=tolerance, atol=1e-12):
                found.append(f"{owner}.{name}")
    return found


def _vertices(m: HostModel, geom: int) -> np.ndarray:
    """Vertices of a geom's mesh, in its body's frame."""
    mesh = int(m.geom_dataid[geom])
    start, count = int(m.mesh_vertadr[mesh]), int(m.mesh_vertnum[mesh])
    vertices = np.asarray(m.mesh_vert, dtype=float).reshape(-1, 3)[start : start + count]
    return _place(m.geom_pos[geom], m.geom_quat[geom], vertices)


def _place(pos: Any, quat: Any, points: np.ndarray) -> np.ndarray:
    return np.asarray(pos, dtype=float) + quat_rotate(np.asarray(quat, dtype=float)[[1, 2, 3, 0]], points)


def text(values: Any) -> str:
    """Numbers as MJCF has them, with all their digits."""
    values = np.ravel(values)
    if values.dtype.kind in "iub":
        return " ".join(str(int(v)) for v in values)
    return " ".join(shortest(float(v)) for v in values)


def _flag(value: Any) -> str:
    return "true" if value else "false"


class _Writer:
    """Writes one model."""

    def __init__(self, m: HostModel):
        self.m = m
        self.root = Node("mujoco", {"model": m.modelname})
        self.names = {kind: _unique(kind, m.names(kind)) for kind in KINDS}

    def write(self) -> Node:
        self._child(self.root, "compiler", angle="radian", autolimits="false", inertiafromgeom="false")
        self._option()
        self._sizes()
        self._visual()
        stated = {n: text(v) for n, v in vars(self.m.stat).items() if n != "meaninertia"}  # that one follows
        self._child(self.root, "statistic", **stated)
        self._assets()
        self._tree()
        self._contact()
        self._equality()
        self._tendons()
        self._actuators()
        self._sensors()
        self._custom()
        self._keyframes()
        self.root.children = [node for node in self.root.children if node.children or node.attributes]
        return self.root

    # ---- help

    def _child(self, parent: Node, tag: str, **attributes: str) -> Node:
        return parent.add(Node(tag, {name: value for name, value in attributes.items() if value != ""}))

    def name(self, kind: str, i: int) -> str:
        """The name of an element; one of its own where it has none."""
        return self.names[kind][int(i)]

    def row(self, field: str, i: int) -> Any:
        return np.asarray(self.m.arrays[field])[i]

    def plain(self, kind: str, i: int, skip: tuple[str, ...] = ()) -> dict[str, str]:
        """Attributes that are a field each."""
        made: dict[str, str] = {}
        for field, (of, attribute) in ROWS.items():
            if of != kind or attribute in skip or field not in self.m.arrays:
                continue
            made[attribute] = text(self._with_more(field, i))
        prefix = PREFIX.get(kind, kind)
        for attribute in INTEGER_ROWS.get(kind, ()):
            made[attribute] = text(self.row(f"{prefix}_{attribute}", i))
        for field, (attribute, limited) in LIMITS.items():
            if ROWS[field][0] == kind and ROWS[field][1] in made:
                made[attribute] = _flag(self.row(limited, i))
        user = self.m.arrays.get(f"{prefix}_user")
        if user is not None and user.size:
            made["user"] = text(user[i])
        return made

    def _with_more(self, field: str, i: int) -> np.ndarray:
        values = np.ravel(self.row(field, i))
        for more, of in POLYNOMIALS.items():
            if of == field and np.any(self.row(more, i)):
                values = np.concatenate([values, np.ravel(self.row(more, i))])
        return values

    # ---- settings

    def _option(self) -> None:
        opt = self.m.opt
        made = {name: text(getattr(opt, name)) for name in (*NUMBERS, *INTEGERS, *VECTORS, *SHORT_VECTORS)}
        for name, (table, _) in KEYWORDS.items():
            made[name] = next(word for word, code in table.items() if int(code) == int(getattr(opt, name)))
        off = [str(k) for k in range(31) if int(opt.disableactuator) >> k & 1]
        node = self._child(self.root, "option", **made, actuatorgroupdisable=" ".join(off))
        flags = {word: "disable" for word, bit in DISABLE.items() if int(opt.disableflags) & bit}
        flags |= {word: "enable" for word, bit in ENABLE.items() if int(opt.enableflags) & bit}
        if flags:
            self._child(node, "flag", **flags)

    def _sizes(self) -> None:
        made = {n: str(int(v)) for n, v in self.m.sizes.items() if n.startswith("nuser_") and int(v) > 0}
        if int(self.m.sizes.get("nuserdata", 0)):
            made["nuserdata"] = str(int(self.m.nuserdata))
        self._child(self.root, "size", **made)

    def _visual(self) -> None:
        node = self._child(self.root, "visual")
        groups = {group.rstrip("_"): values for group, values in vars(self.m.vis).items()}  # global goes by two names
        for tag, values in groups.items():
            made = {}
            for name, value in vars(values).items():
                if name in SWITCHES.get(tag, ()):
                    made[name] = _flag(value)
                elif (tag, name) == ("headlight", "active") or any(name in table.get(tag, ()) for table in NUMERIC):
                    made[name] = text(value)
            self._child(node, tag, **made)

    # ---- assets

    def _assets(self) -> None:
        m, node = self.m, self._child(self.root, "asset")
        for i in range(int(m.nmat)):
            made = {n: text(self.row(f"mat_{n}", i)) for n in
                    ("emission", "specular", "shininess", "reflectance", "metallic", "roughness", "rgba")}  # fmt: skip
            self._child(node, "material", name=self.name("material", i), **made)
        for i in range(int(m.nmesh)):
            start, count = int(m.mesh_vertadr[i]), int(m.mesh_vertnum[i])
            vertices = np.asarray(m.mesh_vert, dtype=float).reshape(-1, 3)[start : start + count]
            vertices = _place(m.mesh_pos[i], m.mesh_quat[i], vertices).astype(np.float32)  # as they were before
            start, count = int(m.mesh_faceadr[i]), int(m.mesh_facenum[i])
            faces = np.asarray(m.mesh_face).reshape(-1, 3)[start : start + count]
            made = {"vertex": " ".join(str(v) for v in vertices.ravel()), "face": text(faces)}
            self._child(node, "mesh", name=self.name("mesh", i), **made)
        for i in range(int(m.nhfield)):
            rows, columns, start = int(m.hfield_nrow[i]), int(m.hfield_ncol[i]), int(m.hfield_adr[i])
            data = np.asarray(m.hfield_data)[start : start + rows * columns].reshape(rows, columns)[::-1]
            self._child(
                node, "hfield", name=self.name("hfield", i), nrow=str(rows), ncol=str(columns),
                size=text(m.hfield_size[i]), elevation=" ".join(str(np.float32(v)) for v in data.ravel()),
            )  # fmt: skip

    # ---- the tree

    def _tree(self) -> None:
        m = self.m
        nodes = [self._child(self.root, "worldbody")]
        for b in range(1, int(m.nbody)):
            node = self._child(
                nodes[int(m.body_parentid[b])], "body", name=self.name("body", b), pos=text(m.body_pos[b]),
                quat=text(m.body_quat[b]), mocap=_flag(m.body_mocapid[b] >= 0), sleep=self._sleep(b),
                **self.plain("body", b),
            )  # fmt: skip
            nodes.append(node)
            if float(m.body_mass[b]) > 0 or np.any(m.body_inertia[b]):
                self._child(
                    node, "inertial", pos=text(m.body_ipos[b]), quat=text(m.body_iquat[b]), mass=text(m.body_mass[b]),
                    diaginertia=text(m.body_inertia[b]),
                )  # fmt: skip
        for kind, make in (("joint", self._joint), ("geom", self._geom), ("site", self._site),
                           ("camera", self._camera), ("light", self._light)):  # fmt: skip
            owner = np.asarray(m.arrays[f"{PREFIX.get(kind, kind)}_bodyid"])
            for i in range(int(m.sizes[KINDS[kind]])):
                make(nodes[int(owner[i])], i)

    def _sleep(self, body: int) -> str:
        tree = int(self.m.body_treeid[body])
        if tree < 0 or int(self.m.body_rootid[body]) != body:
            return ""
        policy = SleepPolicy(int(self.m.tree_sleep_policy[tree]))
        return "" if policy.name.startswith("AUTO") else policy.name.lower()

    def _joint(self, node: Node, i: int) -> None:
        m, kind = self.m, Joint(int(self.m.jnt_type[i]))
        turn = kind in (Joint.FREE, Joint.BALL)
        made = {"group": text(m.jnt_group[i])}
        for field, (of, attribute) in ROWS.items():
            if of != "joint":
                continue
            at = {"q": int(m.jnt_qposadr[i]), "d": int(m.jnt_dofadr[i])}.get(field[0], i)
            if field in ("qpos0", "qpos_spring") and turn or (attribute in ("pos", "axis") and kind == Joint.FREE):
                continue
            made[attribute] = text(self._with_more(field, at))
        for field, (attribute, limited) in LIMITS.items():
            if ROWS[field][0] == "joint":
                made[attribute] = _flag(self.row(limited, i))
        made["actuatorgravcomp"] = _flag(m.jnt_actgravcomp[i])
        if m.jnt_user.size:
            made["user"] = text(m.jnt_user[i])
        self._child(node, "joint", name=self.name("joint", i), type=kind.name.lower(), **made)

    def _geom(self, node: Node, i: int) -> None:
        m, kind, data = self.m, Geom(int(self.m.geom_type[i])), int(self.m.geom_dataid[i])
        pos, quat = np.asarray(m.geom_pos[i]), np.asarray(m.geom_quat[i])
        made = self.plain("geom", i)
        if kind in (Geom.MESH, Geom.SDF) and data >= 0:
            made["mesh"] = self.name("mesh", data)
            pose = transform_mul(_xform(pos, quat), transform_inverse(_xform(m.mesh_pos[data], m.mesh_quat[data])))
            pos, quat = pose[:3], pose[[6, 3, 4, 5]]
        elif kind == Geom.HFIELD:
            made["hfield"] = self.name("hfield", data)
        else:
            made["size"] = text(m.geom_size[i])
        if int(m.geom_matid[i]) >= 0:
            made["material"] = self.name("material", m.geom_matid[i])
        fluid = np.asarray(m.geom_fluid[i])
        if fluid[0]:
            made |= {"fluidshape": "ellipsoid", "fluidcoef": text(fluid[1:6])}
        self._child(
            node, "geom", name=self.name("geom", i), type=kind.name.lower(), pos=text(pos), quat=text(quat),
            rgba=text(m.geom_rgba[i]), **made,
        )  # fmt: skip

    def _site(self, node: Node, i: int) -> None:
        m, made = self.m, self.plain("site", i)
        if int(m.site_matid[i]) >= 0:
            made["material"] = self.name("material", m.site_matid[i])
        self._child(
            node, "site", name=self.name("site", i), type=Geom(int(m.site_type[i])).name.lower(),
            size=text(m.site_size[i]), pos=text(m.site_pos[i]), quat=text(m.site_quat[i]), rgba=text(m.site_rgba[i]),
            **made,
        )  # fmt: skip

    def _camera(self, node: Node, i: int) -> None:
        m = self.m
        made = {"mode": _word(MODES, m.cam_mode[i]), "projection": _word(PROJECTIONS, m.cam_projection[i])}
        if int(m.cam_targetbodyid[i]) >= 0:
            made["target"] = self.name("body", m.cam_targetbodyid[i])
        if np.any(m.cam_sensorsize[i]):
            made |= {"sensorsize": text(m.cam_sensorsize[i]), "focal": text(m.cam_intrinsic[i][:2]),
                     "principal": text(m.cam_intrinsic[i][2:])}  # fmt: skip
        else:
            made["fovy"] = text(m.cam_fovy[i])
        made["output"] = " ".join(word for word, bit in OUTPUTS.items() if int(m.cam_output[i]) & bit)
        self._child(
            node, "camera", name=self.name("camera", i), pos=text(m.cam_pos[i]), quat=text(m.cam_quat[i]),
            ipd=text(m.cam_ipd[i]), resolution=text(m.cam_resolution[i]), **made,
        )  # fmt: skip

    def _light(self, node: Node, i: int) -> None:
        m = self.m
        made = {n: text(self.row(f"light_{n}", i)) for n in (
            "pos", "dir", "attenuation", "cutoff", "softness", "exponent", "ambient", "diffuse", "specular",
            "bulbradius", "intensity", "range") if f"light_{n}" in m.arrays}  # fmt: skip
        made |= {n: _flag(self.row(f"light_{n}", i)) for n in ("active", "castshadow")}
        if int(m.light_targetbodyid[i]) >= 0:
            made["target"] = self.name("body", m.light_targetbodyid[i])
        self._child(
            node, "light", name=self.name("light", i), mode=_word(MODES, m.light_mode[i]),
            type=LightType(int(m.light_type[i])).name.lower(), **made,
        )  # fmt: skip

    # ---- what joins parts

    def _contact(self) -> None:
        m, node = self.m, self._child(self.root, "contact")
        for i in range(int(m.npair)):
            made = self.plain("pair", i)
            if "pair_adhesion" in m.arrays:
                made["adhesion"] = text(m.pair_adhesion[i])
            self._child(
                node, "pair", name=self.name("pair", i), geom1=self.name("geom", m.pair_geom1[i]),
                geom2=self.name("geom", m.pair_geom2[i]), condim=text(m.pair_dim[i]), **made,
            )  # fmt: skip
        for i in range(int(m.nexclude)):
            signature = int(m.exclude_signature[i])
            bodies = [self.name("body", k) for k in (signature >> 16, signature & 0xFFFF)]
            self._child(node, "exclude", name=self.name("exclude", i), body1=bodies[0], body2=bodies[1])

    def _equality(self) -> None:
        m, node = self.m, self._child(self.root, "equality")
        for i in range(int(m.neq)):
            kind, data = Equality(int(m.eq_type[i])), np.asarray(m.eq_data[i])
            made = self.plain("equality", i) | {"active": _flag(m.eq_active0[i])}
            what = "joint" if kind == Equality.JOINT else "tendon" if kind == Equality.TENDON else ""
            what = what or OBJECTS[Obj(int(m.eq_objtype[i]))]
            made[f"{what}1"] = self.name(what, m.eq_obj1id[i])
            if int(m.eq_obj2id[i]) >= 0 and not (what == "body" and int(m.eq_obj2id[i]) == 0):
                made[f"{what}2"] = self.name(what, m.eq_obj2id[i])
            if kind in (Equality.JOINT, Equality.TENDON):
                made["polycoef"] = text(data[:5])
            elif kind == Equality.CONNECT and what == "body":
                made["anchor"] = text(data[:3])
            elif kind == Equality.WELD:
                made["torquescale"] = text(data[10])
                if what == "body":
                    made["anchor"] = text(data[:3])
                    made["relpose"] = "" if data[11] else text(data[3:10])  # it was completed, and will be
            elif kind not in (Equality.CONNECT, Equality.WELD):
                raise BuildError(f"equality {i} is of kind {kind.name.lower()}, which is not written")
            self._child(node, kind.name.lower(), name=self.name("equality", i), **made)

    def _tendons(self) -> None:
        m, node = self.m, self._child(self.root, "tendon")
        for i in range(int(m.ntendon)):
            start, count = int(m.tendon_adr[i]), int(m.tendon_num[i])
            fixed = int(m.wrap_type[start]) == Wrap.JOINT
            made = self.plain("tendon", i)
            if not fixed:
                made |= {"width": text(m.tendon_width[i]), "rgba": text(m.tendon_rgba[i])}
                if int(m.tendon_matid[i]) >= 0:
                    made["material"] = self.name("material", m.tendon_matid[i])
            tendon = self._child(node, "fixed" if fixed else "spatial", name=self.name("tendon", i), **made)
            for k in range(start, start + count):
                self._wrap(tendon, Wrap(int(m.wrap_type[k])), int(m.wrap_objid[k]), float(m.wrap_prm[k]))

    def _wrap(self, tendon: Node, kind: Wrap, obj: int, prm: float) -> None:
        if kind == Wrap.JOINT:
            self._child(tendon, "joint", joint=self.name("joint", obj), coef=text(prm))
        elif kind == Wrap.PULLEY:
            self._child(tendon, "pulley", divisor=text(prm))
        elif kind == Wrap.SITE:
            self._child(tendon, "site", site=self.name("site", obj))
        else:
            side = self.name("site", round(prm)) if prm >= 0 else ""
            self._child(tendon, "geom", geom=self.name("geom", obj), sidesite=side)

    def _actuators(self) -> None:
        m, node = self.m, self._child(self.root, "actuator")
        for i in range(int(m.nactuator)):
            if int(m.actuator_ctrlnum[i]) != 1 or int(m.actuator_outnum[i]) != 1:
                raise BuildError(f"actuator {self.name('actuator', i)!r} has several controls or outputs: not written")
            kinds = (("dyntype", Dynamics), ("gaintype", Gain), ("biastype", Bias))
            made = self.plain("actuator", i, skip=("ctrlrange", "forcerange", "gear", "cranklength"))
            at = int(m.actuator_ctrladr[i]), int(m.actuator_outadr[i])
            made |= {n: kind(int(self.row(f"actuator_{n}", i))).name.lower() for n, kind in kinds}
            made |= {n: text(self.row(f"actuator_{n}", i)) for n in ("dynprm", "gainprm", "biasprm", "lengthrange")}
            made |= {"ctrlrange": text(m.actuator_ctrlrange[at[0]]), "gear": text(m.actuator_gear[at[1]]),
                     "forcerange": text(m.actuator_forcerange[at[1]])}  # fmt: skip
            for name in ("ctrl", "force"):
                made[f"{name}limited"] = _flag(np.ravel(m.arrays[f"actuator_{name}limited"])[at[name == "force"]])
            if int(m.actuator_actnum[i]):
                made |= {"actdim": text(m.actuator_actnum[i]), "actearly": _flag(m.actuator_actearly[i])}
            for name, of in (("armature", "armature"), ("damping", "damping")):
                made[name] = text(m.arrays[f"actuator_{of}"][i])
            spec = int(m.actuator_ctrlspec[i])
            made["input"] = " ".join(str(bit.name).lower() for bit in ControlInput if spec & bit)
            made |= self._history("actuator", i) | self._transmission(i)
            self._child(node, "general", name=self.name("actuator", i), **made)

    def _history(self, kind: str, i: int) -> dict[str, str]:
        samples, how = (int(v) for v in self.row(f"{kind}_history", i))
        if samples == 0:
            return {}
        made = {"nsample": str(samples), "interp": _word(words(Interpolation), how)}
        return made | {"delay": text(self.row(f"{kind}_delay", i))}

    def _transmission(self, i: int) -> dict[str, str]:
        kind = Transmission(int(self.m.actuator_trntype[i]))
        one, two = (int(k) for k in self.m.actuator_trnid[i])
        if kind in (Transmission.JOINT, Transmission.JOINTINPARENT):
            return {kind.name.lower(): self.name("joint", one)}
        if kind == Transmission.SLIDERCRANK:
            length = text(self.m.actuator_cranklength[i])
            return {"cranksite": self.name("site", one), "slidersite": self.name("site", two), "cranklength": length}
        if kind == Transmission.SITE:
            return {"site": self.name("site", one)} | ({"refsite": self.name("site", two)} if two >= 0 else {})
        if kind == Transmission.TENDON:
            return {"tendon": self.name("tendon", one)}
        if kind == Transmission.BODY:
            return {"body": self.name("body", one)}
        raise BuildError(f"actuator {self.name('actuator', i)!r} acts through {kind.name.lower()}: not written")

    def _sensors(self) -> None:
        m, node = self.m, self._child(self.root, "sensor")
        simple = {int(row[0]): (tag, row[1]) for tag, row in SIMPLE.items()}
        frames = {int(row[0]): tag for tag, row in FRAME.items()}
        far = {int(row[0]): tag for tag, row in DISTANCE.items()}
        for i in range(int(m.nsensor)):
            code, made = int(m.sensor_type[i]), self.plain("sensor", i) | self._history("sensor", i)
            if np.any(m.sensor_interval[i]):
                made["interval"] = text(m.sensor_interval[i])
            obj, ref = self._object(i, "obj"), self._object(i, "ref")
            if code in simple:
                tag, of = simple[code]
                made |= {of: obj[1]} if of else {}
            elif code in frames:
                tag = frames[code]
                made |= {"objtype": obj[0], "objname": obj[1]}
                made |= {"reftype": ref[0], "refname": ref[1]} if ref[1] else {}
            elif code in far:
                tag = far[code]
                made |= {f"{obj[0]}1": obj[1], f"{ref[0]}2": ref[1]}
            elif code == Sensor.RANGEFINDER:
                bits = int(m.sensor_intprm[i][0])
                fields = [word for k, word in enumerate(RAY_FIELDS) if bits >> k & 1]
                tag, made = "rangefinder", made | {obj[0]: obj[1], "data": " ".join(fields)}
            elif code == Sensor.USER:
                tag = "user"
                made |= {"dim": text(m.sensor_dim[i]), "needstage": Stage(int(m.sensor_needstage[i])).name.lower(),
                         "datatype": DataType(int(m.sensor_datatype[i])).name.lower()}  # fmt: skip
                made |= {"objtype": obj[0], "objname": obj[1]} if obj[1] else {}
            else:
                raise BuildError(f"sensor {self.name('sensor', i)!r} is a {Sensor(code).name.lower()}: not written")
            self._child(node, tag, name=self.name("sensor", i), **made)

    def _object(self, i: int, which: str) -> tuple[str, str]:
        """Kind and name of what a sensor measures, or measures it from."""
        kind, obj = Obj(int(self.row(f"sensor_{which}type", i))), int(self.row(f"sensor_{which}id", i))
        if kind not in OBJECTS or obj < 0:
            return "", ""
        return CODES.get(kind, OBJECTS[kind]), self.name(OBJECTS[kind], obj)

    # ---- the rest

    def _custom(self) -> None:
        m, node = self.m, self._child(self.root, "custom")
        for i in range(int(m.nnumeric)):
            start, size = int(m.numeric_adr[i]), int(m.numeric_size[i])
            data = np.asarray(m.numeric_data)[start : start + size]
            self._child(node, "numeric", name=self.name("numeric", i), size=str(size), data=text(data))
        for i in range(int(m.ntuple)):
            start, size = int(m.tuple_adr[i]), int(m.tuple_size[i])
            parts = self._child(node, "tuple", name=self.name("tuple", i))
            for k in range(start, start + size):
                kind = OBJECTS[Obj(int(m.tuple_objtype[k]))]
                self._child(
                    parts, "element", objtype=CODES.get(Obj(int(m.tuple_objtype[k])), kind),
                    objname=self.name(kind, m.tuple_objid[k]), prm=text(m.tuple_objprm[k]),
                )  # fmt: skip

    def _keyframes(self) -> None:
        m, node = self.m, self._child(self.root, "keyframe")
        fields = {"time": "time", "qpos": "qpos", "qvel": "qvel", "act": "act", "ctrl": "ctrl", "mpos": "mpos",
                  "mquat": "mquat"}  # fmt: skip
        for i in range(int(m.nkey)):
            made = {name: text(self.row(f"key_{field}", i)) for name, field in fields.items()}
            self._child(node, "key", name=self.name("key", i), **made)


def _word(table: Mapping[str, Any], code: Any) -> str:
    return next(word for word, value in table.items() if int(value) == int(code))


def _xform(pos: Any, quat: Any) -> np.ndarray:
    quat = np.asarray(quat, dtype=float)
    return np.concatenate([np.asarray(pos, dtype=float), quat[[1, 2, 3, 0]]])


def _unique(kind: str, names: list[str]) -> list[str]:
    """The names of a kind; what has none gets one, so that it can be referred to."""
    taken = set(names)
    made = []
    for i, name in enumerate(names):
        new = name or f"{kind}{i}"
        while not name and new in taken:
            new += "_"
        taken.add(new)
        made.append(new)
    return made


