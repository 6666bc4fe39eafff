"""The compilation, stage by stage: a recipe in MuJoCo's order."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import SimpleNamespace

import numpy as np

from kinema.compile.actuator import compile_actuator
from kinema.compile.arena import arena_bytes
from kinema.compile.asset import (
    compile_hfields,
    compile_material,
    compile_meshes,
    compile_skins,
    compile_textures,
    fill_meshes,
    fill_textures,
)
from kinema.compile.attached_key import spread_attached_keys
from kinema.compile.body import check_moving_mass, compile_body, fill_bodies
from kinema.compile.bvh import fill_hierarchies
from kinema.compile.camera import fill_cameras
from kinema.compile.conflict import stated_options
from kinema.compile.constants import derived_constants
from kinema.compile.contact import compile_contact
from kinema.compile.context import Compilation
from kinema.compile.custom import compile_custom
from kinema.compile.discard import discard_visual
from kinema.compile.document import read_document
from kinema.compile.equality import compile_equality
from kinema.compile.flex import compile_flexes
from kinema.compile.fuse import fuse_static
from kinema.compile.geom import fill_geoms
from kinema.compile.host_model import KINDS, HostModel
from kinema.compile.joint import fill_joints
from kinema.compile.keyframe import compile_keyframe
from kinema.compile.lengthrange import compile_lengthrange
from kinema.compile.light import fill_lights
from kinema.compile.names import fill_names
from kinema.compile.option import compile_option, read_sizes
from kinema.compile.overflow import told_as_compile_errors
from kinema.compile.plugin import compile_plugin
from kinema.compile.price import Limits
from kinema.compile.sensor import compile_sensor
from kinema.compile.site import fill_sites
from kinema.compile.sizes import complete_sizes, count_jacobians
from kinema.compile.source import load_model, load_source
from kinema.compile.sparsity import fill_sparsity
from kinema.compile.statistic import INITIAL, override_statistic
from kinema.compile.tendon import compile_tendon
from kinema.compile.tree import Spec, number_tree
from kinema.compile.visual import read_visual
from kinema.errors import CompileError
from kinema.mjcf.source import Node


def compile_model(source, *, assets: Mapping[str, bytes] | None = None, limits: Limits | None = None) -> HostModel:
    """Compile an MJCF document into mjModel's arrays.

    Args:
        source: Path of a file, XML text, a source tree (`Node`) or a document (`mjcf.RootElement`).
        assets: Files by name that come before those on disk.
        limits: How large the document may be (`Limits`); what it only declares is priced before it is made.

    Returns:
        The compiled model under mjModel's names.

    Raises:
        CompileError: where the model is wrong, with file, line, element path and value.
        TooLarge: where it is larger than the limits.
    """
    return compile_tree(source, assets=assets, limits=limits)[1]


def compile_tree(
    source,
    *,
    assets: Mapping[str, bytes] | None = None,
    extra: Mapping[str, set[str]] | None = None,
    limits: Limits | None = None,
    edit: Callable[[Node], None] | None = None,
    urdf: Mapping[str, str] | None = None,
) -> tuple[Compilation, HostModel]:
    """As `compile_model`, with the compilation itself: its elements, in the order of the model's ids.

    Args:
        extra: XML attributes that are not MuJoCo's but allowed here, by tag.
        edit: Something to do to the source tree before it is read.
        urdf: Settings of the compiler for a URDF file that states none of its own.
    """
    root, directory, files = load_source(source, assets, extra, urdf)
    if edit is not None:
        edit(root)
    with told_as_compile_errors(root):
        load = lambda file, folder: load_model(file, folder, files, extra)  # noqa: E731
        spec = read_document(root, directory, load, files=files, limits=limits)
        c = start(spec)
        c.scratch["files"] = files
        for stage in STAGES:
            stage(c)
        return c, finish(c)


def start(spec: Spec) -> Compilation:
    """A compilation with every element in its list, in compiled order."""
    c = Compilation(spec.root, spec.scope.settings, spec.defaults)
    lists = number_tree(spec.world)
    c.bodies = lists["body"]
    for kind in KINDS:
        if kind == "body":
            c.elements[kind] = [body.element for body in c.bodies]
        elif kind in lists:
            c.elements[kind] = lists[kind]
        else:
            c.elements[kind] = list(spec.list(kind))
    for message in dict.fromkeys(spec.warnings):
        c.warn(message)
    c.scratch["attached_keys"] = spec.attached_keys
    c.elements["key"] += [key.element for key in spec.attached_keys]
    for kind in KINDS:
        c.ids(kind)  # refuses repeated names
    return c


def _tree(c: Compilation) -> None:
    for body in c.bodies:
        compile_body(c, body)
    fuse_static(c)
    discard_visual(c)
    check_moving_mass(c.bodies)


def _fill_tree(c: Compilation) -> None:
    fill_joints(c)
    fill_bodies(c)
    fill_geoms(c)
    fill_sites(c)
    fill_cameras(c)
    fill_lights(c)
    fill_hierarchies(c)
    fill_meshes(c)


def _total_mass(c: Compilation) -> None:
    """Scale all masses to the total the compiler settings ask for."""
    wanted = c.settings.settotalmass
    if wanted <= 0:
        return
    c.warn("compiler attribute 'settotalmass' is deprecated: scale the masses and densities in the model")
    scale = max(1e-15, wanted / max(1e-15, float(c.arrays["body_mass"][1:].sum())))
    c.arrays["body_mass"][1:] *= scale
    c.arrays["body_inertia"][1:] *= scale


def _constants(c: Compilation) -> None:
    """Everything that needs the dynamics at qpos0."""
    c.statistic.update(INITIAL)
    try:
        found = derived_constants(c.view())
    except np.linalg.LinAlgError as error:
        raise CompileError(f"the inertia matrix at qpos0 cannot be factorized: {error}", file=c.root.file) from error
    c.statistic.update(vars(found.pop("stat")))
    c.arrays.update(found)
    _spring_damper(c)


def _spring_damper(c: Compilation) -> None:
    """Stiffness and damping of joints that ask for a time constant and damping ratio."""
    a = c.arrays
    for joint, (timeconst, dampratio) in enumerate(c.scratch["springdamper"]):
        if timeconst <= 0 or dampratio <= 0:
            continue
        dofs = np.flatnonzero(a["dof_jntid"] == joint)
        inertia = len(dofs) / max(1e-15, float(a["dof_invweight0"][dofs].sum()))
        a["jnt_stiffness"][joint] = inertia / max(1e-15, timeconst**2 * dampratio**2)
        a["dof_damping"][dofs] = 2 * inertia / max(1e-15, timeconst)


STAGES = (
    read_sizes,
    compile_option,
    read_visual,
    compile_meshes,
    compile_textures,
    compile_hfields,
    _tree,
    _fill_tree,
    compile_material,
    fill_textures,
    compile_skins,
    compile_plugin,
    compile_tendon,
    compile_actuator,
    compile_flexes,
    compile_equality,
    compile_contact,
    compile_sensor,
    compile_custom,
    fill_sparsity,
    complete_sizes,
    _total_mass,
    _constants,
    compile_lengthrange,
    count_jacobians,
    arena_bytes,
    override_statistic,
    spread_attached_keys,
    compile_keyframe,
    fill_names,
)


def finish(c: Compilation) -> HostModel:
    """The compiled model."""
    c.view()
    option = SimpleNamespace(**{k: np.array(v) if isinstance(v, list) else v for k, v in c.option.items()})
    visual = SimpleNamespace(**{group: SimpleNamespace(**values) for group, values in c.visual.items()})
    visual.global_ = getattr(visual, "global")
    names = {kind: c.names(kind) for kind in KINDS}
    return HostModel(
        c.arrays, c.sizes, option, SimpleNamespace(**c.statistic), visual, c.title, c.warnings, names,
        stated_options(c.root),
    )  # fmt: skip
