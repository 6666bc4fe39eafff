"""The step as a recipe: one line a stage, in MuJoCo's order. Stages a model has no use for are left out."""

from kinema.convex import kinematics
from kinema.convex.stage import Stage


def position(m) -> list[Stage]:
    """All that depends on position."""
    recipe = [Stage(kinematics.kinematics)]
    if m.ngeom:
        recipe.append(Stage(kinematics.geom_pose, over="ngeom"))
    if m.nsite:
        recipe.append(Stage(kinematics.site_pose, over="nsite"))
    return recipe


def forward(m) -> list[Stage]:
    """mj_forward: everything up to acceleration, nothing advanced."""
    return [*position(m)]


def step(m) -> list[Stage]:
    """mj_step."""
    return [*forward(m)]
