"""Newton's actuators in stages (NewtonActuator), as `ModelBuilder.add_actuator` takes them."""

from __future__ import annotations

from typing import Any

from ..actuators import Delay, parse_actuator_prim
from ..errors import BuildError
from .scene import Scene


def add_actuators(scene: Scene) -> int:
    """Every actuator whose joint is part of the model; how many."""
    count = 0
    for prim in scene.of_type("NewtonActuator"):
        unsafe = scene.wishes.allow_unsafe_torch_checkpoints
        parsed = parse_actuator_prim(prim, allow_unsafe_torch_checkpoints=unsafe)
        if parsed is None or scene.ignored(parsed.target_path):
            continue
        dof = scene.dofs.get(parsed.target_path)
        if dof is None:
            raise BuildError(f"{prim.GetPath()}: newton:targets names {parsed.target_path}, no joint of the model")
        joint = scene.joints[parsed.target_path]
        offset = dof - int(scene.builder.rows("joint_qd_start")[joint])
        late = [args.get("delay_steps", 0) for cls, args in parsed.component_specs if cls is Delay]
        try:
            clamps = [(cls, _of(cls, args)) for cls, args in parsed.component_specs if cls is not Delay]
            numbers = _of(parsed.drive_class, parsed.drive_kwargs)
            coord = int(scene.builder.rows("joint_q_start")[joint]) + offset
            steps = int(late[0]) if late else None
            scene.builder.add_actuator(parsed.drive_class, dof, clamps, steps, coord, **numbers)
        except BuildError as problem:
            raise BuildError(f"{prim.GetPath()}: {problem}") from None
        count += 1
    return count


def _of(part: Any, given: dict[str, Any]) -> dict[str, Any]:
    """What is a part's own of attributes that all parts of a prim share, where USD does not know whose they are."""
    known = part.resolve_arguments(given)
    return {name: value for name, value in given.items() if name in known}
