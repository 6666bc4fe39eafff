"""Signed distance fields of plugins, as the collision code wants them: one function over all fields of a model.

There are no function pointers on a device, so the fields a model uses are folded into one function that branches on the
kind of field. Functions in float64 (x: vec3d) are differentiated by forward differences, as MuJoCo's are; those in
float32 (x: vec3) by automatic differentiation; a plugin's own sdf_gradient comes before both.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import warp as wp

from kinema.collide.sdf import Fields
from kinema.errors import PluginError
from kinema.mujoco_enums import Capability, Geom
from kinema.plugins import autodiff
from kinema.plugins.generate import compile_function, identifier, indent, load_values
from kinema.plugins.instance import Instance
from kinema.plugins.protocol import Plugin, annotation, arguments

STEP = wp.constant(wp.float64(1e-8))  # of forward differences [m]

VALUE = """
def {name}(x: wp.vec3d, parameters: wp.array(dtype=float)) -> wp.float64:
{load}
    return {call}
"""

VALUE32 = """
def {name}(x: wp.vec3, p: P) -> wp.float32:
    return wp.float32(FUNCTION(x, p))
"""

AUTODIFF = """
def {name}(x: wp.vec3d, parameters: wp.array(dtype=float)) -> wp.vec3d:
{load}
    y = wp.vec3(wp.float32(x[0]), wp.float32(x[1]), wp.float32(x[2]))
    grad, unused = wp.grad(FUNCTION)(y, p)
    return wp.vec3d(wp.float64(grad[0]), wp.float64(grad[1]), wp.float64(grad[2]))
"""

GIVEN = """
def {name}(x: wp.vec3d, parameters: wp.array(dtype=float)) -> wp.vec3d:
{load}
    return {call}
"""

DIFFERENCE = """
def {name}(x: wp.vec3d, parameters: wp.array(dtype=float)) -> wp.vec3d:
    here = VALUE(x, parameters)
    return wp.vec3d(
        (VALUE(x + wp.vec3d(STEP, ZERO, ZERO), parameters) - here) / STEP,
        (VALUE(x + wp.vec3d(ZERO, STEP, ZERO), parameters) - here) / STEP,
        (VALUE(x + wp.vec3d(ZERO, ZERO, STEP), parameters) - here) / STEP,
    )
"""


def _load(plugin: Plugin) -> str:
    """Source that makes `p` of the row of parameters of a geom."""
    return indent([line.replace("m.plugin.value[w, m.plugin.valueadr[instance] + ", "parameters[")
                   for line in load_values(plugin)], 1)  # fmt: skip


def _is_double(plugin: Plugin, entry: str) -> bool:
    function = plugin.functions[entry]
    kind = annotation(function, arguments(function)[0])
    if kind not in (wp.vec3, wp.vec3d):
        raise PluginError(f"plugin {plugin.name}: {entry} takes a wp.vec3 or wp.vec3d first, not {kind}")
    return kind is wp.vec3d


def _call(plugin: Plugin, entry: str) -> str:
    x = "x" if _is_double(plugin, entry) else "wp.vec3(wp.float32(x[0]), wp.float32(x[1]), wp.float32(x[2]))"
    return f"FUNCTION({', '.join([x, *arguments(plugin.functions[entry])[1:]])})"


@cache
def value_of(plugin: Plugin) -> wp.Function:
    """distance(x, parameters) of one plugin."""
    name = f"{identifier(plugin.name)}_distance"
    call = _call(plugin, "sdf")
    if not _is_double(plugin, "sdf"):
        call = f"wp.float64({call})"
    source = VALUE.format(name=name, load=_load(plugin), call=call)
    return compile_function(plugin, name, source, FUNCTION=plugin.functions["sdf"])


@cache
def gradient_of(plugin: Plugin) -> wp.Function:
    """gradient(x, parameters) of one plugin."""
    name = f"{identifier(plugin.name)}_gradient"
    if "sdf_gradient" in plugin.functions:
        call = _call(plugin, "sdf_gradient")
        if not _is_double(plugin, "sdf_gradient"):
            call = f"wp.vec3d({call})"
        source = GIVEN.format(name=name, load=_load(plugin), call=call)
        return compile_function(plugin, name, source, FUNCTION=plugin.functions["sdf_gradient"])
    if _is_double(plugin, "sdf"):
        zero = wp.constant(wp.float64(0.0))
        source = DIFFERENCE.format(name=name)
        return compile_function(plugin, name, source, VALUE=value_of(plugin), STEP=STEP, ZERO=zero)
    autodiff.install()
    single = f"{identifier(plugin.name)}_single"
    function = compile_function(plugin, single, VALUE32.format(name=single), FUNCTION=plugin.functions["sdf"])
    return compile_function(plugin, name, AUTODIFF.format(name=name, load=_load(plugin)), FUNCTION=function)


@cache
def dispatch(kinds: tuple[Plugin, ...], what: str) -> wp.Function:
    """One function of (kind, x, parameters) over all kinds: "distance" or "gradient"."""
    result, zero = ("wp.float64", "wp.float64(0.0)") if what == "distance" else ("wp.vec3d", "wp.vec3d()")
    make = value_of if what == "distance" else gradient_of
    name = "_".join([what, *(identifier(plugin.name) for plugin in kinds)])
    lines = [f"def {name}(kind: int, x: wp.vec3d, parameters: wp.array(dtype=float)) -> {result}:"]
    for n in range(len(kinds)):
        lines += [f"    if kind == {n}:", f"        return KIND_{n}(x, parameters)"]
    lines.append(f"    return {zero}")
    functions = {f"KIND_{n}": make(plugin) for n, plugin in enumerate(kinds)}
    return compile_function(kinds[0], name, "\n".join(lines) + "\n", **functions)


def numbers_of(instance: Instance) -> list[float]:
    """The configuration of an instance as its functions read it."""
    values: list[float] = []
    for name, field in instance.plugin.fields.items():
        values += field.numbers(getattr(instance.config, name)) if field.on_device else []
    return values


def fields_of(source, instances: list[Instance]) -> Fields:
    """The signed distance fields of a model's geoms."""
    kinds = tuple(dict.fromkeys(i.plugin for i in instances if i.plugin.capabilities & Capability.SDF))
    kind = np.full(source.ngeom, -1, dtype=np.int32)
    width = max([1, *(len(numbers_of(instance)) for instance in instances)])
    parameters = np.zeros((source.ngeom, width))
    for instance in instances:
        for geom in instance.geoms:
            if int(source.geom_type[geom]) == Geom.SDF:  # a field on another geom is ignored
                values = numbers_of(instance)
                kind[geom] = kinds.index(instance.plugin)
                parameters[geom, : len(values)] = values
    return Fields(dispatch(kinds, "distance"), kind, parameters, dispatch(kinds, "gradient"))


def reshaped(fields: Fields, instances: list[Instance], values: np.ndarray, start: np.ndarray) -> Fields:
    """The fields with the shapes that `values` [world, ...] of plugin_value give the geoms of these instances.

    A world whose geom has another shape than the model's gets the box the plugin's aabb() gives for it.
    """
    nworld, ngeom = len(values), len(fields.kind)
    parameters = np.array(np.broadcast_to(fields.parameters, (nworld, *fields.parameters.shape[-2:])))
    half = np.full((nworld, ngeom, 3), np.nan) if fields.half is None else fields.half.copy()
    for instance in instances:
        compiled = np.array(numbers_of(instance), dtype=np.float32)
        first = int(start[instance.id])
        rows = values[:, first : first + len(compiled)]
        boxes = np.full((nworld, 3), np.nan)
        unlike = np.any(rows != compiled, axis=1)
        for row in np.unique(rows[unlike], axis=0):
            boxes[unlike & np.all(rows == row, axis=1)] = half_sizes(instance.plugin, instance.configured(row))
        geoms = [geom for geom in instance.geoms if fields.kind[geom] >= 0]
        parameters[:, geoms, : len(compiled)] = np.where(unlike[:, None], rows, numbers_of(instance))[:, None]
        half[:, geoms] = boxes[:, None]
    return fields._replace(parameters=parameters, half=half)


def half_sizes(plugin: Plugin, config) -> np.ndarray:
    """Half sizes of the box around the field of a configuration."""
    if not hasattr(config, "aabb"):
        raise PluginError(f"plugin {plugin.name}: a field needs aabb(), the half sizes of a box around it")
    half = np.asarray(config.aabb(), dtype=float)
    if half.shape != (3,) or not np.all(half > 0):
        raise PluginError(f"plugin {plugin.name}: aabb() gave {half.tolist()}, expected three half sizes above 0")
    return half


@cache
def _grid_kernel(plugin: Plugin) -> wp.Kernel:
    distance = value_of(plugin)

    @wp.kernel(enable_backward=False, module="unique")
    def grid(points: wp.array(dtype=wp.vec3d), parameters: wp.array(dtype=float), out: wp.array(dtype=wp.float64)):
        i = wp.tid()
        out[i] = distance(points[i], parameters)

    return grid


def distances(plugin: Plugin, parameters: list[float], points: np.ndarray) -> np.ndarray:
    """Signed distances of points (n, 3), on the host: for the mesh a field is shown as."""
    out = wp.zeros(len(points), dtype=wp.float64, device="cpu")
    inputs = [wp.array(points, dtype=wp.vec3d, device="cpu"), wp.array(parameters, dtype=float, device="cpu")]
    wp.launch(_grid_kernel(plugin), len(points), inputs, [out], device="cpu")
    return out.numpy()


