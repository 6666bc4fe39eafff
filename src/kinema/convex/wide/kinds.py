"""Which names of a function are the same in all lanes, and which are one a lane.

    SAME     the same in all lanes: sizes, indices, pointers to what worlds share
    WORLD    the number of the world
    LANES    one a lane: every float, and what follows from a number of a world

Kinds only rise from SAME to LANES, so looking at the statements again and again comes to an end. What a block under a
condition that varies does is masked: a name that has a value before and gets another there is one a lane from then on.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

from kinema.convex.wide.source import (
    CALL,
    GIVEN,
    MEMBER,
    NAME,
    OF_STRUCT,
    Function,
    Narrow,
    arguments,
    condition,
    is_float,
    plain,
)

SAME, WORLD, LANES = "same", "world", "lanes"
VALUE = re.compile(r"^(-?[\d.]+(e[-+]?\d+)?|true|false)$")

BY_HAND = {
    "factor_rows": "factor_rows", "solve_rows": "solve_rows", "project": "project", "put": "put", "_put_vec3": "put",
    "_put_mat33": "put", "_put_spatial_vector": "put", "_put_vec10": "put",
}  # fmt: skip
"""Native functions of stages that lanes.cpp has for eight worlds, and what they are called there."""


@dataclass
class Made:
    """A function as it was widened for arguments of given kinds.

    Attributes:
        name: What it is called.
        text: Its C++.
        effects: It writes to arrays, so it is told the mask.
        result: The kind of what it returns.
        calls: The widened functions it calls.
        alone: The functions of one world that it calls lane by lane.
    """

    name: str
    text: str
    effects: bool
    result: str
    calls: tuple[Made, ...] = ()
    alone: frozenset[str] = frozenset()


@dataclass
class Module:
    """What a function knows of the others.

    Attributes:
        functions: Those of one world, by name.
        shared: What worlds share, though [w, ...] indexes it: members of Data, as in "act.moment_rowadr", and of other
            structs, as in "Pairs.geom".
        make: Widens a function for arguments of given kinds; None where its lanes cannot go together.
    """

    functions: Mapping[str, list[Function]]
    shared: Collection[str]
    make: Callable[[Function, tuple[str, ...]], Made | None]


class Kinds:
    """The kinds of the names of a function.

    Attributes:
        type, kind: Of each name.
        value: Of constants.
        lines: The statements.
        calls: By the number of a statement: the function it calls as it was widened, None where it was not.
        returned: The kind of the result.
        parted: Some lanes return before others.
        alone: Functions that are called lane by lane.
        effects: It writes to arrays.
    """

    def __init__(self, module: Module, function: Function, kinds: tuple[str, ...]):
        if function.native:
            raise Narrow(function.name)
        self.module, self.function = module, function
        self.type: dict[str, str] = {}
        self.kind: dict[str, str] = {}
        self.value: dict[str, str] = {}
        self.of_model: set[str] = set()  # pointers to what is the model's
        self._origin: dict[str, str] = {}  # of arrays and pointers to them: "m" or "bundle.name"
        for (type_of, name), kind in zip(function.params, kinds, strict=True):
            self.type[name] = type_of
            self.kind[name] = LANES if is_float(plain(type_of)) else kind
        for constant, type_of, name, value in function.declarations():
            self.type[name] = type_of
            self.kind[name] = LANES if is_float(type_of) else SAME
            if constant:
                if value is None or not VALUE.match(value):
                    raise Narrow(f"{type_of} {value}")
                self.value[name] = value
        self.lines = function.statements()
        self.calls: dict[int, Made | None] = {}
        self.returned, self.parted, self.effects = SAME, False, False
        self.alone: set[str] = set()
        self._together = False  # is anything done by all lanes at once?
        self._given: dict[str, set[tuple[str, ...]]] = {}  # under which conditions that vary a name gets a value
        targets = [target(line) for line in self.lines]
        self.again = {name for name in targets if name and targets.count(name) > 1}  # get a value more than once
        self._find()

    def varies(self, name: str) -> bool:
        """May lanes differ in it?"""
        return self.kind.get(name) == LANES

    def _find(self) -> None:
        while True:
            before = dict(self.kind), self.returned, self.parted
            self._given.clear()
            self._look()
            if before == (self.kind, self.returned, self.parted):
                break
        if self.alone and not self._together:
            raise Narrow("nothing is done by all lanes at once")
        if self.parted and self.effects:
            raise Narrow("some lanes return before others write")

    def _look(self) -> None:
        blocks: list[tuple[str, int]] = []  # conditions of the blocks a statement stands in, and where they begin
        labels: dict[str, tuple[str, ...]] = {}
        jumps: list[tuple[str, tuple[str, ...]]] = []
        for number, line in enumerate(self.lines):
            here = tuple(f"{name} {at}" for name, at in blocks if self.varies(name))
            said = condition(line)
            if said is not None:
                blocks.append((said.lstrip("!"), number))
            elif line == "}":
                blocks.pop()
            elif line.endswith(":;"):
                labels[line[:-2]] = here
            elif "goto " in line:
                jumps.append((line.rpartition("goto ")[2].rstrip(";"), here))
                if any(self.kind[name] != SAME for name in NAME.findall(line)):
                    raise Narrow("lanes leave a loop at different times")
            elif line.startswith("return"):
                self.parted |= bool(here)
                if here or any(self.varies(name) for name in arguments(line[6:].rstrip(";"))):
                    self.returned = LANES
            else:
                self._statement(number, line.rstrip(";"), here)
        if any(labels[label] != here for label, here in jumps):
            raise Narrow("a jump out of what not all lanes do")

    def _statement(self, number: int, line: str, here: tuple[str, ...]) -> None:
        name, equals, said = line.partition(" = ")
        if not equals:
            self._effect(number, line, bool(here))
        elif name.startswith("ret_"):
            self.parted |= bool(here)
            if self._kind_of(number, name, said) == LANES and not self.varies(name):
                raise Narrow(name)
        elif name in self.type:
            self._give(name, self._kind_of(number, name, said))
        elif any(self.kind[of] != SAME for of in NAME.findall(line)):  # a member of a struct
            raise Narrow(line)
        given = target(line)
        if given in self.again:
            self._given.setdefault(given, set()).add(here)
            if len(self._given[given]) > 1:
                self._give(given, LANES)

    def _give(self, name: str, kind: str) -> None:
        if kind == WORLD:
            raise Narrow(f"{name} is the world")
        if kind == LANES:
            self.kind[name] = LANES

    def _most(self, names: list[str]) -> str:
        return LANES if any(self.kind[name] == LANES for name in names) else SAME

    def _kind_of(self, number: int, name: str, said: str) -> str:
        """The kind of an expression that a name is given."""
        if said in self.kind:
            return self.kind[said]
        if said.startswith("&"):
            member, of_struct = MEMBER.match(said), OF_STRUCT.match(said)
            if member:
                self._origin[name] = "m" if member[1] == "var_m" else f"{member[2]}.{member[3]}"
            elif of_struct:
                self._origin[name] = f"{plain(self.type[of_struct[1]]).rpartition('_')[0]}.{of_struct[2]}"
            return self._most(NAME.findall(said))
        call = CALL.match(said)
        names = arguments(call[3]) if call else NAME.findall(said)
        if call is not None:
            if call[2].endswith("_of_any") or call[2].startswith("kn_"):
                raise Narrow("an index that may count from the end, or is checked")
            if not call[1] and call[2] in self.module.functions:
                return self._call(number, call[2], names)
            if call[2] == "address":
                return self._address(name, names)
            if call[2].startswith("atomic_"):
                self.effects = True
                return LANES
            if call[2] == "load" and names[0] in self._origin:
                self._origin[name] = self._origin[names[0]]
            self._check(call[2], name, names)
        if any(self.kind[of] == WORLD for of in names):
            raise Narrow(said)
        return self._most(names)

    def _check(self, function: str, name: str, names: list[str]) -> None:
        """What lanes can not differ in: lengths, indices, divisors of integers."""
        bound = {"range": names, "iter_next": names, "extract": names[1:]}.get(function, [])
        if function in ("div", "mod", "floordiv") and not is_float(self.type[name]):
            bound = names
        if any(self.kind[of] != SAME for of in bound):
            raise Narrow(function)

    def _address(self, name: str, names: list[str]) -> str:
        array, first, *rest = names
        if any(self.kind[index] != SAME for index in rest) or self.varies(first):
            raise Narrow("an index that lanes do not share")
        if self.kind[first] != WORLD or self._origin.get(array) in self.module.shared:
            return SAME
        origin = self._origin.get(array, "")
        if origin == "m" or origin[:1].isupper():  # a struct of another layer's
            self.of_model.add(name)
        return LANES

    def callee(self, name: str, names: list[str]) -> Function:
        """The function of that name that takes these arguments."""
        types = [plain(self.type[of]) for of in names]
        for function in self.module.functions[name]:
            if function.types == types:
                return function
        raise Narrow(name)

    def _call(self, number: int, name: str, names: list[str]) -> str:
        function = self.callee(name, names)
        kinds = tuple(self.kind[of] for of in names)
        results = [of for of, (type_of, _) in zip(names, function.params, strict=True) if "&" in type_of]
        if all(kind == SAME for kind in kinds) and not any(is_float(self.type[of]) for of in results):
            return SAME  # the function of one world will do
        made = self.module.make(function, kinds) if not function.native else None
        self.calls[number] = made
        if made is None:
            if any(self.type[of].startswith("wp::") for of in results):
                raise Narrow(name)
            self.effects = True
            by_hand = function.native and function.base in BY_HAND
            self._together |= by_hand
            self.alone |= set() if by_hand else {name}
            return LANES
        self.effects |= made.effects
        self._together = True
        return made.result

    def _effect(self, number: int, line: str, masked: bool) -> None:
        """A statement that gives no name a value."""
        call = CALL.match(line)
        if call is None:
            raise Narrow(line)
        names = arguments(call[3])
        if call[2] == "array_store":
            if self.kind[names[1]] != WORLD or any(self.kind[name] != SAME for name in names[2:-1]):
                raise Narrow(line)
            self.effects = self._together = True
        elif call[2] == "assign":
            self._give(names[0], self.kind[names[1]])
        elif call[2] == "assign_inplace":
            if any(self.kind[name] != SAME for name in names[1:-1]) or (masked and not self.varies(names[0])):
                raise Narrow(line)
        elif not call[1] and call[2] in self.module.functions:
            self._call(number, call[2], names)
        else:
            raise Narrow(line)


def target(line: str) -> str:
    """The name that a statement gives a value."""
    found = GIVEN.match(line)
    return found[1] if found else ""
