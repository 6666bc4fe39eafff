"""How long it takes to build many worlds: a 30-body robot replicated and finalized on the CPU, Newton beside it.

The robot has a free base, 29 hinges, 30 capsules, one attribute per body and 30 rows of a custom frequency with
references to bodies, shapes and joints. Both libraries are driven through the same calls, by `replicate` and by a loop
of `add_world`. Run it with ``python -m benchmarks.build``.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
import warnings
from collections.abc import Sequence
from types import ModuleType
from typing import Any

import numpy as np
import warp as wp

BODIES = 30


def robot(library: ModuleType) -> Any:
    """The robot, through the calls both libraries have."""
    builder = library.ModelBuilder()
    attribute, frequency = builder.CustomAttribute, library.Model.AttributeFrequency
    builder.add_custom_frequency(builder.CustomFrequency(name="link", namespace="bench"))
    builder.add_custom_attribute(attribute(name="weight", frequency=frequency.BODY, dtype=wp.float32, default=1.0))
    for kind in ("body", "shape", "joint"):
        builder.add_custom_attribute(
            attribute(
                name=f"link_{kind}",
                namespace="bench",
                frequency="bench:link",
                dtype=wp.int32,
                default=-1,
                references=kind,
            )
        )
    joints = []
    for i in range(BODIES):
        body = builder.add_link(mass=1.0, inertia=np.eye(3) * 0.01, custom_attributes={"weight": float(i)})
        if i == 0:
            joints.append(builder.add_joint_free(body))
        else:
            joints.append(builder.add_joint_revolute(body - 1, body, axis=(0.0, 1.0, 0.0)))
        shape = builder.add_shape_capsule(body, radius=0.05, half_height=0.1)
        builder.add_custom_values(
            **{"bench:link_body": body, "bench:link_shape": shape, "bench:link_joint": joints[-1]}
        )
    builder.add_articulation(joints)
    return builder


def build(library: ModuleType, worlds: int, route: str) -> tuple[float, float, float]:
    """Seconds to merge, to finalize, and to read what is made on first use."""
    template = robot(library)
    start = time.perf_counter()
    main_builder = library.ModelBuilder()
    main_builder.add_ground_plane()
    if route == "replicate":
        main_builder.replicate(template, worlds)
    else:
        for _ in range(worlds):
            main_builder.add_world(template)
    merged = time.perf_counter()
    model = main_builder.finalize("cpu")
    done = time.perf_counter()
    for name in ("body_label", "shape_contact_pairs", "bvh_shapes", "weight", "bench"):
        getattr(model, name)  # Kinema makes these on first use, Newton in finalize
    for kind in ("body", "shape", "joint"):
        getattr(model.bench, f"link_{kind}")
    read = time.perf_counter()
    if model.body_count != worlds * BODIES:
        raise AssertionError(f"{model.body_count} bodies instead of {worlds * BODIES}")
    return merged - start, done - merged, read - done


def measure(library: ModuleType, worlds: int, route: str, repeat: int) -> tuple[float, float, float]:
    """Median seconds of the three parts."""
    runs = [build(library, worlds, route) for _ in range(repeat)]
    return tuple(statistics.median(run[i] for run in runs) for i in range(3))


def main(argv: Sequence[str] = ()) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--worlds", type=int, default=4096)
    parser.add_argument("--repeat", type=int, default=3)
    options = parser.parse_args(argv)
    warnings.simplefilter("ignore")
    wp.config.quiet = True
    import kinema.model

    libraries = [("kinema", kinema.model)]
    try:
        import newton

        libraries.append(("newton", newton))
    except ImportError:
        print("newton is not installed: no ratio")
    print(f"{options.worlds} worlds of {BODIES} bodies, median of {options.repeat}, CPU")
    print(f"{'route':12} {'library':8} {'merge s':>8} {'finalize s':>11} {'total s':>8} {'first use s':>12}")
    for route in ("replicate", "add_world"):
        totals = {}
        for name, library in libraries:
            build(library, 4, route)  # compile kernels outside the measurement
            merge, finish, read = measure(library, options.worlds, route, options.repeat)
            totals[name] = merge + finish
            print(f"{route:12} {name:8} {merge:8.3f} {finish:11.3f} {totals[name]:8.3f} {read:12.3f}")
        if "newton" in totals:
            print(f"{route:12} newton / kinema = {totals['newton'] / totals['kinema']:.1f}")


if __name__ == "__main__":
    main(sys.argv[1:])
