"""From the C++ that Warp generates for a part of a recipe, the text of the same part for eight worlds at once.

    wp::float32 var_3;                     wp::lanes var_3;
    var_3 = wp::mul(var_1, var_2);         var_3 = wp::mul(var_1, var_2);
    if (var_4) {                           under a mask, if lanes may differ in var_4; else as it is
    wp::array_store(var_8, var_w, ...);    kn::store(on, kn::spread(var_8, var_w, ...), ...);

Stages take almost all their decisions by the model, which worlds share: bodies, kinds of joints, lists. So the world
`w` becomes eight neighbouring ones, every float a vector of theirs, and integers and conditions stay as they are unless
they follow from a number of a world (kinds.py). Arithmetic is the same, in the same order: a world gets the bits it
gets alone.

Where lanes may differ in the length of a loop or in an index, a function cannot be widened (Narrow): whoever calls it
calls the function of one world, lane by lane. So every part can be widened, and what does not pay stays what it was.
"""

from __future__ import annotations

from collections.abc import Collection

from kinema.convex.wide.kinds import BY_HAND, LANES, SAME, WORLD, Kinds, Made, Module
from kinema.convex.wide.source import (
    CALL,
    CONSTANT,
    ENTRY,
    KERNEL,
    STAGE,
    Function,
    Narrow,
    arguments,
    condition,
    functions_of,
    is_float,
    plain,
    set_apart,
)

WIDTH = 8
"""Worlds of a vector."""

BY_LANES = frozenset(
    "add sub mul div neg min max clamp abs sqrt dot cross length length_sq transpose diag extract cw_mul cw_div "
    "float".split()
)
"""Functions of Warp that lanes.cpp has for vectors, or that are templates of what it has; others go lane by lane."""

MASKED = "} }"  # what closes a block under a condition that varies


def wide_type(type_of: str) -> str:
    """The type of something that is one a lane; of a pointer, what it points to."""
    if is_float(type_of):
        return type_of.replace("wp::float32", "wp::lanes")
    if type_of.endswith("*") and (is_float(type_of[:-1]) or type_of == "wp::int32*"):
        return type_of[:-1]
    known = {"wp::int32": "kn::counts", "bool": "kn::flags"}
    if type_of not in known:
        raise Narrow(type_of)
    return known[type_of]


class Writer:
    """Writes a function for eight worlds."""

    def __init__(self, kinds: Kinds):
        self.known = kinds
        self.blocks: list[str] = []  # what closes the blocks that are open

    def write(self) -> Made:
        known, function = self.known, self.known.function
        params = [self._parameter(type_of, name) for type_of, name in function.params]
        name = f"{function.name}__" + "".join(known.kind[param][0] for _, param in function.params)
        result = function.result
        if result != "void" and known.returned == LANES:
            result = wide_type(result)
        generic, mask = ("template <class On> ", ["const On on"]) if known.effects else ("", [])
        lines = [f"{generic}static inline {result} {name}({', '.join(mask + params)})\n{{"]
        if not known.effects:
            lines.append("const kn::All on = {};")
        if known.parted:
            lines.append("kn::flags gone = false;" + (f" {result} answer;" if result != "void" else ""))
        taken = {param for _, param in function.params}
        lines += [self._declare(variable) for variable in known.type if variable not in taken]
        lines += [self._line(number, line) for number, line in enumerate(known.lines)]
        if known.parted and result != "void":
            lines.append("return answer;")
        calls = tuple(made for made in known.calls.values() if made is not None)
        text = "\n".join(lines) + "\n}\n"
        return Made(name, text, known.effects, known.returned, calls, frozenset(known.alone))

    def _type(self, name: str) -> str:
        return wide_type(plain(self.known.type[name]))

    def _parameter(self, type_of: str, name: str) -> str:
        kind = self.known.kind[name]
        if kind == WORLD:
            return f"const kn::World {name}"
        if kind == LANES:
            return f"{self._type(name)}{'&' if '&' in type_of else ''} {name}"
        return f"{type_of} {name}"

    def _declare(self, name: str) -> str:
        type_of, varies = self.known.type[name], self.known.varies(name)
        if name in self.known.value:
            value = self.known.value[name]
            if varies:
                return f"const {self._type(name)} {name} = {self._type(name)}((wp::float32){value});"
            return f"const {type_of} {name} = {value};"
        if not varies:
            return f"{type_of} {name};"
        if type_of.endswith("*"):
            return f"kn::{'Common' if name in self.known.of_model else 'Spread'}<{self._type(name)}> {name};"
        return f"{self._type(name)} {name};"

    # -------------------------------------------------------------------------------------- statements

    @property
    def _masked(self) -> bool:
        return MASKED in self.blocks

    @property
    def _staying(self) -> str:
        """Lanes that are here and have not returned."""
        return "(on & (~gone))" if self._masked else "(~gone)"

    def _line(self, number: int, line: str) -> str:
        said = condition(line)
        if said is not None:
            name = said.lstrip("!")
            if not self.known.varies(name):
                self.blocks.append("}")
                return line
            self.blocks.append(MASKED)
            held, holds = f"on_{number}", f"(~{name})" if said.startswith("!") else name
            return f"{{ const auto {held} = on & {holds}; if (kn::any({held})) {{ const auto on = {held}; (void)on;"
        if line == "}":
            return self.blocks.pop()
        if line.endswith(":;") or "goto " in line:
            return line
        if line.startswith("return"):
            return self._return(line)
        name, equals, said = line.rstrip(";").partition(" = ")
        if not equals:
            return self._effect(number, line.rstrip(";"))
        if name.startswith("ret_") and self.known.parted:
            return f"{name} = kn::choose({self._staying}, {said}, {name});"
        text = self._assign(number, name, said)
        if name in self.known.again and self.known.varies(name) and self._masked:
            kept = f"kept_{number}"
            return f"{{ const auto {kept} = {name}; {text} {name} = kn::choose(on, {name}, {kept}); }}"
        return text

    def _return(self, line: str) -> str:
        if not self.known.parted:
            return line
        value = line[6:].rstrip(";").strip()
        if not value:
            return "gone = gone | on;" if self._masked else "return;"
        text = f"answer = kn::choose({self._staying}, {value}, answer);"
        if self._masked:
            return f"{{ {text} gone = gone | on; if (kn::all(gone)) return answer; }}"
        return f"{{ {text} return answer; }}"

    def _lane(self, name: str) -> str:
        """A name as one world sees it."""
        kind = self.known.kind[name]
        if kind == WORLD:
            return f"{name}.first + k_"
        if kind == SAME:
            return name
        if self.known.type[name].endswith("*"):
            raise Narrow(name)
        return f"kn::lane({name}, k_)"

    def _called(self, number: int, name: str, names: list[str]) -> tuple[str, bool]:
        """A call of a function of the module, and whether it is one of all lanes."""
        if number not in self.known.calls:
            return f"{name}({', '.join(names)})", True
        made = self.known.calls[number]
        if made is not None:
            return f"{made.name}({', '.join((['on'] if made.effects else []) + names)})", True
        alone = f"{name}({', '.join(map(self._lane, names))})"
        function = self.known.callee(name, names)
        if function.native and function.base in BY_HAND:
            return f"kn::{BY_HAND[function.base]}(on, [&](int k_) {{ {alone}; }}, {', '.join(names)})", True
        return alone, False

    def _effect(self, number: int, line: str) -> str:
        call = CALL.match(line)
        if call is None:
            raise Narrow(line)
        names = arguments(call[3])
        if call[2] == "array_store":
            return f"kn::store(on, kn::spread({', '.join(names[:-1])}), {names[-1]});"
        masked = self._masked and self.known.varies(names[0])
        if call[2] == "assign":
            if masked:
                return f"{names[0]} = kn::choose(on, {self._type(names[0])}({names[1]}), {names[0]});"
            return f"{names[0]} = {names[1]};"
        if call[2] == "assign_inplace":
            if masked:
                place, new = ", ".join(names[:-1]), f"new_{number}"
                value = f"kn::choose(on, {names[-1]}, wp::extract({place}))"
                return f"{{ auto {new} = {value}; wp::assign_inplace({place}, {new}); }}"
            return line + ";"
        text, together = self._called(number, call[2], names)
        return f"{text};" if together else f"kn::each(on, [&](int k_) {{ {text}; }});"

    def _assign(self, number: int, name: str, said: str) -> str:
        call = CALL.match(said)
        if call is None or said.startswith("&"):
            return f"{name} = {self._expression(said) if self.known.varies(name) else said};"
        names = arguments(call[3])
        if not call[1] and call[2] in self.known.module.functions:
            text, together = self._called(number, call[2], names)
            if number not in self.known.calls and self.known.varies(name):
                text = f"kn::widen({text})"
            return f"{name} = {text};" if together else f"kn::each(on, {self._set(name, text)});"
        if call[2] == "address":
            if self.known.varies(name):
                return f"{name} = kn::{'common' if name in self.known.of_model else 'spread'}({', '.join(names)});"
            places = [f"{of}.first" if self.known.kind[of] == WORLD else of for of in names]
            return f"{name} = wp::address({', '.join(places)});"
        if not self.known.varies(name):
            return f"{name} = {said};"
        if call[2] == "load":
            return f"{name} = kn::load({names[0]});" if self.known.varies(names[0]) else f"{name} = kn::widen({said});"
        if call[2] == "where":
            a, b = (f"{self._type(name)}({of})" for of in names[1:])
            if self.known.varies(names[0]):
                return f"{name} = kn::choose({names[0]}, {a}, {b});"
            return f"{name} = {names[0]} ? {a} : {b};"
        if call[2].startswith(("vec_t<", "mat_t<")) and is_float("wp::" + call[2]):
            return f"{name} = {said.replace('wp::float32', 'wp::lanes')};"
        if call[2] in BY_LANES and all(is_float(plain(self.known.type[of])) for of in names if self.known.varies(of)):
            return f"{name} = {said};"
        if call[2] == "copy":
            return f"{name} = {names[0]};"
        if call[2] == "unot":
            return f"{name} = ~kn::flags({names[0]});"
        alone = f"{call[1] or ''}{call[2]}({', '.join(map(self._lane, names))})"
        return f"kn::each({'on' if call[2].startswith('atomic_') else 'kn::All()'}, {self._set(name, alone)});"

    @staticmethod
    def _set(name: str, text: str) -> str:
        return f"[&](int k_) {{ kn::set({name}, k_, {text}); }}"

    def _expression(self, said: str) -> str:
        """A comparison, or two conditions, of which lanes may differ in one."""
        for word, sign in (("&&", "&"), ("||", "|")):
            if f" {word} " in said:
                a, b = said.split(f" {word} ")
                return f"kn::flags({a}) {sign} kn::flags({b})"
        if said.startswith("(") and said.endswith(")"):
            a, sign, b = said[1:-1].split(" ")
            type_of = next(self._type(of) for of in (a, b) if self.known.varies(of))
            return f"{type_of}({a}) {sign} {type_of}({b})"
        return said


class Widened:
    """The functions of a module as they were widened."""

    def __init__(self, source: str, shared: Collection[str]):
        self.module = Module(functions_of(source), shared, self.make)
        self.made: dict[tuple[str, tuple[str, ...], tuple[str, ...]], Made | None] = {}

    def make(self, function: Function, kinds: tuple[str, ...]) -> Made | None:
        """A function for arguments of these kinds; None where its lanes cannot go together."""
        key = function.name, tuple(function.types), kinds
        if key in self.made:
            return self.made[key]
        self.made[key] = None  # a function that calls itself is left as it is
        try:
            made = Writer(Kinds(self.module, function, kinds)).write()
        except (Narrow, KeyError, ValueError):  # the latter two: text of a kind not met before
            return None
        self.made[key] = made
        return made


def needed(stages: Collection[Made]) -> list[Made]:
    """Functions that stages call, directly or through others, and the stages; those that others call first."""
    found: dict[int, Made] = {}

    def visit(made: Made) -> None:
        for called in made.calls:
            visit(called)
        found.setdefault(id(made), made)

    for made in stages:
        visit(made)
    return list(found.values())


def widen(source: str, header: str, shared: Collection[str] = ()) -> tuple[str, str, dict[str, bool]]:
    """The module of a part with a function more, for eight worlds.

    Where not all of the eight are to run a stage, since one rests or is frozen, those that are run it one by one.

    Args:
        source: What Warp generated for the part.
        header: lanes.cpp.
        shared: What worlds share, though [w, ...] indexes it (kinds.py).

    Returns:
        The text, the name of the new function, and of each stage whether it was widened.
    """
    entry, kernel = ENTRY.search(source), KERNEL.search(source)
    if entry is None or kernel is None:
        raise Narrow("no kernel")
    widened = Widened(source, shared)
    constants = dict(CONSTANT.findall(kernel[1]))
    calls, found, stages = [], {}, []
    for due, advances, once, stage, lane in STAGE.findall(kernel[1]):
        made = widened.make(widened.module.functions[stage][0], (SAME, SAME, WORLD) + ((SAME,) if lane else ()))
        found[stage] = made is not None
        more = f", {constants[lane]}" if lane else ""
        asked = f"advancing, {constants[advances]}, {constants[once]}"
        alone = f"for (int k = 0; k < kn::WIDTH; ++k) if ({due}(status[k], substep[k], {asked})) {stage}"
        alone += f"(m, d, w.first + k{more});"
        if made is not None:
            stages.append(made)
            mask = "kn::All(), " if made.effects else ""
            together = f"{made.name}({mask}m, d, w{more});"
            calls.append(f"if ({due}(kn::whole(status), kn::whole(substep), {asked})) {together}")
            calls.append(f"else {alone}")
        else:
            calls.append(alone)
    name = f"{entry[1]}_cpu_wide"
    functions = needed(stages)
    text = f"""
{chr(10).join(made.text for made in functions)}
extern "C" WP_API void {name}(wp::launch_bounds_t<1>*, wp_args_{entry[1]}* args)
{{
auto& m = args->m;
auto& d = args->d;
const kn::World w = {{args->w}};
const int advancing = args->advancing;
const int* status = d.state.status.data + w.first;
const int* substep = d.scratch.substep.data + w.first;
{chr(10).join(calls)}
}}
"""
    source = set_apart(source, frozenset().union(*(made.alone for made in functions)))
    at = source.index("#define builtin_tid1d()")
    return source[:at] + header + source[at:] + text, name, found
