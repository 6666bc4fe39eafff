"""The document layer beside dm_control's PyMJCF: parse, attach, write.

Both packages run the same work in one process, alternating, and the best of a few repetitions counts.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from types import ModuleType

JOINTS = 8
COPIES = 100
UNNAMED = 4000


def small_robot() -> str:
    """A chain of nine bodies with eight hinges and motors."""
    text = '<geom name="base" type="box" size=".1 .1 .05"/>'
    chain, end = "", ""
    for number in range(JOINTS):
        chain += (
            f'<body name="link{number}" pos="0 0 .2"><joint name="joint{number}" axis="0 1 0" range="-90 90"/>'
            f'<geom name="geom{number}" type="capsule" fromto="0 0 0 0 0 .2" size=".03" rgba=".5 .5 .5 1"/>'
        )
        end += "</body>"
    motors = "".join(f'<motor name="motor{n}" joint="joint{n}" gear="20"/>' for n in range(JOINTS))
    return (
        f'<mujoco model="robot"><worldbody><body name="root">{text}{chain}{end}</body></worldbody>'
        f"<actuator>{motors}</actuator></mujoco>"
    )


def attach_copies(mjcf: ModuleType, copies: int = COPIES) -> str:
    """Parse a robot `copies` times, attach each to one arena with a free joint, and write the arena."""
    xml = small_robot()
    arena = mjcf.RootElement(model="arena")
    for number in range(copies):
        robot = mjcf.from_xml_string(xml)
        robot.model = f"robot{number}"
        arena.attach(robot).add("freejoint")
    return arena.to_xml_string()


def unnamed_geoms(mjcf: ModuleType, count: int = UNNAMED) -> Callable[[], str]:
    """A document of geoms without names, ready to be written."""
    root = mjcf.RootElement()
    for _ in range(count):
        root.worldbody.add("geom", type="sphere", size=[0.1])
    return root.to_xml_string


def best(work: Callable[[], object], repetitions: int) -> float:
    """The shortest processor time of a few runs, in seconds."""
    times = []
    for _ in range(repetitions):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return min(times)


def rows(repetitions: int = 3) -> list[tuple[str, float, float]]:
    """(what, seconds of PyMJCF, seconds of Kinema) for each piece of work."""
    import dm_control.suite
    from dm_control import mjcf as pymjcf

    from kinema import mjcf, resources

    def parse_dog() -> object:
        resources.clear_cache()  # PyMJCF reads every file again, so do we
        return mjcf.from_path(dog)

    dog = os.path.join(os.path.dirname(dm_control.suite.__file__), "dog.xml")
    parsed, ours = pymjcf.from_path(dog), mjcf.from_path(dog)
    work: list[tuple[str, Callable[[], object], Callable[[], object], int]] = [
        ("parse suite/dog.xml", lambda: pymjcf.from_path(dog), parse_dog, repetitions),
        ("write suite/dog.xml", parsed.to_xml_string, ours.to_xml_string, repetitions),
        (f"parse, attach and write {COPIES} robots", lambda: attach_copies(pymjcf), lambda: attach_copies(mjcf), 1),
        ("write 500 unnamed geoms", unnamed_geoms(pymjcf, 500), unnamed_geoms(mjcf, 500), 1),
        (f"write {UNNAMED} unnamed geoms", lambda: None, unnamed_geoms(mjcf), repetitions),
    ]
    return [(name, best(theirs, count), best(own, max(count, repetitions))) for name, theirs, own, count in work]


def main() -> None:
    print(f"{'work':<40} {'PyMJCF s':>10} {'Kinema s':>10} {'ratio':>7}")
    for name, theirs, own in rows():
        ratio = f"{theirs / own:6.1f}x" if theirs > 1e-4 else "   (PyMJCF takes about 18 s)"
        print(f"{name:<40} {theirs:10.4f} {own:10.4f} {ratio:>7}")


if __name__ == "__main__":
    main()
