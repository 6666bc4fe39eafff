"""Show what is in a model: its tree, its sizes, what it uses of MJCF and physics, and what a world of it costs.

Nothing is simulated, and no kernel is compiled. What Kinema cannot simulate is named, and the exit code is then 1.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter

from kinema.cli.arguments import add_device, add_model, count
from kinema.mujoco_enums import Cone, Geom, Joint, words

SUMMARY = "Show what is in a model."
EXAMPLES = """\
examples:
  kinema info robot.xml
  kinema info robot.xml --depth 3          only the first three levels of the tree
  kinema info robot.xml --worlds 8192      how much memory they take
  kinema info robot.xml --json
"""

JOINTS = tuple(words(Joint))
GEOMS = tuple(words(Geom))
CONES = tuple(words(Cone))
SIZES = (
    "nq", "nv", "nu", "na", "nbody", "njnt", "ngeom", "nsite", "ncam", "nlight", "nmesh", "nmeshvert", "nhfield",
    "ntex", "nmat", "npair", "nexclude", "neq", "ntendon", "nactuator", "nsensor", "nsensordata", "nkey",
    "nmocap", "nplugin", "nflex", "nflexnode", "nflexvert", "nflexedge", "nflexelem", "nskin",
)  # fmt: skip


def arguments(parser: argparse.ArgumentParser) -> None:
    add_model(parser)
    parser.add_argument(
        "--depth", type=int, default=None, metavar="N", help="levels of the tree to show (default: all)"
    )
    parser.add_argument("--worlds", type=count(), default=1024, metavar="N", help="worlds to tell the memory of")
    parser.add_argument("--json", action="store_true", help="print everything as JSON")
    add_device(parser)


def run(args: argparse.Namespace) -> int:
    from kinema.cli.models import device_of, source_of
    from kinema.compile.pipeline import compile_tree

    device = device_of(args.device)
    compilation, model = compile_tree(source_of(args.model))
    told = {
        "model": model.modelname,
        "sizes": {name: int(getattr(model, name)) for name in SIZES if getattr(model, name)},
        "mass": float(model.body_mass.sum()),
        "timestep": float(model.opt.timestep),
        "features": features(compilation, model),
        "plugins": plugins(compilation),
        "warnings": list(model.warnings),
    }
    told |= cost(model, args.worlds, device)
    if args.json:
        told["tree"] = [line.strip() for line in tree(model, None)]
        print(json.dumps(told, indent=2))
    else:
        show(told, tree(model, args.depth))
    return 1 if told["unsupported"] else 0


def tree(model, depth: int | None) -> list[str]:
    """One line a body: its joints and geoms, indented by depth. Bodies that only bear a flex share one."""
    children: dict[int, list[int]] = {}
    for body in range(1, model.nbody):
        children.setdefault(int(model.body_parentid[body]), []).append(body)
    names, flexes = model.names("body"), model.names("flex")
    bearing = {body: flex for body, flex in _bearers(model).items() if body not in children}
    lines = []
    stack = [(0, 0)]
    while stack:
        body, level = stack.pop()
        if depth is not None and level > depth:
            continue
        run = [body]
        while stack and body in bearing and bearing.get(stack[-1][0]) == bearing[body]:
            run.append(stack.pop()[0])
        if len(run) > 1:
            flex = flexes[bearing[body]] or f"flex {bearing[body]}"
            lines.append("  " * level + f"{names[run[0]]} to {names[run[-1]]}: {len(run)} bodies of {flex}")
            continue
        label = names[body] or f"body {body}"
        lines.append("  " * level + ", ".join([label, *_joints(model, body), *_geoms(model, body)]))
        stack += [(child, level + 1) for child in reversed(children.get(body, []))]
    return lines


def _bearers(model) -> dict[int, int]:
    """Bodies without geoms that are vertices or nodes of a flex, and which."""
    found: dict[int, int] = {}
    for kind in ("vert", "node"):
        bodies = getattr(model, f"flex_{kind}bodyid")
        for flex in range(model.nflex):
            first = int(getattr(model, f"flex_{kind}adr")[flex])
            for body in bodies[first : first + int(getattr(model, f"flex_{kind}num")[flex])]:
                if body > 0 and not model.body_geomnum[body]:
                    found.setdefault(int(body), flex)
    return found


def _joints(model, body: int) -> list[str]:
    names = model.names("joint")
    first = int(model.body_jntadr[body])
    found = range(first, first + int(model.body_jntnum[body]))
    mocap = ["mocap"] if model.body_mocapid[body] >= 0 else []
    return mocap + [f"{JOINTS[int(model.jnt_type[j])]} {names[j]}".strip() for j in found]


def _geoms(model, body: int) -> list[str]:
    first = int(model.body_geomadr[body])
    kinds = Counter(GEOMS[int(kind)] for kind in model.geom_type[first : first + int(model.body_geomnum[body])])
    return [kind if number == 1 else f"{number} {kind}" for kind, number in kinds.items()]


def features(compilation, model) -> dict[str, str]:
    """What the model uses, by subject."""
    from kinema.compile.option import KEYWORDS  # the compiler is imported on use

    opt = model.opt
    integrators, solvers = (tuple(KEYWORDS[name][0]) for name in ("integrator", "solver"))
    solver = f"{solvers[int(opt.solver)]}, {int(opt.iterations)} iterations, {CONES[int(opt.cone)]} cone"
    told = {
        "integrator": f"{integrators[int(opt.integrator)]}, time step {float(opt.timestep):g} s",
        "solver": solver,
        "joints": _counted(JOINTS[int(kind)] for kind in model.jnt_type),
        "geoms": _counted(GEOMS[int(kind)] for kind in model.geom_type),
        "flexes": "; ".join(_flex(model, f) for f in range(model.nflex)),
        "contacts": _contacts(model),
        "joint properties": _joint_properties(model),
        "equality constraints": _tags(compilation, "equality"),
        "tendons": _tags(compilation, "tendon"),
        "actuators": _tags(compilation, "actuator"),
        "sensors": _tags(compilation, "sensor"),
        "keyframes": ", ".join(name or f"{i}" for i, name in enumerate(model.names("key"))),
        "medium": _medium(opt),
    }
    return {name: text for name, text in told.items() if text}


def _medium(opt) -> str:
    if not opt.density and not opt.viscosity:
        return ""
    return f"density {float(opt.density):g}, viscosity {float(opt.viscosity):g}"


def _counted(words) -> str:
    return ", ".join(f"{number} {word}" for word, number in Counter(words).most_common())


def _tags(compilation, kind: str) -> str:
    return _counted(element.tag for element in compilation.elements[kind])


def _contacts(model) -> str:
    from kinema.collide.filter import geom_pairs

    pairs = len(geom_pairs(model).slots)
    told = []
    if pairs:
        dims = sorted({int(dim) for dim in model.geom_condim})
        told.append(f"{pairs} pairs of geoms may touch, condim {', '.join(map(str, dims))}")
    if model.nflex:
        from kinema.convex.flex.pairs import flex_pairs

        soft = flex_pairs(model)
        own = (soft[:, 0] < 0) & (soft[:, 1] == soft[:, 2])
        counts = (
            (int((soft[:, 0] >= 0).sum()), "pairs of a flex and a geom"),
            (int(((soft[:, 0] < 0) & ~own).sum()), "pairs of flexes"), (int(own.sum()), "flexes with themselves"),
        )  # fmt: skip
        told += [f"{number} {what}" for number, what in counts if number]
    return "; ".join(told) or "none: no two geoms can touch"


def _flex(model, f: int) -> str:
    """What a flex is made of, and what holds it together."""
    import numpy as np

    order = abs(int(model.flex_interp[f]))
    body = np.unique(model.flex_vertbodyid[int(model.flex_vertadr[f]) :][: int(model.flex_vertnum[f])])
    told = [f"dim {int(model.flex_dim[f])}", f"{int(model.flex_vertnum[f])} vertices",
            f"{int(model.flex_elemnum[f])} elements"]  # fmt: skip
    if order:
        told.append(f"{('', 'trilinear', 'quadratic')[order]}, {int(model.flex_nodenum[f])} nodes")
    elif model.flex_rigid[f]:
        told.append("rigid" if len(body) == 1 else "rigid parts")
    held = {"edges or strain kept": model.flex_edgeequality[f], "elastic": model.flex_stiffnessadr[f] >= 0,
            "bends": model.flex_bendingadr[f] >= 0, "edge springs": model.flex_edgestiffness[f],
            "yields": model.flex_plasticmode[f]}  # fmt: skip
    told += [what for what, is_so in held.items() if is_so and not model.flex_rigid[f]]
    return f"{model.names('flex')[f] or f} ({', '.join(told)})"


def _joint_properties(model) -> str:
    """How many joints have limits, and how many degrees of freedom damping, armature and friction."""
    import numpy as np

    counts = {
        "limited": int((model.jnt_limited != 0).sum()),
        **{
            f"with {what}": int(np.reshape(getattr(model, f"dof_{field}") != 0, (model.nv, -1)).any(axis=1).sum())
            for what, field in (("damping", "damping"), ("armature", "armature"), ("friction", "frictionloss"))
        },
    }
    return ", ".join(f"{number} {what}" for what, number in counts.items() if number)


def plugins(compilation) -> list[str]:
    """Names of the plugins the model uses."""
    found = Counter(instance.info.name for instance in compilation.scratch["plugin_instances"])
    return [f"{name} x {number}" if number > 1 else name for name, number in found.items()]


def cost(model, worlds: int, device: str) -> dict[str, object]:
    """Bytes on the device, and what of the model cannot be simulated."""
    from kinema.errors import KinemaError
    from kinema.simulation import Simulation

    try:
        memory = Simulation.estimate(model, worlds, device)
    except KinemaError as error:
        return {"memory": None, "unsupported": [str(error)]}
    each, once = sum(memory.per_world.values()), sum(memory.shared.values())
    return {"memory": {"a world": each, "shared": once, "worlds": worlds, "total": memory.total}, "unsupported": []}


def show(told: dict, lines: list[str]) -> None:
    """Print what was found."""
    from kinema.cli.terminal import size, table

    print(told["model"])
    for line in lines:
        print(f"  {line}")
    print()
    sizes = ", ".join(f"{name} {number}" for name, number in told["sizes"].items())
    rows = [("sizes", sizes), *told["features"].items(), ("mass", f"{told['mass']:g} kg")]
    if told["plugins"]:
        rows.append(("plugins", ", ".join(told["plugins"])))
    if told["memory"]:
        each, total = size(told["memory"]["a world"]), size(told["memory"]["total"])
        rows.append(("memory", f"{each} a world; {told['memory']['worlds']} worlds and the model: {total}"))
    rows += [("warning", text) for text in told["warnings"]]
    rows += [("cannot be simulated", text) for text in told["unsupported"]]
    table(("", ""), rows)
