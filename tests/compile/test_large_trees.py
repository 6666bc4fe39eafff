"""Trees of many dofs: the constants of articulated bodies equal MuJoCo's, and compiling them stays near its time."""

import random
import time

import mujoco
import numpy as np
import pytest

from kinema.compile import compile_model
from kinema.compile.constants import mass, rest
from tests.conformance.compare import differences


def hub(n: int) -> str:
    arms = "".join(f'<body pos="{i} 0 0"><joint/><geom size=".1"/></body>' for i in range(n - 1))
    return f"<mujoco><worldbody><body><joint/><geom size='.1'/>{arms}</body></worldbody></mujoco>"


def chains(n: int, length: int = 100) -> str:
    link = '<body pos=".01 0 .1"><joint axis="0 1 .2"/><geom size=".05"/>'
    chain = link * length + "</body>" * length
    return f"<mujoco><worldbody>{chain * (n // length)}</worldbody></mujoco>"


def free(n: int) -> str:
    bodies = "".join(f'<body pos="{i} 0 0"><freejoint/><geom size=".1"/></body>' for i in range(n // 6))
    return f"<mujoco><worldbody>{bodies}</worldbody></mujoco>"


def driven(n: int) -> str:
    bodies = "".join(
        f'<body pos="{i} 0 0"><joint name="j{i}"/><geom size=".1"/><site name="s{i}"/></body>' for i in range(n)
    )
    ropes = "".join(f'<spatial name="t{i}"><site site="s{i}"/><site site="s{i + 1}"/></spatial>' for i in range(n - 1))
    motors = "".join(f'<motor joint="j{i}"/>' for i in range(n))
    sensors = "".join(f'<jointpos joint="j{i}"/>' for i in range(n))
    pairs = "".join(f'<joint joint1="j{i}" joint2="j{i + 1}"/>' for i in range(0, n - 1, 2))
    return (
        f"<mujoco><worldbody>{bodies}</worldbody><tendon>{ropes}</tendon><actuator>{motors}</actuator>"
        f"<sensor>{sensors}</sensor><equality>{pairs}</equality></mujoco>"
    )


def random_tree(n: int, seed: int) -> str:
    """A tree of n bodies with all kinds of joints, welded bodies, armature, tendons and actuators."""
    draw = random.Random(seed)
    children: dict[int, list[int]] = {i: [] for i in range(n)}
    for i in range(1, n):
        children[draw.randrange(max(0, i - 6), i)].append(i)

    def vector(scale: float = 1.0) -> str:
        return " ".join(f"{draw.uniform(-scale, scale):.4f}" for _ in range(3))

    def body(i: int) -> str:
        kinds = ["<freejoint/>"] if i == 0 else [
            f'<joint name="j{i}" axis="{vector()}" pos="{vector(0.1)}" armature="{draw.choice([0, 0.01])}"/>',
            f'<joint name="j{i}" type="slide" axis="{vector()}"/>', '<joint type="ball"/>', "",
            f'<joint name="j{i}" axis="1 0 0"/><joint type="slide" axis="{vector()}"/><joint axis="0 1 0"/>',
        ]  # fmt: skip
        joint = draw.choice(kinds)
        if f'name="j{i}"' in joint:
            named.append(i)
        inner = f'{joint}<geom type="box" size=".1 .2 .3" pos="{vector(0.1)}"/><site name="s{i}" pos="{vector(0.2)}"/>'
        return f'<body pos="{vector()}" euler="{vector(90)}">{inner}{"".join(body(c) for c in children[i])}</body>'

    named: list[int] = []
    tree = body(0)
    ropes = "".join(f'<spatial name="t{k}"><site site="s{k}"/><site site="s{n - 1 - k}"/></spatial>' for k in range(9))
    motors = "".join(f'<motor joint="j{i}"/>' for i in named[:9]) + "".join(f'<motor tendon="t{k}"/>' for k in range(9))
    return (
        f"<mujoco><worldbody>{tree}</worldbody><tendon>{ropes}</tendon><actuator>{motors}</actuator></mujoco>"
    )


@pytest.mark.parametrize("text", [hub(300), chains(300, 300), random_tree(250, 1), random_tree(250, 2)])
def test_large_trees_equal_mujoco(text):
    ours = compile_model(text)
    assert ours.nv > mass.LARGE
    assert differences(ours, mujoco.MjModel.from_xml_string(text)) == {}


def test_large_and_small_are_factored_alike(monkeypatch):
    """Both factors of one tree: solves, weights and M itself."""
    model = mujoco.MjModel.from_xml_string(random_tree(40, 3))
    small = rest(model).mass
    monkeypatch.setattr(mass, "LARGE", 0)
    large = rest(model).mass
    assert type(small.factors[0]) is not type(large.factors[0])
    rows = np.random.default_rng(0).normal(size=(1, 7, model.nv))
    np.testing.assert_allclose(large.solve(rows), small.solve(rows), rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(large.dense(model.nv), small.dense(model.nv), rtol=1e-12)
    np.testing.assert_allclose(large.solve(large.dense(model.nv)), np.eye(model.nv)[None], atol=1e-7)


def best(call, times: int = 2) -> float:
    found = []
    for _ in range(times):
        began = time.process_time()
        call()
        found.append(time.process_time() - began)
    return min(found)


@pytest.mark.parametrize(("make", "ratio"), [(hub, 3), (chains, 3), (free, 3), (driven, 5)])
def test_compiling_3000_dofs_stays_near_mujoco(make, ratio):
    """Within a few times MuJoCo's time, and a third more for machines that favour one of the two.

    Tendons, actuators and sensors cost what reading thousands of elements in Python costs, so they are allowed more.
    """
    text = make(3000)
    theirs = best(lambda: mujoco.MjModel.from_xml_string(text))
    ours = best(lambda: compile_model(text))
    assert ours < ratio * 4 / 3 * theirs + 0.1, f"{ours:.2f} s, MuJoCo {theirs:.2f} s"
