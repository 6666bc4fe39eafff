"""Debug mode: which line of Python made or changed an element.

In debug mode every element remembers the stack at its creation and every attribute the stack at its last change. When a
compiler refuses the written document, the line it names is traced back to the Python code behind it. Debug mode is slow
and off by default; `--pymjcf_debug` and `--pymjcf_debug_full_dump_dir` set it for programs that use absl flags.
"""

from __future__ import annotations

import contextlib
import logging
import os
import re
import sys
import traceback
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from lxml import etree

MODULE_PATH = os.path.dirname(os.path.abspath(__file__))
DEBUG_METADATA_PREFIX = "pymjcfdebug"
LOGGED_LINES = 100  # of a document in one message
_COMMENT_START = "<!--" + DEBUG_METADATA_PREFIX
_COMMENT = re.compile(rf"<!--{DEBUG_METADATA_PREFIX}:(\d+)-->")
_LINE_NUMBER = re.compile(r"line\s*[:=]?\s*(\d+)", re.IGNORECASE)

_FLAGS = {
    "pymjcf_debug": (False, "Remember the Python line behind every element and attribute (slow)."),
    "pymjcf_debug_full_dump_dir": ("", "Folder for the full debug dump when MuJoCo refuses a model."),
    "pymjcf_log_xml": (False, "Log the generated XML of every model that is compiled."),
}


def _define_flags() -> Any:
    """The absl flags, defined unless another package of the same interface has defined them; None without absl."""
    try:
        from absl import flags
    except ImportError:
        return None
    for name, (default, text) in _FLAGS.items():
        if name not in flags.FLAGS:
            if isinstance(default, bool):
                flags.DEFINE_boolean(name, default, text, allow_override=True)
            else:
                flags.DEFINE_string(name, str(default), text, allow_override=True)
    return flags.FLAGS


_flags = _define_flags()
_enabled: bool | None = None
_dump_dir: str | None = None
_frozen: list[StackTraceEntry] | None = None


class StackTraceEntry(NamedTuple):
    filename: str
    line_number: int
    function_name: str
    text: str


class ElementDebugInfo(NamedTuple):
    element: Any
    init_stack: list[StackTraceEntry]
    attribute_stacks: dict[str, list[StackTraceEntry]]


def _flag(name: str) -> Any:
    if _flags is None:
        return _FLAGS[name][0]
    return _flags[name].value if _flags.is_parsed() else _flags[name].default


def debug_mode() -> bool:
    """Whether debug mode is on."""
    global _enabled
    if _enabled is None:
        _enabled = bool(_flag("pymjcf_debug"))
    return _enabled


def enable_debug_mode() -> None:
    global _enabled
    _enabled = True


def disable_debug_mode() -> None:
    global _enabled
    _enabled = False


def get_full_dump_dir() -> str:
    """Where full debug dumps go, or an empty string."""
    global _dump_dir
    if _dump_dir is None:
        _dump_dir = _flag("pymjcf_debug_full_dump_dir")
    return _dump_dir or ""


def set_full_dump_dir(dump_path: str) -> None:
    global _dump_dir
    _dump_dir = dump_path


def log_xml(xml_string: str, context: DebugContext) -> None:
    """Log a document that is about to be compiled, if `--pymjcf_log_xml` is set, and dump what is known about it."""
    if not _flag("pymjcf_log_xml"):
        return
    if context.debug_mode and context.default_dump_dir:
        context.dump_full_debug_info_to_disk()
    lines = xml_string.split("\n")
    for start in range(0, len(lines), LOGGED_LINES):
        part = lines[start : start + LOGGED_LINES]
        numbers = f"{start + 1}-{start + len(part)} of {len(lines)}"
        logging.getLogger(__name__).info("XML lines %s:\n%s", numbers, "\n".join(part))


def get_current_stack_trace() -> list[StackTraceEntry]:
    """The stack down to the call into this package."""
    return list(_frozen) if _frozen else _stack()


def _stack() -> list[StackTraceEntry]:
    stack = []
    for frame in traceback.extract_stack():
        if frame.filename.startswith(MODULE_PATH + os.sep):
            break
        stack.append(StackTraceEntry(frame.filename, frame.lineno or 0, frame.name, frame.line or ""))
    return stack


@contextlib.contextmanager
def freeze_current_stack_trace() -> Iterator[None]:
    """Within this, every stack is the one of the outermost entry: bulk work takes it once."""
    global _frozen
    if _frozen is not None or not debug_mode():
        yield
        return
    _frozen = _stack()
    try:
        yield
    finally:
        _frozen = None


class DebugContext:
    """The written document of one compilation, and what is known about each of its elements."""

    def __init__(self) -> None:
        self._xml_string = ""
        self._elements: dict[int, ElementDebugInfo] = {}

    def register_element_for_debugging(self, element: Any) -> etree._Comment | None:
        """Remember an element and give the comment that marks its line in the document."""
        if not debug_mode():
            return None
        stacks = element.get_last_modified_stacks_for_all_attributes()
        self._elements[id(element)] = ElementDebugInfo(element, element.get_init_stack() or [], stacks)
        from lxml import etree

        return etree.Comment(f"{DEBUG_METADATA_PREFIX}:{id(element)}")

    def commit_xml_string(self, xml_string: str) -> str:
        """Keep the document, with each mark moved to the line of its element."""
        self._xml_string = re.sub(r"\n\s*" + _COMMENT_START, _COMMENT_START, xml_string)
        return self._xml_string

    @property
    def default_dump_dir(self) -> str:
        return get_full_dump_dir()

    @property
    def debug_mode(self) -> bool:
        return debug_mode()

    def process_and_raise_last_exception(self) -> None:
        """Raise the exception being handled again, with the line of the document and what made it."""
        _, error, trace = sys.exc_info()
        if error is None:
            raise RuntimeError("no exception is being handled")
        line = self._line_of(str(error))
        if debug_mode():
            if get_full_dump_dir():
                self.dump_full_debug_info_to_disk()
            message = ["Compile error raised by Mujoco.", str(error)]
        else:
            hint = "run again with --pymjcf_debug for additional debug information."
            message = [f"Compile error raised by Mujoco; {hint}", str(error)]
        if line:
            message.append(line.partition(_COMMENT_START)[0].strip())
            marked = _COMMENT.search(line)
            if debug_mode() and marked:
                message.append(self._describe(self._elements[int(marked[1])]))
        raise type(error)("\n".join(message)).with_traceback(trace)

    def _line_of(self, error: str) -> str:
        found = _LINE_NUMBER.search(error)
        lines = self._xml_string.split("\n")
        number = int(found[1]) if found else 0
        return lines[number - 1] if 0 < number <= len(lines) else ""

    def _describe(self, info: ElementDebugInfo) -> str:
        lines = ["Debug summary for element:"]
        if not get_full_dump_dir():
            how = "by setting the flag --pymjcf_debug_full_dump_dir=path/to/dump"
            lines.append(f"  * Full debug info can be dumped to disk {how}")
        made = info.init_stack[-1]
        lines.append(f"  * Element object was created by `{made.function_name}` at {made.filename}:{made.line_number}")
        for name, value, stack in self._changes(info):
            if stack is None:
                lines.append(f'  * {name}="{value}" was set when the element was created')
            else:
                verb = f'{name}="{value}" was set' if value is not None else f"{name} was CLEARED"
                last = stack[-1]
                lines.append(f"  * {verb} by `{last.function_name}` at {last.filename}:{last.line_number}")
        return "\n".join(lines)

    def _changes(self, info: ElementDebugInfo) -> Iterator[tuple[str, str | None, list[StackTraceEntry] | None]]:
        """Attributes that were set or changed: (name, text, stack of the change or None if set at creation)."""
        for name, stack in info.attribute_stacks.items():
            value = info.element.get_attribute_xml_string(name)
            if stack and stack[-1] != info.init_stack[-1]:
                yield name, value, stack
            elif value is not None:
                yield name, value, None

    def dump_full_debug_info_to_disk(self, dump_dir: str | None = None) -> None:
        """Write model.xml with marked lines, and one .dump file with the stacks of each element."""
        folder = dump_dir or self.default_dump_dir
        if not folder:
            raise ValueError("`dump_dir` is not specified")
        with open(os.path.join(folder, "model.xml"), "w", encoding="utf-8") as file:
            file.write(self._xml_string)
        for number, info in self._elements.items():
            sections = [f"{DEBUG_METADATA_PREFIX}:{number}\n{info.element}"]
            sections.append(_format_stack("Element creation", info.init_stack))
            for name, value, stack in self._changes(info):
                if stack is None:
                    sections.append(f'Attribute {name}="{value}"\n    was set when the element was created')
                else:
                    title = f'Attribute {name}="{value}"' if value is not None else f"Attribute {name} was CLEARED"
                    sections.append(_format_stack(title, stack))
            with open(os.path.join(folder, f"{number}.dump"), "w", encoding="utf-8") as file:
                file.write(f"\n{'=' * 80}\n".join(sections) + "\n")


def _format_stack(title: str, stack: list[StackTraceEntry]) -> str:
    lines = [title]
    for entry in stack:
        lines.append(f"    `{entry.function_name}` at {entry.filename}:{entry.line_number}")
        lines.append(f"        {entry.text}")
    return "\n".join(lines)
