"""Labels of a document's parts in a builder: paths from the root, as Newton writes them.

    body           <model>/worldbody/<body>/.../<body>
    joint          <path of its body>/<names of its joints, joined by _>
    geom, site     <path of its body>/<name>
    articulation   <model>, or <model>/<root body> where there are several

What has no name is called after its body and its number in it. A document without a name begins with `worldbody`.
MuJoCo's own names are kept beside them, in the `mujoco` rows. Of a robot description everything is <robot>/<name>,
and a joint is called as the description calls it, fixed ones too.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kinema.compile.context import Compilation
from kinema.compile.host_model import HostModel
from kinema.mujoco_enums import Joint


def clean(name: str) -> str:
    """A name as a part of a path of USD's: without dashes."""
    return name.replace("-", "_")


class Labels:
    """Labels of one document.

    Args:
        c: The compilation, for names as they are written.
        host: The compiled model.
        first_body: Index the builder gives the first body.
        base: What a root is held by, where the caller said so: "floating_base", "fixed_base", "base_joint".
        robot: Name of the joint above each link, of a robot description; None for MJCF.
    """

    def __init__(
        self, c: Compilation, host: HostModel, first_body: int, base: str | None = None,
        robot: Mapping[str, str] | None = None,
    ):  # fmt: skip
        self.c, self.host, self.base, self.robot = c, host, base, robot
        self.title = c.root.attributes.get("model", "")
        self.names = ["world"]
        self.paths = [f"{self.title}/worldbody" if self.title else "worldbody"]
        for i in range(1, host.nbody):
            self.names.append(clean(c.elements["body"][i].name or f"body_{first_body + i - 1}"))
            self.paths.append(self._under(self.paths[int(host.body_parentid[i])], self.names[i]))
        self._numbers: dict[tuple[str, int], int] = {}

    def _under(self, path: str, name: str) -> str:
        """A name in a path; a robot description is one level deep."""
        if self.robot is None:
            return f"{path}/{name}"
        return f"{self.title}/{name}" if self.title else name

    def body(self, i: int) -> str:
        return self.paths[i]

    def joint(self, i: int) -> str:
        """The joint of a body."""
        host, c = self.host, self.c
        root = int(host.body_parentid[i]) == 0
        if self.robot is not None:
            link = c.elements["body"][i].name
            return self._under("", self.base or "fixed_base" if root and link not in self.robot else self.robot[link])
        start, number = int(host.body_jntadr[i]), int(host.body_jntnum[i])
        if root and self.base is not None:
            return f"{self.paths[i]}/{self.base}"
        names = [
            clean(c.elements["joint"][start + k].name or self._unnamed(i, start + k, k)) for k in range(number)
        ] or [f"{self.names[i]}_joint"]  # fmt: skip
        return f"{self.paths[i]}/{'_'.join(names)}"

    def _unnamed(self, body: int, joint: int, k: int) -> str:
        free = self.host.jnt_type[joint] == Joint.FREE and self.c.elements["joint"][joint].tag == "freejoint"
        return f"{self.names[body]}_freejoint" if free else f"{self.names[body]}_joint_{k}"

    def part(self, kind: str, body: int, name: str, more: str = "") -> str:
        """A geom or a site."""
        number = self._numbers.get((kind, body), 0)
        self._numbers[kind, body] = number + 1
        return f"{self.paths[body]}/{name or f'{self.names[body]}_{kind}_{number}{more}'}"

    def articulation(self, root: int, several: bool) -> str | None:
        """A tree; None where nothing says a name."""
        if not several or self.robot is not None:
            return self.title or None
        return f"{self.title}/{self.names[root]}" if self.title else self.names[root]


def joints_above(robot: Any) -> dict[str, str]:
    """The joint above each link of a robot description, by names."""
    found = {}
    for node in robot.find("joint"):
        child = next(node.find("child"), None)
        if child is not None and child.attributes.get("link"):
            found[child.attributes["link"]] = node.attributes.get("name", "")
    return found
