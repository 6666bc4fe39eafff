"""The model as it stands, as MJCF: its document, with the numbers that were changed since it was compiled.

What nobody touched stays as its author wrote it. A number that was changed is written into the element it belongs to,
which the compiler tells: row i of a field is the i-th element of its kind, and every element knows where it stands in
the document. ROWS says which attribute a field is; a few take more than one (poses, inertias, actuators).

Nothing is trusted: before anything is written the new document is compiled, and every number of the simulation is
compared with what it says. What cannot be written, such as copies of one <replicate> that differ by now, is an error
that names the field.

A model that came compiled, or is a Model built by hand, has no document: all its numbers are written (decompile.py).
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from kinema.compile.field_attributes import LIMITS, POLYNOMIALS, ROWS
from kinema.errors import BuildError
from kinema.mjcf.attribute import shortest
from kinema.mjcf.source import Node
from kinema.mjcf.write import serialise
from kinema.model.mujoco_fields import model_fields
from kinema.mujoco_enums import Bias, ControlChart, ControlInput, Dynamics, Gain, Geom, Joint
from kinema.simulation.recompute import DERIVED

if TYPE_CHECKING:
    from kinema.compile.context import Compilation
    from kinema.compile.element import Element
    from kinema.simulation.simulation import Simulation

ANGLES = frozenset({"jnt_range", "qpos0", "qpos_spring"})
"""Fields that are angles for joints that turn."""

COORDINATES = frozenset({"qpos0", "qpos_spring"})
"""Fields of coordinates; those of balls and free joints are no attributes."""

ADDRESSES = {"nv": "jnt_dofadr", "nq": "jnt_qposadr", "nu": "actuator_ctrladr", "nout": "actuator_outadr"}
"""Where the rows of an element begin, for fields that do not count elements."""

POSES = {"body": "body", "geom": "geom", "site": "site", "cam": "camera", "light": "light"}
"""Prefixes of fields that end in _pos and _quat, and the kind of element."""

ORIENTATIONS = ("quat", "axisangle", "xyaxes", "zaxis", "euler", "fromto")
INERTIAL = ("body_mass", "body_inertia", "body_ipos", "body_iquat")
MASSIVE = ("boundmass", "boundinertia", "balanceinertia", "settotalmass", "inertiafromgeom")
"""Settings of the compiler that change masses which a document states."""

CONTROL = {"dynprm": ("dyntype", Dynamics), "gainprm": ("gaintype", Gain), "biasprm": ("biastype", Bias)}
FOLLOWING = frozenset({*DERIVED, "dof_length", "geom_rbound", "meaninertia", "wrap_prm"})
"""Fields that follow from others when the document is compiled."""


class _Changes:
    """The numbers of one world beside those the model was compiled with."""

    def __init__(self, sim: Simulation, world: int):
        self.sim, self.world = sim, world
        self._now: dict[str, np.ndarray] = {}

    def now(self, name: str) -> np.ndarray:
        """A field as it is; numbers that nobody touched have all their digits, others the fewest that are the same."""
        if name not in self._now:
            built = np.asarray(self.sim.engine.built(name), dtype=float)
            values = np.asarray(self.sim.engine.read(name)[self.world]).reshape(built.shape)
            if values.dtype == np.float32:
                few = np.array([float(str(v)) for v in values.ravel()]).reshape(built.shape)
                values = np.where(values == built.astype(np.float32), built, few)
            self._now[name] = values
        return self._now[name]

    def rows(self, name: str) -> list[int]:
        """Rows in which a field was changed."""
        built = np.asarray(self.sim.engine.built(name), dtype=float)
        differs = ~np.isclose(self.now(name), built, rtol=0, atol=0, equal_nan=True)
        return np.flatnonzero(differs.reshape(len(built), -1).any(axis=1)).tolist() if built.ndim else []

    def free_bodies(self) -> dict[int, int]:
        """Bodies with a free joint, and where their coordinates begin."""
        m = self.sim.model
        free = np.flatnonzero(np.asarray(m.jnt_type) == Joint.FREE)
        return {int(m.jnt_bodyid[j]): int(m.jnt_qposadr[j]) for j in free}

    def is_changed(self, name: str) -> bool:
        built = np.asarray(self.sim.engine.built(name), dtype=float)
        return built.size > 0 and not np.array_equal(self.now(name), built, equal_nan=True)


class _Editor:
    """Writes numbers into the elements of a document."""

    def __init__(self, c: Compilation, changes: _Changes):
        self.c, self.changes, self.m = c, changes, changes.sim.model
        self.written: dict[tuple[int, str], str] = {}

    def put(self, element: Element, attribute: str, text: str, field: str, *, spatial: bool = False) -> None:
        """Set an attribute; an error where the element is not the document's own, or its copies differ."""
        self.check_own(element, field)
        if spatial and element.frame is not None:
            raise BuildError(
                f"save_xml: {field} was changed of {element.kind} {element.name!r}, which stands in a <frame> or "
                "<replicate>: give it a place of its own"
            )
        key = (id(element.node), attribute)
        if self.written.setdefault(key, text) != text:
            raise BuildError(f"save_xml: copies of one {element.kind} {element.name!r} differ in {field} by now")
        element.node.attributes[attribute] = text

    def check_own(self, element: Element, field: str) -> None:
        """Raise where an element is written in another document, which was attached."""
        top = element.node
        while top.parent is not None:
            top = top.parent
        if top is not self.c.root:
            raise BuildError(
                f"save_xml: {field} was changed of {element.kind} {element.name!r}, which an attached file has"
            )

    def elements(self, kind: str, rows: Iterable[int], symbol: str) -> list[tuple[int, Element]]:
        """Elements that rows belong to, and the first row of each."""
        starts = np.asarray(getattr(self.m, ADDRESSES[symbol])) if symbol in ADDRESSES else None
        found: dict[int, int] = {}
        for row in rows:
            i = row if starts is None else int(np.searchsorted(starts, row, side="right")) - 1
            found[i] = row if starts is None else int(starts[i])
        return [(row, self.c.elements[kind][i]) for i, row in found.items()]

    # ---- what a field is

    def option(self, name: str) -> None:
        section = next(self.c.root.find("option"), None) or self.c.root.add(Node("option"))
        section.attributes[name] = _text(self.changes.now(name))

    def attribute(self, field: str, also: Iterable[int] = ()) -> None:
        """A field that is one attribute: rows that were changed, and others that are to be said."""
        kind, attribute = ROWS[field]
        symbol = str(model_fields()[field].shape[0])
        more = next((poly for poly, of in POLYNOMIALS.items() if of == field), "")
        rows = {*self.changes.rows(field), *(self.changes.rows(more) if more else ()), *also}
        for row, element in self.elements(kind, sorted(rows), symbol):
            if field in COORDINATES and self._has_quaternion(element):
                continue  # the pose of its body says it
            values = np.ravel(self.changes.now(field)[row])
            if more and np.any(self.changes.now(more)[row]):
                values = np.concatenate([values, np.ravel(self.changes.now(more)[row])])
            if field in ANGLES and self._turns(element, field):
                values = np.rad2deg(values)
            _plain_joint(element.node)
            self.put(element, attribute, _text(values), field, spatial=attribute in ("pos", "axis", "dir"))
            if field in LIMITS:
                flag, limited = LIMITS[field]
                i = self.c.elements[kind].index(element)
                holds = bool(np.asarray(getattr(self.m, limited))[i])
                self.put(element, flag, "true" if holds else "false", field)

    def _has_quaternion(self, element: Element) -> bool:
        i = self.c.elements["joint"].index(element)
        return self.m.jnt_type[i] in (Joint.FREE, Joint.BALL)

    def _turns(self, element: Element, field: str) -> bool:
        """Whether a number is written in degrees; MuJoCo leaves ranges that do not hold as they are written."""
        i = self.c.elements["joint"].index(element)
        holds = field != "jnt_range" or bool(self.m.jnt_limited[i])
        return element.settings.degree and holds and self.m.jnt_type[i] in (Joint.HINGE, Joint.BALL)

    def pose(self, prefix: str) -> None:
        """Positions and orientations of elements of the tree."""
        kind = POSES[prefix]
        place, turn = f"{prefix}_pos", f"{prefix}_quat"
        known = [name for name in (place, turn) if name in self.changes.sim.engine.parameters]
        for row in sorted({row for name in known for row in self.changes.rows(name)}):
            element = self.c.elements[kind][row]
            if kind == "body" and row in self.changes.free_bodies():
                continue
            if kind == "geom" and self.m.geom_type[row] in (Geom.MESH, Geom.SDF):
                raise BuildError(f"save_xml: {place} was changed of geom {element.name!r}, whose mesh has a frame too")
            if turn in known:
                for name in ORIENTATIONS:
                    element.node.attributes.pop(name, None)
                self.put(element, "quat", _text(self.changes.now(turn)[row]), turn, spatial=True)
            self.put(element, "pos", _text(self.changes.now(place)[row]), place, spatial=True)

    def sizes(self, kind: str) -> None:
        """Sizes of geoms or sites; one between two points gets a pose of its own."""
        field, now = f"{kind}_size", self.changes.now
        for row in self.changes.rows(field):
            element = self.c.elements[kind][row]
            if "fromto" in element.node.attributes:
                del element.node.attributes["fromto"]
                self.put(element, "pos", _text(now(f"{kind}_pos")[row]), field, spatial=True)
                self.put(element, "quat", _text(now(f"{kind}_quat")[row]), field, spatial=True)
            self.put(element, "size", _text(now(field)[row]), field)

    def free_poses(self) -> None:
        """Where free bodies begin: the pose of a body with a free joint is its qpos0."""
        qpos0 = self.changes.now("qpos0")
        changed = set(self.changes.rows("qpos0"))
        for body, start in self.changes.free_bodies().items():
            if changed & set(range(start, start + 7)):
                element = self.c.elements["body"][body]
                for name in ORIENTATIONS:
                    element.node.attributes.pop(name, None)
                self.put(element, "pos", _text(qpos0[start : start + 3]), "qpos0", spatial=True)
                self.put(element, "quat", _text(qpos0[start + 3 : start + 7]), "qpos0", spatial=True)

    def inertias(self, bodies: set[int]) -> None:
        """<inertial> of bodies; of all, where the compiler would change what the document says."""
        said = [node for node in self.c.root.find("compiler") if set(node.attributes) & set(MASSIVE)]
        if said:
            bodies = set(range(1, self.m.nbody))
            for node in said:
                for name in MASSIVE:
                    node.attributes.pop(name, None)
        for row in sorted(bodies - {0}):
            element, now = self.c.elements["body"][row], self.changes.now
            if float(now("body_mass")[row]) <= 0:
                continue
            self.check_own(element, "body_mass")
            inertial = next(element.node.find("inertial"), None)
            if inertial is None:
                inertial = Node("inertial", parent=element.node)
                element.node.children.insert(0, inertial)
            inertial.attributes = {
                "pos": _text(now("body_ipos")[row]), "quat": _text(now("body_iquat")[row]),
                "mass": _text(now("body_mass")[row]), "diaginertia": _text(now("body_inertia")[row]),
            }  # fmt: skip

    def actuators(self) -> None:
        """Parameters of gain, bias and activation: the actuator becomes a <general> one."""
        from kinema.mjcf import schema

        fields = [name for name in CONTROL if self.changes.is_changed(f"actuator_{name}")]
        rows = {row for name in fields for row in self.changes.rows(f"actuator_{name}")}
        takes = next(spec.attributes for path, spec in schema.walk() if path[-2:] == ("actuator", "general"))
        for row in sorted(rows):
            element = self.c.elements["actuator"][row]
            node = element.node
            if node.tag == "plugin":
                raise BuildError(f"save_xml: numbers of the plugin actuator {element.name!r} are its configuration")
            self.check_own(element, "actuator_gainprm")
            node.tag = "general"
            node.attributes.pop("inheritrange", None)
            node.attributes = {name: text for name, text in node.attributes.items() if name in takes}
            for name, (attribute, kinds) in CONTROL.items():
                kind = kinds(int(np.asarray(getattr(self.m, f"actuator_{attribute}"))[row])).name.lower()
                node.attributes[attribute] = kind
                node.attributes[name] = _text(self.changes.now(f"actuator_{name}")[row])
            spec, so3 = int(self.m.actuator_ctrlspec[row]), int(self.m.actuator_gaintype[row]) == Gain.SO3
            if spec:
                words = [ControlChart(spec)] if so3 else [bit for bit in ControlInput if spec & bit]
                node.attributes["input"] = " ".join(str(word.name).lower() for word in words)
            for field in ("actuator_ctrlrange", "actuator_forcerange", "actuator_actrange"):
                flag, limited = LIMITS[field]
                holds = bool(np.asarray(getattr(self.m, limited))[row])
                start = int(self.m.actuator_ctrladr[row]) if model_fields()[field].shape[0] == "nu" else row
                node.attributes[flag] = "true" if holds else "false"
                if holds:
                    node.attributes[ROWS[field][1]] = _text(self.changes.now(field)[start])


def save_xml(sim: Simulation, path: str | os.PathLike | None, world: int) -> str:
    """The document of a simulation with the numbers of one world; written to a file where a path is given."""
    from kinema.compile.pipeline import compile_model, compile_tree  # imported on use

    if sim.document.made_of is None:
        return _from_numbers(sim, path, world)
    changes = _Changes(sim, world)
    c, _ = compile_tree(sim.document.made_of)
    editor = _Editor(c, changes)
    _edit(editor, changes)
    out = None if path is None else Path(path).resolve()
    files = dict(c.scratch["files"])
    _relocate(c, out.parent if out else None, files)
    c.root.file = str(out) if out else None
    for last in (False, False, True):  # what follows from what was written, and is to stay as it is, is said as well
        differ = _differences(compile_model(c.root, assets=files), changes)
        more = {name: rows for name, rows in differ.items() if name in ROWS}
        if differ and (last or not more):
            told = ", ".join(differ)
            raise BuildError(f"save_xml: a document cannot say what was changed, it would differ in {told}")
        for name, rows in more.items():
            editor.attribute(name, rows)
    text = serialise(c.root)
    if out is not None:
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_text(text, encoding="utf-8")
        for name, contents in files.items():
            (out.parent / name).write_bytes(contents)
    return text


def _from_numbers(sim: Simulation, path: str | os.PathLike | None, world: int) -> str:
    """A document that says all the numbers of a model that came compiled, or was built by hand."""
    from kinema.compile.decompile import mjcf_text
    from kinema.simulation.present_model import host_of_world

    text = mjcf_text(host_of_world(sim, world), FOLLOWING | {"stat.meaninertia"})
    if path is not None:
        out = Path(path).resolve()
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_text(text, encoding="utf-8")
    return text


def _edit(editor: _Editor, changes: _Changes) -> None:
    """Write every field that was changed."""
    names = [name for name in sorted(changes.sim.engine.parameters) if changes.is_changed(name)]
    special: dict[str, Callable[[], None]] = {
        f"{kind}_size": partial(editor.sizes, kind) for kind in ("geom", "site")
    }  # fmt: skip
    for prefix in POSES:
        special |= dict.fromkeys((f"{prefix}_pos", f"{prefix}_quat"), partial(editor.pose, prefix))
    special |= dict.fromkeys((f"actuator_{name}" for name in CONTROL), editor.actuators)
    bodies = {row for name in INERTIAL if name in names for row in changes.rows(name)}
    owners = np.asarray(changes.sim.model.geom_bodyid)
    geoms = {row for name in ("geom_size", "geom_pos", "geom_quat") if name in names for row in changes.rows(name)}
    bodies |= {int(owners[row]) for row in geoms}
    done: set[Any] = set()
    for name in names:
        field = POLYNOMIALS.get(name, name)
        if name in INERTIAL or name in FOLLOWING:
            continue
        if f"opt.{name}" in ROWS:
            editor.option(name)
        elif name in special:
            if special[name] not in done:
                done.add(special[name])
                special[name]()
        elif field in ROWS:
            if field not in done:
                done.add(field)
                editor.attribute(field)
        else:
            raise BuildError(f"save_xml: {name} was changed, and has no place in a document: set it back first")
    editor.free_poses()
    if bodies:
        editor.inertias(bodies)


def _relocate(c: Compilation, folder: Path | None, files: dict[str, bytes]) -> None:
    """Name files of the document as they are found from where it is written."""
    from kinema.compile.asset import asset_path

    places: dict[int, dict[str, str]] = defaultdict(dict)
    nodes: dict[int, Node] = {}
    for kind in ("mesh", "texture", "hfield", "skin"):
        for element in c.elements[kind]:
            for attribute in [name for name in element.node.attributes if name.startswith("file")]:
                if element.node.attributes[attribute] in files:
                    continue
                found = asset_path(element, attribute)
                if os.path.exists(found):
                    found = os.path.abspath(found) if folder is None else os.path.relpath(found, folder)
                nodes[id(element.node)] = element.node
                places[id(element.node)][attribute] = found.replace(os.sep, "/")
    for key, named in places.items():
        nodes[key].attributes.update(named)
    for node in c.root.find("compiler"):
        for name in ("meshdir", "texturedir", "assetdir", "strippath"):
            node.attributes.pop(name, None)


def _differences(compiled: Any, changes: _Changes) -> dict[str, list[int]]:
    """Fields, and their rows, in which the new document does not say what the simulation has."""
    differ: dict[str, list[int]] = {}
    for name in sorted(set(changes.sim.engine.parameters) - FOLLOWING):
        field = model_fields().get(name)
        if field is None:
            continue
        owner = {"option": compiled.opt, "statistic": compiled.stat}.get(field.group, compiled)
        said, now = np.asarray(getattr(owner, name), dtype=float), changes.now(name)
        if said.shape != now.shape:
            differ[name] = []
            continue
        close = np.isclose(said, now, rtol=1e-6, atol=1e-7 * np.abs(now).max(initial=0), equal_nan=True)
        rows = sorted({int(at[0]) if len(at) else 0 for at in np.argwhere(~close)})
        if name in ("body_pos", "body_quat"):  # of a free body nobody reads them: it begins at qpos0
            rows = [row for row in rows if row not in changes.free_bodies()]
        if name == "qpos_spring" and not np.any(changes.now("jnt_stiffness")[_free_joints(changes)]):
            starts = changes.free_bodies().values()  # nor these, without a spring: a document has one pose for both
            rows = [row for row in rows if not any(start <= row < start + 7 for start in starts)]
        if rows:
            differ[name] = rows
    return differ


def _free_joints(changes: _Changes) -> np.ndarray:
    return np.asarray(changes.sim.model.jnt_type) == Joint.FREE


def _plain_joint(node: Node) -> None:
    """A <freejoint> takes no numbers: make it a joint."""
    if node.tag == "freejoint":
        node.tag = "joint"
        node.attributes = {"type": "free", **{k: v for k, v in node.attributes.items() if k != "align"}}


def _text(values: Any) -> str:
    return " ".join(shortest(float(v)) for v in np.ravel(values))
