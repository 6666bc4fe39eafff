"""A robot description into a builder: what MuJoCo compiles of it, and what Newton reads in it that MuJoCo does not.

    <limit velocity="...">     joint_velocity_limit
    <mimic .../>               an equality constraint between the two joints, so that the solver holds it; and
                               joint_mimic_joint, joint_mimic_coeffs
    names of joints            labels, of fixed joints too
    joint_target_mode          POSITION, since a description does not say how its joints are driven
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from kinema import resources
from kinema.compile.import_mjcf import MjcfResult, add_mjcf
from kinema.compile.labels import joints_above
from kinema.compile.source import is_xml
from kinema.errors import BuildError, did_you_mean
from kinema.mjcf.source import Node, read_xml
from kinema.model import JointTargetMode, ModelBuilder


def add_urdf(builder: ModelBuilder, source: Any, **wishes: Any) -> MjcfResult:
    """Add a URDF description, its links kept apart and its visuals as shapes that do not touch anything.

    Args:
        builder: Builder that takes the rows.
        source: Path or XML text.
        wishes: As for `add_mjcf`; with `collapse_fixed_joints` links that do not move are made part of their parents,
            with `hide_visuals` visual geometry is left out.
    """
    settings = {
        "fusestatic": str(bool(wishes.pop("collapse_fixed_joints", False))).lower(),
        "discardvisual": str(bool(wishes.pop("hide_visuals", False))).lower(),
    }
    robot = _tree(source, wishes.get("assets"))
    mimics = _mimics(robot)
    result = add_mjcf(
        builder, robot, urdf=settings, links=joints_above(robot), edit=lambda root: _couple(root, mimics), **wishes
    )
    _drive(builder, robot, result, mimics)
    return result


def _tree(source: Any, assets: Any) -> Node:
    """The description as it is written."""
    if isinstance(source, Node):
        root = source
    elif isinstance(source, bytes) or (isinstance(source, str) and is_xml(source)):
        root = read_xml(source)
    else:
        name = os.fspath(source)
        root = read_xml(resources.read(name, assets=assets).data, file=name)
    if root.tag != "robot":
        raise BuildError(f"add_urdf(): the root element is <{root.tag}>, not <robot>: use add_mjcf for MJCF")
    return root


def _mimics(robot: Node) -> dict[str, tuple[str, float, float]]:
    """Leader, offset and factor of each joint that follows another."""
    names = {node.attributes.get("name", "") for node in robot.find("joint")}
    found = {}
    for node in robot.find("joint"):
        for mimic in node.find("mimic"):
            leader = mimic.attributes.get("joint", "")
            if leader not in names:
                place = f"{node.file or ''}:{mimic.line}: "
                raise BuildError(f"{place}<mimic joint={leader!r}>: no such joint{did_you_mean(leader, names)}")
            offset, factor = mimic.attributes.get("offset", "0"), mimic.attributes.get("multiplier", "1")
            found[node.attributes.get("name", "")] = (leader, float(offset), float(factor))
    return found


def _couple(root: Node, mimics: dict[str, tuple[str, float, float]]) -> None:
    """Equality constraints for joints that follow others, where both are there."""
    joints = {node.attributes.get("name") for node in root.walk() if node.tag == "joint"}
    wanted = {name: entry for name, entry in mimics.items() if {name, entry[0]} <= joints}
    if wanted:
        section = root.add(Node("equality", file=root.file, line=root.line))
        for name, (leader, offset, factor) in wanted.items():
            coefficients = f"{offset!r} {factor!r} 0 0 0"
            section.add(Node("joint", {"joint1": name, "joint2": leader, "polycoef": coefficients},
                             file=root.file, line=root.line))  # fmt: skip


def _drive(
    builder: ModelBuilder, robot: Node, result: MjcfResult, mimics: dict[str, tuple[str, float, float]]
) -> None:
    """Speeds, modes and followers in the core arrays."""
    above = joints_above(robot)
    links = result.host.names("body")
    made = {above[link]: result.joints[i] for i, link in enumerate(links) if link in above}
    starts, dims = builder.rows("joint_qd_start"), builder.rows("joint_dof_dim")
    for node in robot.find("joint"):
        joint = made.get(node.attributes.get("name", ""))
        if joint is None or node.attributes.get("type") in ("fixed", "floating", "spherical"):
            continue
        dofs = slice(int(starts[joint]), int(starts[joint]) + int(np.sum(dims[joint])))
        builder.edit("joint_target_mode")[dofs] = int(JointTargetMode.POSITION)
        for limit in node.find("limit"):
            if "velocity" in limit.attributes:
                builder.edit("joint_velocity_limit")[dofs] = float(limit.attributes["velocity"])
    for name, (leader, offset, factor) in mimics.items():
        if name in made and leader in made:
            builder.set_joint_mimic(made[name], made[leader], coeffs=(offset, factor))


__all__ = ["add_urdf"]
