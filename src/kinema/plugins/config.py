"""Configuration of plugins: typed fields, declared as annotations of the plugin class.

    kp: float = field(0.0, min=0.0)
    size: tuple[int, int] = (7, 7)
    mode: str = field("linear", choices=("linear", "cubic"))
    weights: Path = ""                 a file, named relative to the model, read through kinema.resources

Values come from <config key= value=> as text and are checked when the model is compiled. Numbers, choices (as their
index) and tuples of numbers reach device code as members of `p`; texts and paths stay on the host.
"""

from __future__ import annotations

import math
import typing
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import warp as wp

from kinema.errors import PluginError, did_you_mean

TRUE, FALSE = ("true", "1"), ("false", "0")


class Path(str):
    """Type of a field that names a file; its value is the full name, resolved against the model's file."""


@dataclass(frozen=True)
class Declared:
    """What `field` says about a field."""

    default: Any = None
    min: float = -math.inf
    max: float = math.inf
    above: float = -math.inf
    choices: tuple[str, ...] = ()
    required: bool = False


def field(
    default: Any = None,
    *,
    min: float = -math.inf,
    max: float = math.inf,
    above: float = -math.inf,
    choices: tuple[str, ...] = (),
    required: bool = False,
) -> Any:
    """Declare a configuration field.

    Args:
        default: Value where a model gives none.
        min, max: Limits, both allowed values themselves.
        above: Limit the value must exceed.
        choices: The words a text may be.
        required: A model must give a value.
    """
    return Declared(default, min, max, above, choices, required)


@dataclass(frozen=True)
class Field:
    """One configuration field of a plugin."""

    name: str
    type: Any  # float, int, bool, str or Path
    length: int  # 0: one value, otherwise a tuple of so many
    declared: Declared

    def parse(self, text: str) -> Any:
        """The value of a text; ValueError says what is wrong with it."""
        if not text.strip():
            return self.default
        if self.type in (str, Path):
            return self._text(text)
        words = text.split()
        if len(words) != (self.length or 1):
            raise ValueError(f"{self.name}={text!r}: expected {self._expected()}")
        values = tuple(self._number(word, text) for word in words)
        return values if self.length else values[0]

    @property
    def default(self) -> Any:
        return self.declared.default

    @property
    def on_device(self) -> bool:
        """Whether device code sees the field."""
        return self.type in (float, int, bool) or bool(self.declared.choices)

    @property
    def device_type(self) -> Any:
        if self.length:
            return wp.types.vector(length=self.length, dtype=self.type)
        return {float: float, int: int, bool: bool, str: int}[self.type]

    def numbers(self, value: Any) -> list[float]:
        """The value as device code stores it."""
        if self.declared.choices:
            return [float(self.declared.choices.index(value))]
        return [float(v) for v in value] if self.length else [float(value)]

    def value(self, numbers: Sequence[float]) -> Any:
        """The value that device code stores as these numbers."""
        if self.declared.choices:
            return self.declared.choices[int(numbers[0])]
        values = tuple(self.type(n) for n in numbers)
        return values if self.length else values[0]

    def require(self, numbers: np.ndarray) -> None:
        """ValueError if one of these numbers is not allowed."""
        limits = self.declared
        allowed = (numbers >= limits.min) & (numbers <= limits.max) & (numbers > limits.above)
        if not np.all(allowed):
            raise ValueError(f"{self.name}={numbers[~allowed].flat[0]:g}: must be {_limits(limits)}")

    def wrong_default(self) -> str:
        """What is wrong with the default; empty: nothing."""
        default = self.default
        if self.type in (str, Path):
            known = self.declared.choices
            if not isinstance(default, str | Path):
                return "expected a text"
            return f"expected one of {', '.join(known)}" if known and default not in known else ""
        values = default if self.length else (default,)
        if not isinstance(values, tuple | list) or len(values) != self.width:
            return f"expected {self._expected()}"
        whole = (int, bool, np.integer) if self.type is not float else (int, float, np.integer, np.floating)
        if not all(isinstance(value, whole) for value in values):
            return f"expected {self._expected()}"
        try:
            self.require(np.array(values, dtype=float))
        except ValueError:
            return f"which must be {_limits(self.declared)}"
        return ""

    @property
    def width(self) -> int:
        return self.length or 1

    def _expected(self) -> str:
        kind = {float: "number", int: "whole number", bool: "true or false"}[self.type]
        return f"{self.length} {kind}s" if self.length else f"one {kind}"

    def _text(self, text: str) -> str:
        if self.declared.choices and text not in self.declared.choices:
            near = did_you_mean(text, self.declared.choices)
            raise ValueError(f"{self.name}={text!r}: expected one of {', '.join(self.declared.choices)}{near}")
        return text

    def _number(self, word: str, text: str) -> Any:
        if self.type is bool:
            if word.lower() not in (*TRUE, *FALSE):
                raise ValueError(f"{self.name}={text!r}: expected true or false")
            return word.lower() in TRUE
        try:
            value = float(word)
        except ValueError:
            raise ValueError(f"{self.name}={text!r}: expected {self._expected()}") from None
        if self.type is int:
            if value != int(value):
                raise ValueError(f"{self.name}={text!r}: expected {self._expected()}")
            value = int(value)
        limits = self.declared
        if math.isnan(value) or not (limits.min <= value <= limits.max and value > limits.above):
            raise ValueError(f"{self.name}={text!r}: must be {_limits(limits)}")
        return value


def _limits(limits: Declared) -> str:
    parts = []
    if limits.above > -math.inf:
        parts.append(f"above {limits.above:g}")
    if limits.min > -math.inf:
        parts.append(f"at least {limits.min:g}")
    if limits.max < math.inf:
        parts.append(f"at most {limits.max:g}")
    return " and ".join(parts) or "a number"


def fields_of(cls: type, plugin: str) -> dict[str, Field]:
    """The fields a plugin class declares, in order; those of its bases come first."""
    fields = {}
    for name, kind in typing.get_type_hints(cls).items():
        length = 0
        if typing.get_origin(kind) is tuple:
            kinds = typing.get_args(kind)
            if len(set(kinds)) != 1:
                raise PluginError(f"plugin {plugin}: field {name} is {kind}: say how many numbers of one kind it has, "
                                  "as in tuple[float, float, float]")  # fmt: skip
            kind, length = kinds[0], len(kinds)
        declared = getattr(cls, name, Declared(required=True))
        if not isinstance(declared, Declared):
            declared = Declared(declared)
        known = (float, int, bool, str, Path)
        if kind not in known or (length and kind not in (float, int)):
            raise PluginError(f"plugin {plugin}: field {name} is {kind}; use float, int, bool, str, Path or a tuple")
        if declared.default is None and not declared.required:
            raise PluginError(f"plugin {plugin}: field {name} has no default; give one, or field(required=True)")
        fields[name] = Field(name, kind, length, declared)
        if not declared.required and (wrong := fields[name].wrong_default()):
            raise PluginError(f"plugin {plugin}: the default of field {name} is {declared.default!r}, {wrong}")
    return fields


def configured(cls: type, fields: Mapping[str, Field], config: Mapping[str, str]) -> Any:
    """An object of the plugin class whose attributes are the configuration; ValueError says what is wrong with it."""
    plugin: Any = object.__new__(cls)
    for name, what in fields.items():
        text = config.get(name, "")
        if what.declared.required and not text.strip():
            raise ValueError(f"{name} is required")
        setattr(plugin, name, what.parse(text))
    return plugin
