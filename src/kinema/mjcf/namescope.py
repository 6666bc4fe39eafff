"""Names of one model: unique within each namespace, prefixed by the scopes above when models are attached.

Every model has one NameScope. Attaching a model makes its scope a child of the other's, and every identifier `x` of
scope `arm` inside scope `robot` is written `robot/arm/x` in the outermost document. A scope also remembers a revision
that grows with every change in it or above it, so that what depends on names can be cached.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from typing import TYPE_CHECKING, Any

from kinema.errors import BadValue
from kinema.mjcf.constants import PREFIX_SEPARATOR

if TYPE_CHECKING:
    from kinema.mjcf.attribute import FileAttribute
    from kinema.mjcf.element import RootElement

_clock = itertools.count(1)


class NameScope:
    """The identifiers of one model, by namespace.

    Args:
        name: The scope's name, which is the model's.
        mjcf_model: The root element of the model.
        model_dir: Folder the model's files are relative to.
        assets: Files given as bytes, looked up before the file system.
    """

    def __init__(self, name: str, mjcf_model: RootElement, model_dir: str = "", assets: dict | None = None):
        self._name = name
        self._mjcf_model = mjcf_model
        self._model_dir = model_dir
        self._assets = assets or {}
        self._parent: NameScope | None = None
        self._namespaces: defaultdict[str, dict[str, Any]] = defaultdict(dict)
        self._revision = next(_clock)
        self._structure = 0
        self._unnamed: dict[str, dict[int, int]] = {}
        self._unnamed_structure = -1

    # ------------------------------------------------------------ what it is

    @property
    def name(self) -> str:
        return self._name

    @name.setter
    def name(self, new_name: str) -> None:
        if self._parent is not None and new_name != self._name:
            self._parent.add("namescope", new_name, self)
            self._parent.remove("namescope", self._name)
        self._name = new_name
        self.increment_revision()

    @property
    def parent(self) -> NameScope | None:
        """The scope this one is attached under, or None."""
        return self._parent

    @parent.setter
    def parent(self, new_parent: NameScope | None) -> None:
        if self._parent is not None:
            self._parent.remove("namescope", self._name)
        self._parent = new_parent
        if new_parent is not None:
            new_parent.add("namescope", self._name, self)
        self.increment_revision()

    @property
    def root(self) -> NameScope:
        """The outermost scope."""
        scope = self
        while scope._parent is not None:
            scope = scope._parent
        return scope

    @property
    def mjcf_model(self) -> RootElement:
        return self._mjcf_model

    @property
    def model_dir(self) -> str:
        return self._model_dir

    @property
    def assets(self) -> dict:
        return self._assets

    @property
    def files(self) -> set[FileAttribute]:
        """The file attributes set in this scope."""
        return set(self._mjcf_model.file_attributes())

    # ------------------------------------------------------------ change

    @property
    def revision(self) -> int:
        """A number that grows whenever this scope or one above it changes."""
        revision, scope = self._revision, self._parent
        while scope is not None:
            revision, scope = max(revision, scope._revision), scope._parent
        return revision

    def increment_revision(self) -> None:
        self._revision = next(_clock)

    def structure_changed(self) -> None:
        """Elements came or went, so the numbers of unnamed elements are stale."""
        self._structure += 1
        self._revision = next(_clock)

    def unnamed_index(self, namespace: str, element: Any) -> int:
        """The position of an element among all of its namespace in this model, counted once for each structure."""
        if self._unnamed_structure != self._structure:
            self._unnamed = {}
            self._unnamed_structure = self._structure
        numbers = self._unnamed.get(namespace)
        if numbers is None:
            siblings = self._mjcf_model.find_all(namespace, exclude_attachments=True)
            numbers = self._unnamed[namespace] = {id(sibling): number for number, sibling in enumerate(siblings)}
        return numbers[id(element)]

    # ------------------------------------------------------------ names

    def full_prefix(self, prefix_root: NameScope | None = None, as_list: bool = False) -> Any:
        """What identifiers of this scope begin with when written in the document of `prefix_root`."""
        names: list[str] = []
        scope = self
        while prefix_root is not None and scope is not prefix_root and scope._parent is not None:
            names.append(scope._name)
            scope = scope._parent
        names.reverse()
        if as_list:
            return names
        return "".join(name + PREFIX_SEPARATOR for name in names)

    def _assign(self, namespace: str, identifier: str, obj: Any) -> None:
        if not isinstance(identifier, str):
            raise BadValue(f"Identifier must be a string: got {type(identifier)}")
        if PREFIX_SEPARATOR in identifier:
            raise BadValue(f"Identifier cannot contain {PREFIX_SEPARATOR!r}: got {identifier}")
        self._namespaces[namespace][identifier] = obj
        self.increment_revision()

    def add(self, namespace: str, identifier: str, obj: Any) -> None:
        """Register a new identifier; ValueError when it is taken or not valid."""
        if identifier in self._namespaces[namespace]:
            shown = namespace.partition("@")[0]
            raise BadValue(f"Duplicated identifier {identifier!r} in namespace <{shown}>")
        self._assign(namespace, identifier, obj)

    def replace(self, namespace: str, identifier: str, obj: Any) -> None:
        """Register an identifier whether or not it is taken."""
        self._assign(namespace, identifier, obj)

    def remove(self, namespace: str, identifier: str) -> None:
        """Forget an identifier; KeyError when it is not there."""
        del self._namespaces[namespace][identifier]
        self.increment_revision()

    def rename(self, namespace: str, old_identifier: str, new_identifier: str) -> None:
        if old_identifier != new_identifier:
            self.add(namespace, new_identifier, self.get(namespace, old_identifier))
            self.remove(namespace, old_identifier)

    def get(self, namespace: str, identifier: str) -> Any:
        """The object an identifier stands for; KeyError when it is not there."""
        return self._namespaces[namespace][identifier]

    def has_identifier(self, namespace: str, identifier: str) -> bool:
        return identifier in self._namespaces[namespace]

    def identifiers(self, namespace: str) -> list[str]:
        """All identifiers of a namespace, in the order they were registered."""
        return list(self._namespaces[namespace])
