"""Is this document one that MuJoCo's XML reader would take?

`validate` walks a source tree (after include expansion) and raises at the first thing the schema does not allow, the
way MuJoCo does: unknown elements and attributes, repeated unique elements, wrong numbers of values, bad keywords, text
that is not a number, missing required attributes, attributes that exclude one another. What a value means is the
compiler's affair.

Three habits of MuJoCo's reader are kept: an empty number attribute counts as absent, keywords are case sensitive, and
<frame> and <replicate> may carry any attribute.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping

from kinema.errors import BadValue, DocumentError, UnknownAttribute, UnknownElement, did_you_mean
from kinema.mjcf import schema
from kinema.mjcf.schema import AttributeSpec, Constraint, ElementSpec
from kinema.mjcf.source import Node

SINGLE_SECTIONS = frozenset(["rgba", "scale", "map", "headlight", "global"])
SINGLE: Mapping[str, frozenset[str]] = {
    "camera": frozenset(["focal", "focalpixel", "principal", "principalpixel", "sensorsize"]),
    "light": frozenset(
        ["ambient", "attenuation", "bulbradius", "cutoff", "diffuse", "exponent", "intensity", "range", "softness"]
        + ["specular"]
    ),
    "material": frozenset(
        ["emission", "metallic", "reflectance", "roughness", "shininess", "specular", "texrepeat"]
    ),
    "mesh": frozenset(["normal", "texcoord", "vertex"]),
    "skin": frozenset(["inflate", "texcoord", "vertex"]),
    "bone": frozenset(["bindpos", "bindquat", "vertweight"]),
    "hfield": frozenset(["elevation"]),
}
"""Numbers that MuJoCo keeps in single precision, by element: all of some sections, ``rgba`` of any, and these."""
LARGEST_SINGLE = 3.4028235677973366e38
"""From here on a number is infinite in single precision."""
INT_RANGE = (-(2**31), 2**31 - 1)
_LENIENT = ("frame", "replicate")
_FLOAT = re.compile(
    r"[+-]?(?:(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?|0[xX](?:[0-9a-fA-F]+\.?[0-9a-fA-F]*|\.[0-9a-fA-F]+)(?:[pP][+-]?\d+)?"
    r"|inf(?:inity)?|nan(?:\(\w*\))?)",
    re.IGNORECASE,
)
_INT = re.compile(r"[+-]?\d+")


def validate(node: Node) -> None:
    """Check a whole document against the schema; raises UnknownElement, UnknownAttribute or BadValue."""
    if node.tag != "mujoco":
        hint = did_you_mean(node.tag, ["mujoco"])
        raise BadValue(f"the root element is <{node.tag}>, not <mujoco>{hint}", file=node.file, line=node.line)
    todo = [(node, schema.root())]
    while todo:
        here, spec = todo.pop()
        check_attributes(here, spec)
        todo.extend(reversed(_check_children(here, spec)))


def _problem(kind: type[DocumentError], node: Node, message: str) -> DocumentError:
    return kind(message, file=node.file, line=node.line, path=node.path)


def _check_children(node: Node, spec: ElementSpec) -> list[tuple[Node, ElementSpec]]:
    found = []
    count: dict[str, int] = {}
    for child in node.children:
        child_spec = spec.children.get(child.tag)
        if child_spec is None:
            raise _problem(UnknownElement, child, schema.unknown_child(child.tag, spec))
        count[child.tag] = count.get(child.tag, 0) + 1
        if count[child.tag] > 1 and child_spec.cardinality in "?!":
            message = f"<{node.tag}> may hold only one <{child.tag}>, this is number {count[child.tag]}"
            raise _problem(BadValue, child, message)
        found.append((child, child_spec))
    return found


def check_attributes(node: Node, spec: ElementSpec) -> None:
    """Check the attributes of one element."""
    for name, text in node.attributes.items():
        attribute = spec.attributes.get(name)
        if attribute is not None:
            problem = value_problem(attribute, text, single=_is_single(spec.name, name))
            if problem:
                raise _problem(BadValue, node, f"attribute {name!r} of <{node.tag}>: {problem}")
        elif spec.name not in _LENIENT:
            message = f"{name!r} is not a valid attribute for <{node.tag}>"
            raise _problem(UnknownAttribute, node, message + did_you_mean(name, spec.attributes))
    for name in spec.needed:
        if name not in node.attributes:  # an empty value counts as given, as in MuJoCo
            raise _problem(BadValue, node, f"attribute {name!r} of element <{node.tag}> is required")
    for constraint in spec.constraints:
        problem = _constraint_problem(constraint, node.attributes)
        if problem:
            raise _problem(BadValue, node, f"<{node.tag}>: {problem}")


def _is_single(tag: str, name: str) -> bool:
    return name == "rgba" or tag in SINGLE_SECTIONS or name in SINGLE.get(tag, ())


def value_problem(spec: AttributeSpec, text: str, *, single: bool = False) -> str | None:
    """What is wrong with the text of an attribute, or None; `single`: of one kept in single precision."""
    if spec.type == "keyword":
        if text in spec.keywords:
            return None
        return f"invalid keyword {text!r}, expected one of {list(spec.keywords)}{did_you_mean(text, spec.keywords)}"
    if spec.type in schema.NUMERIC:
        return _number_problem(spec, text, single)
    if spec.type == "flags":
        for word in text.split():
            if word not in spec.keywords:
                hint = did_you_mean(word, spec.keywords)
                return f"invalid keyword {word!r}, expected some of {list(spec.keywords)}{hint}"
    if spec.type == "chars" and text and not spec.min <= len(text) <= (spec.max or len(text)):
        size = f"exactly {spec.min}" if spec.min == spec.max else f"{spec.min} to {spec.max}"
        return f"{text!r} must have {size} characters"
    return None


def _number_problem(spec: AttributeSpec, text: str, single: bool) -> str | None:
    words = text.split()
    if not words:
        return None
    pattern, kind = (_INT, "an integer") if spec.type == "int" else (_FLOAT, "a number")
    for word in words:
        if not pattern.fullmatch(word):
            return f"{word!r} is not {kind} (in {text!r})" if len(words) > 1 else f"{word!r} is not {kind}"
        if spec.type == "int" and not INT_RANGE[0] <= int(word) <= INT_RANGE[1]:
            return f"{word!r} is too large for an integer"
        if spec.type == "float" and _overflows(word, single):
            return f"{word!r} is too large for a number{' in single precision' if single else ''}"
    if len(words) < spec.min:
        return f"needs {_count(spec)}, got {len(words)}: {text!r}"
    if spec.max is not None and len(words) > spec.max:
        return f"takes {_count(spec)}, got {len(words)}: {text!r}"
    return None


def _overflows(word: str, single: bool) -> bool:
    if "x" in word or "X" in word or word.lstrip("+-")[:1] in "iInN":
        return False
    return abs(float(word)) >= (LARGEST_SINGLE if single else math.inf)


def _count(spec: AttributeSpec) -> str:
    if spec.min == spec.max:
        return f"{spec.min} value{'s' if spec.min != 1 else ''}"
    return f"{spec.min} to {spec.max} values"


def _constraint_problem(constraint: Constraint, attributes: dict[str, str]) -> str | None:
    some = [any(name in attributes for name in bundle) for bundle in constraint.bundles]
    names = ", ".join("+".join(bundle) for bundle in constraint.bundles)
    if constraint.kind == "exclusive" and sum(some) > 1:
        return f"at most one of {names} can be specified"
    if constraint.kind == "together" and any(some) and not all(some):
        return f"{names} must be specified together"
    if constraint.kind == "oneof":
        if not any(all(name in attributes for name in bundle) for bundle in constraint.bundles):
            return f"one of {names} must be specified"
    return None
