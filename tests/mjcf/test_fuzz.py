"""Ten thousand broken documents: nothing but documented exceptions, and never a hang.

Real files are cut, spliced and scrambled by a seeded mutator, half of them as text and half as trees that stay well
formed. Each result is read, validated and made a document; where that works, it is written, copied and attached.
"""

import copy
import pathlib
import random
import time

import dm_control
import pytest

from kinema import mjcf
from kinema.errors import DocumentError, KinemaError
from kinema.mjcf import schema
from kinema.mjcf.source import Node, expand_includes, read_xml
from kinema.mjcf.validate import validate
from kinema.mjcf.write import serialise

PACKAGE = pathlib.Path(dm_control.__file__).parent
SEEDS = ["mjcf/test_assets/robot_arm.xml", "mjcf/test_assets/lego_brick.xml", "mjcf/test_assets/arena.xml"]
SEEDS += ["composer/arena.xml", "suite/common/skybox.xml", "suite/common/materials.xml"]
INPUTS = 10_000
BATCHES = 10

# All that the document layer may raise: its own tree, whose members are also PyMJCF's documented types.
DOCUMENTED = (KinemaError,)

WORDS = sorted({name for _, spec in schema.walk() for name in [spec.name, *spec.attributes]})
VALUES = ["", " ", "0", "-1", "1e999", "nan", "inf", "1 2 3 4 5 6 7 8", "a b", "true", "world", "main", "a/b", "//"]
VALUES += ["../../..", "x" * 3000, "é漢\U0001f600", "&#0;", "&lt;", "&undefined;", "%s", "{}", "\t\n", "9" * 400, "\\"]
PIECES = ["<", ">", "/>", '"', "&", "<!--", "-->", "<![CDATA[", "]]>", "<?x?>", "<mujoco>", "</mujoco>", "\x00", "\x01"]
PIECES += ["<include file='cartpole.xml'/>", "<include/>", "<frame>", "<replicate count='3'>", "<default class='main'>"]
PIECES += ["<default/>", "<worldbody/>", "<!DOCTYPE a [<!ENTITY b 'c'>]>", '<key qpos="1"/>', "<body name='a/b'/>"]


def mutate(text: str, chance: random.Random) -> str:
    for _ in range(chance.randint(1, 4)):
        kind = chance.randrange(9)
        at = chance.randrange(len(text) + 1)
        if kind == 0:
            text = text[:at] + chance.choice(PIECES) + text[at:]
        elif kind == 1:
            text = text[:at] + text[at + chance.randint(1, 40) :]
        elif kind == 2:
            end = min(len(text), at + chance.randint(1, 200))
            text = text[:end] + text[at:end] * chance.randint(1, 3) + text[end:]
        elif kind == 3:
            text = text[:at] + chr(chance.randrange(0x250)) + text[at + 1 :]
        elif kind in (4, 5):
            text = replace_quoted(text, chance)
        elif kind == 6:
            old, new = chance.choice(WORDS), chance.choice(WORDS)
            text = text.replace(old, new, chance.randint(1, 3))
        elif kind == 7:
            text = text[:at]
        else:
            other = chance.randrange(len(text) + 1)
            low, high = sorted((at, other))
            text = text[:low] + text[low:high][::-1] + text[high:] if high - low < 30 else text[:low] + text[high:]
        if len(text) > 60_000:
            text = text[:60_000]
    return text


def replace_quoted(text: str, chance: random.Random) -> str:
    parts = text.split('"')
    if len(parts) < 3:
        return text
    parts[chance.randrange(len(parts) // 2) * 2 + 1] = chance.choice(VALUES)
    return '"'.join(parts)


def mutate_tree(text: str, chance: random.Random) -> str:
    tree = read_xml(text)
    for _ in range(chance.randint(1, 3)):
        nodes = list(tree.walk())
        node, other = chance.choice(nodes), chance.choice(nodes)
        kind = chance.randrange(8)
        if kind == 0 and node.attributes:
            node.attributes[chance.choice(sorted(node.attributes))] = chance.choice(VALUES[:-8])
        elif kind == 1:
            node.attributes[chance.choice(WORDS)] = chance.choice(["1", "1 0 0", "a", "box", "true", "torso", "world"])
        elif kind == 2 and node.attributes:
            del node.attributes[chance.choice(sorted(node.attributes))]
        elif kind == 3 and node.children:
            del node.children[chance.randrange(len(node.children))]
        elif kind == 4 and node is not other and len(nodes) < 500 and not any(n is node for n in other.walk()):
            node.children.insert(chance.randint(0, len(node.children)), other)
        elif kind == 5:
            node.add(Node(chance.choice(WORDS), dict(other.attributes)))
        elif kind == 6:
            chance.shuffle(node.children)
        elif kind == 7 and node is not tree:
            node.tag = other.tag
    return serialise(tree)


@pytest.fixture(scope="module")
def seeds():
    texts = [(PACKAGE / name).read_text() for name in SEEDS]
    return [text for text in texts if "<include" not in text] + [
        serialise(mjcf.to_source(compose())).replace("/", "_").replace("<_", "</").replace("_>", "/>")
    ]


def compose():
    """A small composition with classes, keyframes, frames and references, as one more seed."""
    arm = mjcf.from_xml_string(
        '<mujoco model="arm"><compiler angle="radian"/><default><geom size="1"/><default class="c"/></default>'
        '<worldbody><frame pos="0 0 1"><body name="b" childclass="c"><joint name="j"/><geom/><site name="s"/></body>'
        '</frame></worldbody><actuator><motor joint="j"/></actuator>'
        '<sensor><framepos objtype="site" objname="s"/></sensor><keyframe><key qpos="1" ctrl="2"/></keyframe></mujoco>'
    )
    root = mjcf.RootElement(model="root")
    root.worldbody.add("body", name="torso", euler=[1, 2, 3]).add("geom")
    root.attach(arm).add("freejoint")
    return root


def exercise(text: str, chance: random.Random) -> str:
    """Read, validate and write one input; says how far it came."""

    def open_file(name, relative_to):
        raise OSError(f"no such file: {name}")

    try:
        validate(expand_includes(read_xml(text), open_file))
        reached = "valid"
    except DOCUMENTED as error:
        assert isinstance(error, DocumentError) and str(error)
        reached = "read"
    try:
        model = mjcf.from_xml_string(text)
        written = model.to_xml_string()
        mjcf.from_xml_string(written, escape_separators=True)
        arena = mjcf.RootElement(model="arena")
        arena.compiler.eulerseq = chance.choice([None, "zyx"])
        arena.worldbody.add("body", name="hinged").add("joint", name="j")
        arena.attach(copy.deepcopy(model) if chance.random() < 0.5 else model)
        arena.to_xml_string()
        return f"{reached}, written"
    except DOCUMENTED as error:
        assert str(error)
        return reached


@pytest.mark.parametrize("batch", range(BATCHES))
def test_mutated_documents(seeds, batch):
    chance = random.Random(batch)
    outcomes: dict[str, int] = {}
    for number in range(INPUTS // BATCHES):
        seed = chance.choice(seeds)
        text = mutate(seed, chance) if number % 2 else mutate_tree(seed, chance)
        start = time.perf_counter()
        try:
            outcome = exercise(text, chance)
        except Exception as error:
            raise AssertionError(f"batch {batch}, input {number}: {type(error).__name__}: {error}\n{text}") from error
        assert time.perf_counter() - start < 5, f"batch {batch}, input {number} took too long\n{text}"
        outcomes[outcome] = outcomes.get(outcome, 0) + 1
    # The mutator is neither too harsh nor too tame: some inputs get through, most do not.
    assert outcomes.get("read", 0) > 100 and sum(n for o, n in outcomes.items() if "written" in o) > 50, outcomes


@pytest.mark.parametrize("name", ["suite/humanoid.xml", "mjcf/test_assets/model_with_assets.xml"])
def test_mutated_bytes(name):
    """Bytes rather than text: encodings, byte order marks and nulls."""
    data = (PACKAGE / name).read_bytes()[:3000]
    chance = random.Random(name)
    for _ in range(300):
        mutated = bytearray(data)
        for _ in range(chance.randint(1, 6)):
            mutated[chance.randrange(len(mutated))] = chance.randrange(256)
        try:
            mjcf.from_xml_string(chance.choice([b"", b"\xff\xfe", b"\xef\xbb\xbf"]) + bytes(mutated))
        except DOCUMENTED as error:
            assert str(error)


def test_random_edits_keep_documents_consistent():
    """Random edits through the Python interface raise only documented exceptions, and the document can be written."""
    chance = random.Random(7)
    model = mjcf.RootElement(model="m")
    pool = [model.worldbody]
    for _ in range(3000):
        element = chance.choice(pool)
        if element.is_removed:
            pool.remove(element)
            continue
        try:
            kind = chance.randrange(6)
            if kind <= 2:
                tag = chance.choice(sorted(element.spec.children) or ["none"])
                name = {"name": chance.choice("abcdefgh")} if chance.random() < 0.5 else {}
                pool.append(element.add(tag, **name))
            elif kind == 3:
                attribute = chance.choice(sorted(element.spec.attributes) or ["none"])
                setattr(element, attribute, chance.choice([*VALUES, 1, 2.5, [1, 2, 3], True, None, element, pool[-1]]))
            elif kind == 4 and element is not model.worldbody:
                element.remove()
            else:
                element.to_xml_string()
        except DOCUMENTED as error:
            assert str(error)
    text = model.to_xml_string()
    mjcf.from_xml_string(text, escape_separators=True)
