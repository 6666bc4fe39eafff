"""Geoms and assets that the collision tests share."""

import numpy as np


def numbers(values: np.ndarray) -> str:
    """Numbers as an attribute value."""
    return " ".join(f"{x:.5f}" for x in np.ravel(values))


def mesh(name: str, points: np.ndarray) -> str:
    """A mesh asset: the convex hull of some points."""
    return f'<mesh name="{name}" vertex="{numbers(points)}"/>'


def corners() -> np.ndarray:
    return np.array([[x, y, z] for z in (-0.12, 0.12) for y in (-0.3, 0.3) for x in (-0.2, 0.2)])


def rock() -> np.ndarray:
    points = np.random.default_rng(0).normal(size=(60, 3))
    return points / np.linalg.norm(points, axis=1, keepdims=True) * [0.2, 0.3, 0.15]


def prism() -> np.ndarray:
    a = np.arange(20) * 2 * np.pi / 20
    return np.concatenate([np.stack([0.2 * np.cos(a), 0.2 * np.sin(a), 0 * a + h], 1) for h in (-0.15, 0.15)])


ELEVATION = np.random.default_rng(3).random((9, 11))
ASSET = (
    mesh("cube", corners())
    + mesh("rock", rock())
    + mesh("prism", prism())
    + f'<hfield name="h" nrow="9" ncol="11" size="1 .8 .3 .2" elevation="{numbers(ELEVATION)}"/>'
)
GEOM = {
    "plane": 'type="plane" size="3 3 .1" quat=".9 .3 -.2 .1" pos=".1 .2 -.1"',
    "hfield": 'type="hfield" hfield="h" pos=".1 .2 .05" quat=".97 .1 .1 .05"',
    "sphere": 'type="sphere" size=".21"',
    "capsule": 'type="capsule" size=".11 .3"',
    "ellipsoid": 'type="ellipsoid" size=".2 .35 .13"',
    "cylinder": 'type="cylinder" size=".22 .31"',
    "box": 'type="box" size=".2 .3 .12"',
    "cube": 'type="mesh" mesh="cube"',
    "rock": 'type="mesh" mesh="rock"',
    "prism": 'type="mesh" mesh="prism"',
}
