"""Newton's other solvers, by name: programs that make one get SolverConvex, one solver for all they were made for.

    SolverXPBD, SolverFeatherstone, SolverSemiImplicit, SolverKamino     rigid bodies, joints, particles
    SolverVBD                                                            cloth, soft bodies, rods and rigid bodies

Most of their arguments say how they go about it: numbers of iterations, relaxations, penalties, room. None of it is
needed here, so it is taken, and a warning says so; what a model says (stiffness, friction, limits, gains) acts as it
is. A few change the physics (PHYSICAL) in a way that SolverConvex does not know: the warning says that they do not act.
"""

from __future__ import annotations

from typing import Any, ClassVar

from kinema.adapter.solver import SolverConvex
from kinema.errors import ArgumentNotNeeded, BuildError, did_you_mean, warn_caller
from kinema.model import Model

OWN = ("integrator", "solver", "cone", "tolerance", "impratio", "threads", "particle_enable_self_contact")
"""What SolverConvex is told under these names too."""


PHYSICAL = ("angular_damping", "enable_restitution", "integrate_with_external_rigid_solver")
"""What would change a motion, and does not act here."""


class NewtonSolver(SolverConvex):
    """SolverConvex under the name of a solver of Newton's.

    Args:
        model: The model.
        options: Arguments of that solver, which are taken and not needed; and SolverConvex's own.
    """

    TAKEN: ClassVar[tuple[str, ...]] = ()

    def __init__(self, model: Model, **options: Any):
        name = type(self).__name__
        for word in options:
            if word not in self.TAKEN and word not in OWN:
                raise BuildError(f"{name}() has no argument {word!r}{did_you_mean(word, [*self.TAKEN, *OWN])}")
        taken = [word for word in options if word in self.TAKEN]
        physical = [word for word in taken if word in PHYSICAL]
        needless = [word for word in taken if word not in PHYSICAL]
        for words, said in ((needless, "taken and not needed"), (physical, "without effect: the model alone decides")):
            if words:
                warn_caller(f"{name} is SolverConvex here: {', '.join(words)} is {said}", ArgumentNotNeeded)
        super().__init__(model, **{word: value for word, value in options.items() if word in OWN})


class SolverXPBD(NewtonSolver):
    """Position-based dynamics, in Newton."""

    TAKEN = (
        "iterations", "soft_body_relaxation", "soft_contact_relaxation", "joint_linear_relaxation",
        "joint_angular_relaxation", "joint_linear_compliance", "joint_angular_compliance",
        "rigid_contact_relaxation", "rigid_contact_restitution_iterations", "rigid_contact_con_weighting",
        "angular_damping", "enable_restitution", "deterministic",
    )  # fmt: skip


class SolverVBD(NewtonSolver):
    """Vertex block descent, in Newton."""

    TAKEN = (
        "iterations", "friction_epsilon", "dat_conservative_bound_relaxation",
        "integrate_with_external_rigid_solver", "particle_self_contact_radius",
        "particle_self_contact_margin", "particle_self_contact_gap", "particle_conservative_bound_relaxation",
        "particle_vertex_contact_buffer_size", "particle_edge_contact_buffer_size",
        "particle_collision_detection_interval", "particle_edge_parallel_epsilon",
        "particle_enable_tile_solve", "particle_topological_contact_filter_threshold",
        "particle_rest_shape_contact_exclusion_radius", "particle_external_vertex_contact_filtering_map",
        "particle_external_edge_contact_filtering_map", "rigid_compliant_alm", "rigid_avbd_alpha",
        "rigid_avbd_joint_alpha", "rigid_avbd_contact_alpha", "rigid_avbd_beta", "rigid_avbd_linear_beta",
        "rigid_avbd_angular_beta", "rigid_avbd_gamma", "rigid_contact_hard", "rigid_contact_history",
        "rigid_contact_stick_motion_eps", "rigid_contact_stick_freeze_translation_eps",
        "rigid_contact_stick_freeze_angular_eps", "rigid_contact_k_start", "rigid_body_contact_buffer_size",
        "rigid_body_particle_contact_buffer_size", "rigid_soft_contact_use_log_barrier",
        "rigid_joint_linear_ke", "rigid_joint_angular_ke", "rigid_joint_linear_k_start",
        "rigid_joint_angular_k_start", "rigid_joint_linear_kd", "rigid_joint_angular_kd",
        "rigid_soft_enable_dat", "rigid_soft_dat_use_interval_arithmetic", "deterministic",
        "collision_pipeline", "collision_frequency", "collision_frequency_type",
    )  # fmt: skip

    def rebuild_bvh(self, state: Any) -> None:
        """Nothing is kept that would have to be built anew."""

    def set_rigid_history_update(self, update: bool) -> None:
        """No history of contacts is kept from step to step."""


class SolverFeatherstone(NewtonSolver):
    """Articulated bodies with penalty contacts, in Newton."""

    TAKEN = (
        "angular_damping", "update_mass_matrix_interval", "friction_smoothing", "use_tile_gemm",
        "fuse_cholesky", "deterministic",
    )  # fmt: skip


class SolverSemiImplicit(NewtonSolver):
    """Semi-implicit integration with penalty contacts, in Newton."""

    TAKEN = (
        "angular_damping", "friction_smoothing", "joint_attach_ke", "joint_attach_kd", "joint_mimic_ke",
        "joint_mimic_kd", "enable_tri_contact", "deterministic",
    )  # fmt: skip


class SolverKamino(NewtonSolver):
    """Rigid bodies in maximal coordinates, in Newton."""

    TAKEN = ("config",)

    class Config:
        """Numbers of Newton's solver: any may be set, and none is needed."""

        def __init__(self, **numbers: Any):
            vars(self).update(numbers)

        @classmethod
        def from_model(cls, model: Model, **numbers: Any) -> SolverKamino.Config:
            """Numbers for a model."""
            return cls(**numbers)

        def __getattr__(self, name: str) -> Any:
            if name.startswith("__"):
                raise AttributeError(name)
            vars(self)[name] = SolverKamino.Config()  # a part of it, with numbers of its own
            return vars(self)[name]
