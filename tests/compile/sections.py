"""Run single sections of the compiler against MuJoCo: the kinematic tree comes from MuJoCo, the section from us."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import mujoco
import numpy as np
import pytest

from kinema.compile.context import Compilation
from kinema.compile.defaults import read_defaults
from kinema.compile.element import Element, Scope
from kinema.compile.settings import read_settings
from kinema.errors import CompileError
from kinema.mjcf.source import Node, read_xml

TREE = {
    "body": "nbody", "joint": "njnt", "geom": "ngeom", "site": "nsite", "camera": "ncam", "light": "nlight",
    "mesh": "nmesh", "hfield": "nhfield", "texture": "ntex", "material": "nmat",
}  # fmt: skip
TREE_ARRAYS = ("body_", "jnt_", "dof_", "geom_", "site_", "cam_", "light_", "mesh_", "mat_", "hfield_", "qpos", "tree_")
SECTIONS = {
    "tendon": ("tendon", None), "equality": ("equality", None), "actuator": ("actuator", None),
    "sensor": ("sensor", None), "pair": ("contact", ("pair",)), "exclude": ("contact", ("exclude",)),
    "numeric": ("custom", ("numeric",)), "text": ("custom", ("text",)), "tuple": ("custom", ("tuple",)),
    "key": ("keyframe", ("key",)),
}  # fmt: skip
OBJECT = {"joint": "JOINT", "camera": "CAMERA", "material": "MATERIAL", "texture": "TEXTURE"}

WORLD = """
  <worldbody>
    <site name="s0" pos="1 .2 .3"/>
    <geom name="floor" type="plane" size="1 1 .1"/>
    <body name="a" pos="0 0 1">
      <joint name="hinge" type="hinge" axis="0 1 0" range="-60 45" damping=".1"/>
      <geom name="ball" type="sphere" size=".1" mass="2"/>
      <site name="s1" pos="0 .1 .2"/>
      <body name="b" pos=".5 0 0" euler="10 20 30">
        <joint name="slide" type="slide" axis="1 0 0" range="-1 2" armature=".3"/>
        <geom name="tube" type="cylinder" size=".05 .2" pos=".1 0 0" mass="1"/>
        <site name="s2" pos=".3 .1 .1" euler="30 0 10"/>
        <camera name="eye" pos="0 0 .5" resolution="4 3"/>
        <body name="c" pos="0 .4 0">
          <joint name="ballj" type="ball"/>
          <geom name="box" type="box" size=".1 .2 .1" mass="3"/>
          <site name="s3" pos=".1 .2 .3"/>
        </body>
      </body>
    </body>
    <body name="loose" pos="2 0 1"><freejoint name="free"/><geom name="pill" type="capsule" size=".1 .2"/>
      <site name="s4"/></body>
    <body name="held" mocap="true" pos="1 2 3" quat="1 1 0 0"><geom name="mark" size=".1"/></body>
  </worldbody>
"""
"""A small world with every kind of joint, for snippets of other sections."""


def document(section: str, *, before: str = "", world: str = WORLD) -> str:
    return f"<mujoco>{before}{world}{section}</mujoco>"


def prepare(xml: str, m: mujoco.MjModel) -> Compilation:
    """A compilation whose tree has been compiled (by MuJoCo) and whose other sections wait."""
    root = read_xml(xml, file="model.xml")
    c = Compilation(root, read_settings(root), read_defaults(root))
    scope = Scope(settings=c.settings)
    for kind, size in TREE.items():
        code = getattr(mujoco.mjtObj, f"mjOBJ_{kind.upper()}")
        names = [mujoco.mj_id2name(m, code, i) or "" for i in range(getattr(m, size))]
        c.elements[kind] = [Element(Node(kind, {"name": name}), kind, scope, ({"name": name},)) for name in names]
    for name in dir(m):
        if name.startswith(TREE_ARRAYS):
            c.arrays[name] = np.array(getattr(m, name))
    for size in ("nq", "nv", "nmocap", "nmesh", "nflex", "nbody", "njnt", "ngeom", "nsite", "ncam", "nlight"):
        c.sizes[size] = getattr(m, size)
    yields = m.jnt_plasticadr >= 0
    c.sizes["nplastic"] = int(np.sum(np.where(m.jnt_type == mujoco.mjtJoint.mjJNT_BALL, 4, 1)[yields]))
    for kind, (section, tags) in SECTIONS.items():
        nodes = [child for node in root.find(section) for child in node.children if tags is None or child.tag in tags]
        c.elements[kind] = [element(c, node, kind) for node in nodes]
    return c


def element(c: Compilation, node: Node, kind: str) -> Element:
    default = c.defaults.find(node.attributes["class"], node) if "class" in node.attributes else c.defaults.main
    return Element(node, kind, Scope(settings=c.settings), (*default.of(kind), node.attributes), default)


def run(xml: str, stages: Iterable[Callable[[Compilation], None]]) -> tuple[Compilation, mujoco.MjModel]:
    """Compile some sections; returns ours and MuJoCo's."""
    m = mujoco.MjModel.from_xml_string(xml)
    c = prepare(xml, m)
    for stage in stages:
        stage(c)
    return c, m


def differences(c: Compilation, m: mujoco.MjModel, prefixes: tuple[str, ...], skip: tuple[str, ...] = ()) -> list[str]:
    """mjModel arrays of a section that we did not fill or filled with something else."""
    wrong = []
    for name in dir(m):
        if not name.startswith(prefixes) or name in skip:
            continue
        theirs = getattr(m, name)
        if not isinstance(theirs, np.ndarray):
            continue
        ours = c.arrays.get(name)
        if ours is None:
            wrong.append(f"{name} is missing")
        elif ours.shape != theirs.shape:
            wrong.append(f"{name} has shape {ours.shape}, not {theirs.shape}")
        elif not np.allclose(ours, theirs, rtol=1e-9, atol=1e-12):
            wrong.append(f"{name}: {ours.tolist()} is not {theirs.tolist()}")
    return wrong


def assert_refused(section: str, snippet: str, stages: Iterable[Callable[[Compilation], None]], **context: str) -> None:
    """MuJoCo refuses the snippet inside <section>, and so do we, naming file, line and element path."""
    xml = document(f"{context.pop('sections', '')}\n<{section}>\n{snippet}\n</{section}>", **context)
    with pytest.raises(ValueError):
        mujoco.MjModel.from_xml_string(xml)
    with pytest.raises(CompileError) as caught:
        c = prepare(xml, mujoco.MjModel.from_xml_string(document("", **context)))
        for stage in stages:
            stage(c)
        for kind, (owner, _) in SECTIONS.items():
            if owner == section:
                c.ids(kind)
    first = xml[: xml.index(f"\n{snippet}\n")].count("\n") + 2
    assert caught.value.file == "model.xml"
    assert first <= caught.value.line <= first + snippet.count("\n")
    assert section in caught.value.path
