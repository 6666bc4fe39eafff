"""<option> and <size>: physics options with their flags, and the sizes a document may fix."""

from __future__ import annotations

from kinema.compile.context import Compilation
from kinema.compile.element import Element, read_element
from kinema.mjcf.source import Node
from kinema.mujoco_enums import Cone, Disable, Enable, Integrator, Jacobian, Solver, words

NUMBERS = {
    "timestep": 0.002, "impratio": 1.0, "tolerance": 1e-8, "ls_tolerance": 0.01, "noslip_tolerance": 1e-6,
    "ccd_tolerance": 1e-6, "sleep_tolerance": 1e-3, "density": 0.0, "viscosity": 0.0, "o_margin": 0.0,
}  # fmt: skip
INTEGERS = {
    "iterations": 100, "ls_iterations": 50, "noslip_iterations": 0, "ccd_iterations": 35, "sdf_iterations": 10,
    "sdf_initpoints": 40,
}  # fmt: skip
VECTORS = {"gravity": (0.0, 0.0, -9.81), "wind": (0.0, 0.0, 0.0), "magnetic": (0.0, -0.5, 0.0)}
SHORT_VECTORS = {
    "o_solref": (0.02, 1.0), "o_solimp": (0.9, 0.95, 0.001, 0.5, 2.0), "o_friction": (1.0, 1.0, 0.005, 0.0001, 0.0001),
}  # fmt: skip
KEYWORDS = {
    "integrator": (words(Integrator, "Euler", "RK4", "implicit", "implicitfast", "discrete"), Integrator.EULER),
    "cone": (words(Cone), Cone.PYRAMIDAL),
    "jacobian": (words(Jacobian), Jacobian.AUTO),
    "solver": (words(Solver, "PGS", "CG", "Newton"), Solver.NEWTON),
}
DISABLE, ENABLE = words(Disable), words(Enable)
"""Standard features, each with its bit of `disableflags`, and optional ones, with that of `enableflags`."""
SWITCH = {"disable": False, "enable": True}
GROUPS = 31

USER_SIZES = tuple(f"nuser_{kind}" for kind in ("body", "jnt", "geom", "site", "cam", "tendon", "actuator", "sensor"))
UNITS = {"K": 10, "M": 20, "G": 30, "T": 40, "P": 50, "E": 60}


def compile_option(c: Compilation) -> None:
    """Set `c.option` from every <option> in order."""
    option: dict = {**NUMBERS, **INTEGERS, **{name: default for name, (_, default) in KEYWORDS.items()}}
    option |= {name: list(value) for name, value in (VECTORS | SHORT_VECTORS).items()}
    option |= {"disableflags": 0, "enableflags": 0, "disableactuator": 0}
    for node in c.root.find("option"):
        _apply(option, read_element(node))
    c.option.update(option)


def _apply(option: dict, e: Element) -> None:
    for name in NUMBERS:
        option[name] = e.number(name, option[name])
    for name in INTEGERS:
        option[name] = e.integer(name, option[name])
    for name in VECTORS:
        option[name] = e.vector(name, option[name], length=3).tolist()
    for name in SHORT_VECTORS:
        option[name] = e.vector(name, option[name], at_most=len(option[name])).tolist()
    for name, (table, _) in KEYWORDS.items():
        option[name] = e.keyword(name, table, option[name])
    for group in e.vector("actuatorgroupdisable", (), dtype=int).tolist():
        if not 0 <= group < GROUPS:
            raise e.error(f"a disabled actuator group must be between 0 and {GROUPS - 1}", "actuatorgroupdisable")
        option["disableactuator"] |= 1 << group
    for flag in e.children("flag"):
        for word, bits, set_by in (("disableflags", DISABLE, False), ("enableflags", ENABLE, True)):
            for name, bit in bits.items():
                on = flag.keyword(name, SWITCH, None)
                if on is not None:
                    option[word] = option[word] & ~bit | (bit if on is set_by else 0)


def read_sizes(c: Compilation) -> None:
    """Sizes that <size> fixes: user data widths, keyframes, user data, memory."""
    sizes: dict[str, int] = {name: -1 for name in (*USER_SIZES, "memory", "njmax", "nconmax", "nstack")}
    sizes |= {"nuserdata": 0, "nkey": 0}
    for node in c.root.find("size"):
        e = read_element(node)
        for name in sizes:
            value = _bytes(e) if name == "memory" else e.integer(name, sizes[name])
            if value is None:
                continue
            if value < -1:
                raise e.error(f"{name} must be at least -1", name)
            sizes[name] = value
    c.scratch["declared"] = sizes
    c.sizes.update({name: sizes[name] for name in (*USER_SIZES, "nuserdata", "njmax", "nconmax")})
    missing = sizes["nkey"] - len(c.elements["key"])
    for _ in range(missing):
        node = Node("key", {}, file=c.root.file, line=c.root.line, parent=c.root)
        c.elements["key"].append(Element(node, "key", layers=({},)))


def _bytes(e: Element) -> int | None:
    text = e.text("memory", None)
    if text is None or text.strip() == "-1":
        return None
    digits, unit = text.strip(), ""
    if digits and digits[-1].upper() in UNITS:
        digits, unit = digits[:-1], digits[-1].upper()
    if not digits.isdecimal() or int(digits) << UNITS.get(unit, 0) >= 1 << 64:
        raise e.error("memory must be a whole number of bytes with an optional suffix K, M, G, T, P or E", "memory")
    return int(digits) << UNITS.get(unit, 0)
