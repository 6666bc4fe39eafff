"""Values of attributes: from Python or text to what an element holds, and to the text that is written.

An element keeps its values in a plain dictionary. What a value may be is in its AttributeSpec, and the functions here
are chosen by the spec's type: `convert` checks and normalises a value, the `..._text` functions write it. Names,
references and files also touch the rest of the model (uniqueness, assets); that part is in `element`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from kinema.errors import BadValue, did_you_mean
from kinema.mjcf import asset
from kinema.mjcf.asset import Asset, BaseAsset, ModelAsset, SkinAsset
from kinema.mjcf.base import Element
from kinema.mjcf.constants import INDIRECT_REFERENCE, MAIN_CLASS, PREFIX_SEPARATOR, WORLD, XML_DEFAULT_PRECISION

if TYPE_CHECKING:
    from kinema.mjcf.namescope import NameScope
    from kinema.mjcf.schema import AttributeSpec

__all__ = ["Asset", "BaseAsset", "FileAttribute", "SkinAsset", "convert", "format_numbers", "reference_namespace"]


# ---------------------------------------------------------------- to values


def _float(spec: AttributeSpec, value: Any, element: Any) -> float:
    try:
        return float(value)
    except (ValueError, TypeError, OverflowError):
        raise BadValue(f"Expect a float value: got {value}") from None


def _int(spec: AttributeSpec, value: Any, element: Any) -> int:
    try:
        number = float(value)
        whole = int(number)
    except (ValueError, TypeError, OverflowError):
        raise BadValue(f"Expect an integer value: got {value}") from None
    if whole != number:
        raise BadValue(f"Expect an integer value: got {value}")
    return whole


def _array(spec: AttributeSpec, value: Any, element: Any) -> np.ndarray:
    dtype = float if spec.type == "float" else int
    try:
        if type(value) is str:
            array = np.array([float(word) for word in value.split()])
        else:
            array = np.array(value, dtype=float)
    except (ValueError, TypeError, OverflowError):
        raise BadValue(f"Expect an array of numbers: got {value!r}") from None
    if array.ndim == 0:
        array = array.reshape(1)
    elif array.ndim > 1:
        raise BadValue(f"Expect one-dimensional array: got {array}")
    if spec.max is not None and array.shape[0] > spec.max:
        raise BadValue(f"Expect array with no more than {spec.max} entries: got {array}")
    if dtype is int:
        if not np.all(np.isfinite(array)) or np.any(np.abs(array) >= 2**63):
            raise BadValue(f"Expect an array of integers: got {value!r}")
        whole = array.astype(int)
        if not np.array_equal(whole, array):
            raise BadValue(f"Expect an array of integers: got {value!r}")
        return whole
    return array


def _keyword(spec: AttributeSpec, value: Any, element: Any) -> str:
    word = str(value)
    found = spec.keyword_map.get(word.lower())
    if found is None:
        hint = did_you_mean(word, spec.keywords)
        raise BadValue(f"Expect keyword to be one of {list(spec.keywords)} but got: {value}{hint}")
    return found


def _string(spec: AttributeSpec, value: Any, element: Any) -> str:
    if not isinstance(value, str):
        raise BadValue(f"Expect a string value: got {value}")
    return value


def _identifier(spec: AttributeSpec, value: Any, element: Element) -> str:
    name = _string(spec, value, element)
    if element.spec.namespace == "body" and name == WORLD:
        raise BadValue("A body cannot be named 'world': MuJoCo uses that name to refer to the <worldbody>.")
    if PREFIX_SEPARATOR in name:
        raise BadValue(
            f"An identifier cannot contain a {PREFIX_SEPARATOR!r}, "
            f"as this is reserved for scoping purposes: got {name!r} (escape_separators=True reads such names)"
        )
    return name


def _reference(spec: AttributeSpec, value: Any, element: Element) -> Any:
    if isinstance(value, Element):
        expected = reference_namespace(spec, element)
        actual = value.spec.namespace
        if value.tag == "worldbody":
            actual = "body"
        if actual != expected:
            raise BadValue(
                f"Reference should be an MJCF Element whose type is {expected!r}: got {actual or value.tag!r}."
            )
        return value
    if isinstance(value, np.ndarray) and value.dtype.kind == "U" and value.ndim == 0:
        value = value.item()
    if not isinstance(value, str):
        raise BadValue(f"Expect a string or `mjcf.Element` value: got {value}")
    return value


def _file(spec: AttributeSpec, value: Any, element: Any) -> BaseAsset:
    if isinstance(value, str):
        found: BaseAsset = asset.load(value, spec.namespace, element)
    elif isinstance(value, SkinAsset):
        found = value if value.parent is element else value.copy_for(element)
    elif isinstance(value, Asset | ModelAsset):
        found = value
    else:
        raise BadValue(f"Expect either a string or `Asset` value: got {value}")
    asset.check_extension(element.tag, found.extension)
    return found


_CONVERT: dict[str, Callable[[Any, Any, Any], Any]] = {
    "float": _float,
    "int": _int,
    "keyword": _keyword,
    "string": _string,
    "flags": _string,
    "chars": _string,
    "names": _string,
    "prefix": _string,
    "id": _identifier,
    "ref": _reference,
    "file": _file,
    "dir": _string,
}


def convert(spec: AttributeSpec, value: Any, element: Any) -> Any:
    """The value an element keeps for what the user gave, or None when the attribute is to be cleared."""
    if value is None or (type(value) is str and not value):
        return None
    if spec.array:
        return _array(spec, value, element)
    return _CONVERT[spec.type](spec, value, element)


def reference_namespace(spec: AttributeSpec, element: Any) -> str | None:
    """What kind of element a reference is to, which another attribute may decide."""
    namespace = spec.namespace
    if namespace is not None and namespace.startswith("@"):
        kind = element.raw_attributes.get(namespace[1:])
        return INDIRECT_REFERENCE.get(kind, kind)
    return namespace


# ---------------------------------------------------------------- to text


def shortest(number: Any) -> str:
    """The shortest text that reads as the same number; NumPy's numbers are written as Python's."""
    return repr(number if type(number) in (int, float) else number.item()).removesuffix(".0")


def format_numbers(
    values: Any, precision: int | None = XML_DEFAULT_PRECISION, zero_threshold: float = 0
) -> str:  # fmt: skip
    """Numbers as text, shortest that keeps `precision` digits, or None: the number; those below the threshold are 0."""
    numbers = values if isinstance(values, list) else values.tolist()
    if zero_threshold:
        numbers = [0 if abs(number) < zero_threshold else number for number in numbers]
    if precision is None:
        return " ".join([shortest(number) for number in numbers])
    return " ".join([f"%.{precision}g"] * len(numbers)) % tuple(numbers)


def reference_text(element: Any, name: str, prefix_root: NameScope | None) -> str | None:
    """A reference as written: prefixed by the scope of the element referred to, or of the one that holds a string."""
    spec = element.spec.attributes[name]
    value = element.get_reference(name)
    if isinstance(value, Element):
        return value.prefixed_identifier(prefix_root)
    if spec.namespace == "default" and name != "childclass":
        return _class_text(element, value, prefix_root)
    if not value:
        return None
    if value == WORLD and reference_namespace(spec, element) == "body":
        return WORLD
    if spec.namespace == "default" and value == MAIN_CLASS and element.root.has_main_class:
        return element.root.default.prefixed_identifier(prefix_root)
    if spec.max is None:
        return names_text(element, value, prefix_root)
    return element.namescope.full_prefix(prefix_root) + value


def _class_text(element: Any, value: str | None, prefix_root: NameScope | None) -> str | None:
    """The class attribute: elements that name none get the model's global class, unless a childclass reaches them."""
    root = element.root
    if value:
        if value == MAIN_CLASS and root.has_main_class:
            return root.default.prefixed_identifier(prefix_root)
        return element.namescope.full_prefix(prefix_root) + value
    ancestor = element.parent
    while ancestor is not None:
        if "childclass" in ancestor.spec.attributes and ancestor.get_reference("childclass"):
            return None
        ancestor = ancestor.parent
    return root.default.prefixed_identifier(prefix_root)


def names_text(element: Any, value: str, prefix_root: NameScope | None) -> str:
    """Several references in one string, each prefixed."""
    prefix = element.namescope.full_prefix(prefix_root)
    return " ".join(name if name == WORLD else prefix + name for name in value.split())


class FileAttribute:
    """One file attribute of one element, as `NameScope.files` shows it."""

    __slots__ = ("element", "name")

    def __init__(self, element: Any, name: str):
        self.element = element
        self.name = name

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FileAttribute) and (self.element, self.name) == (other.element, other.name)

    def __hash__(self) -> int:
        return hash((id(self.element), self.name))

    @property
    def value(self) -> BaseAsset:
        return self.element.raw_attributes[self.name]

    def get_contents(self) -> bytes | str:
        return self.value.contents

    def to_xml_string(self, prefix_root: NameScope | None = None, *, filename_with_hash: bool = True) -> str:
        return self.value.get_vfs_filename(filename_with_hash)
