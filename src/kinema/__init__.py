"""Kinema: compose mechanical models as MJCF, build many worlds, simulate with MuJoCo's physics."""

__version__ = "0.1.0"

# public names and the modules that define them; nothing heavy is imported before it is used
_PUBLIC = {
    **dict.fromkeys(
        (
            "AttributeAssignment", "AttributeFrequency", "Axis", "AxisType", "BodyFlags", "CollisionPipeline",
            "Contacts", "Control", "CustomAttribute", "CustomFrequency", "EqType", "GeoType", "Heightfield",
            "JointDofConfig",
            "JointTargetMode", "JointType", "MAXVAL", "Mesh", "Model", "ModelAttributeAssignment",
            "ModelAttributeFrequency", "ModelBuilder", "ModelFlags", "ParticleFlags", "Rod", "ShapeConfig",
            "ShapeFlags", "State", "TetMesh", "eval_fk", "eval_ik", "eval_jacobian", "eval_mass_matrix",
            "parse_custom_attributes",
        ),
        "kinema.model",
    ),
    "Simulation": "kinema.simulation",
    "SolverConvex": "kinema.solvers",
    "SolverMuJoCo": "kinema.solvers",
}  # fmt: skip
_MODULES = ("actuators", "sensors", "solvers", "usd", "viewer")  # reached through this one: kinema.usd.get_mesh


def __getattr__(name: str):
    from importlib import import_module

    if name == "use_coord_layout_targets":  # a program may set it, as it sets Newton's: builders made then take it
        return True
    if name in _MODULES:
        return import_module(f"kinema.{name}")
    if name in _PUBLIC:
        from kinema.collector import paused

        with paused():
            return getattr(import_module(_PUBLIC[name]), name)
    raise AttributeError(f"module 'kinema' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *_PUBLIC])
