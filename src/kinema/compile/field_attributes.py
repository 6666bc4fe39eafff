"""Which attribute of which element a field of mjModel is: for whoever writes a compiled model as a document again."""

ROWS = {
    **{f"opt.{name}": ("option", name) for name in (
        "timestep", "impratio", "tolerance", "ls_tolerance", "noslip_tolerance", "gravity", "wind", "magnetic",
        "density", "viscosity")},
    "body_gravcomp": ("body", "gravcomp"),
    "jnt_pos": ("joint", "pos"), "jnt_axis": ("joint", "axis"), "jnt_margin": ("joint", "margin"),
    "jnt_solref": ("joint", "solreflimit"), "jnt_solimp": ("joint", "solimplimit"),
    "jnt_range": ("joint", "range"), "jnt_actfrcrange": ("joint", "actuatorfrcrange"),
    "jnt_stiffness": ("joint", "stiffness"), "jnt_springyield": ("joint", "springyield"),
    "qpos0": ("joint", "ref"), "qpos_spring": ("joint", "springref"),
    "dof_armature": ("joint", "armature"), "dof_frictionloss": ("joint", "frictionloss"),
    "dof_damping": ("joint", "damping"), "dof_solref": ("joint", "solreffriction"),
    "dof_solimp": ("joint", "solimpfriction"),
    **{f"geom_{name}": ("geom", name) for name in (
        "friction", "solref", "solimp", "solmix", "margin", "gap", "surfacevel", "adhesion")},
    "cam_fovy": ("camera", "fovy"), "light_dir": ("light", "dir"),
    "tendon_solref_lim": ("tendon", "solreflimit"), "tendon_solimp_lim": ("tendon", "solimplimit"),
    "tendon_solref_fri": ("tendon", "solreffriction"), "tendon_solimp_fri": ("tendon", "solimpfriction"),
    "tendon_range": ("tendon", "range"), "tendon_actfrcrange": ("tendon", "actuatorfrcrange"),
    "tendon_stiffness": ("tendon", "stiffness"), "tendon_damping": ("tendon", "damping"),
    "tendon_lengthspring": ("tendon", "springlength"),
    **{f"tendon_{name}": ("tendon", name) for name in ("margin", "armature", "frictionloss", "springyield")},
    "actuator_ctrlrange": ("actuator", "ctrlrange"), "actuator_forcerange": ("actuator", "forcerange"),
    "actuator_actrange": ("actuator", "actrange"), "actuator_gear": ("actuator", "gear"),
    "actuator_cranklength": ("actuator", "cranklength"),
    "eq_solref": ("equality", "solref"), "eq_solimp": ("equality", "solimp"),
    "sensor_cutoff": ("sensor", "cutoff"), "sensor_noise": ("sensor", "noise"),
    **{f"pair_{name}": ("pair", name) for name in (
        "friction", "solref", "solreffriction", "solimp", "margin", "gap")},
}  # fmt: skip
"""Fields that are one attribute of an element: the field, the kind of element, the attribute."""

POLYNOMIALS = {
    "jnt_stiffnesspoly": "jnt_stiffness", "dof_dampingpoly": "dof_damping", "tendon_stiffnesspoly": "tendon_stiffness",
    "tendon_dampingpoly": "tendon_damping",
}  # fmt: skip
"""Fields that are the further numbers of another one's attribute."""

LIMITS = {
    "jnt_range": ("limited", "jnt_limited"), "jnt_actfrcrange": ("actuatorfrclimited", "jnt_actfrclimited"),
    "tendon_range": ("limited", "tendon_limited"), "tendon_actfrcrange": ("actuatorfrclimited", "tendon_actfrclimited"),
    "actuator_ctrlrange": ("ctrllimited", "actuator_ctrllimited"),
    "actuator_forcerange": ("forcelimited", "actuator_forcelimited"),
    "actuator_actrange": ("actlimited", "actuator_actlimited"),
}  # fmt: skip
"""Ranges, and the attribute and field that say whether they hold: a range alone would turn them on."""
