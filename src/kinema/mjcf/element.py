"""The root of a document, and the elements that are more than their place in the schema."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

from kinema.mjcf import attachment, copier, schema
from kinema.mjcf.asset import ModelAsset
from kinema.mjcf.attachment import AttachableElement, AttachmentFrame, AttachmentFrameChild
from kinema.mjcf.attribute import FileAttribute
from kinema.mjcf.base import Element
from kinema.mjcf.constants import MAIN_CLASS, PREFIX_SEPARATOR
from kinema.mjcf.element_list import ElementList
from kinema.mjcf.holder import put
from kinema.mjcf.namescope import NameScope
from kinema.mjcf.tree import SPECIAL_CLASSES, ElementImpl

__all__ = ["AttachmentFrame", "Element", "ElementList", "RootElement"]


class DefaultElement(ElementImpl):
    """A <default>. The one at the top is written as class ``/``, so that it never reaches other models."""

    __slots__ = ()

    def _present_children(self) -> list[Any]:
        return self._own_children()

    def prefixed_identifier(self, prefix_root: NameScope | None) -> str:
        name = self._attributes.get("class") or ""
        if name == MAIN_CLASS and self._parent is self._root:
            name = ""
        return self.namescope.full_prefix(prefix_root) + name or PREFIX_SEPARATOR


class RootElement(ElementImpl):
    """The <mujoco> element, which is a whole model.

    Args:
        model: The model's name; it prefixes all names when the model is attached to another.
        model_dir: Folder that files are relative to.
        assets: Files given as bytes, by name, looked up before the file system.
    """

    __slots__ = ("_files", "_namescope")

    is_root = True

    def __init__(self, model: str | None = None, model_dir: str = "", assets: dict[str, bytes] | None = None):
        name = model or "unnamed_model"
        put(self, "_namescope", NameScope(name, self, model_dir=model_dir, assets=assets))
        put(self, "_files", {})
        super().__init__(schema.MUJOCO, None, {"model": name})
        self._single("default")  # every document says what its global class is

    @property
    def root(self) -> RootElement:
        return self

    @property
    def model(self) -> str:
        """The model's name."""
        return self._namescope.name

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "model":
            self._rename(value)
        else:
            super().__setattr__(name, value)

    def _rename(self, new_name: str) -> None:
        old_name = self._namescope.name
        self._set("model", new_name)
        try:
            self._namescope.name = new_name
        except ValueError:
            self._set("model", old_name)
            raise
        if self.parent_model is not None:
            self.parent_model.namescope.rename("attachment_frame", old_name, new_name)
            self.parent_model.namescope.rename("attached_model", old_name, new_name)

    @property
    def full_identifier(self) -> str:
        return self._namescope.full_prefix(self._namescope.root)

    @property
    def has_main_class(self) -> bool:
        """Whether the class ``main`` is the global default, as in MuJoCo."""
        return self.default._attributes.get("class") in (None, MAIN_CLASS)

    # ------------------------------------------------------------ composing

    def attach(self, other: RootElement) -> AttachmentFrame:
        """Attach another model to the worldbody; see `attachment.AttachableElement.attach`."""
        return attachment.attach(self.worldbody, other)

    def detach(self) -> None:
        """Take this model off the one it is attached to; RuntimeError when it is not attached."""
        attachment.detach(self)

    @property
    def parent_model(self) -> RootElement | None:
        """The model this one is attached to."""
        scope = self._namescope.parent
        return scope.mjcf_model if scope is not None else None

    @property
    def root_model(self) -> RootElement:
        """The outermost model."""
        return self._namescope.root.mjcf_model

    def attached_models(self) -> list[RootElement]:
        """The models attached directly to this one, in order."""
        return list((self._attachments or {}).values())

    def include_copy(self, other: RootElement, override_attributes: bool = False) -> None:
        """Copy all of another model into this one.

        Args:
            other: The model to copy from; it stays as it is.
            override_attributes: Whether its values win over values here, and named elements here take its attributes.
        """
        copier.Copier(other).copy_into(self, override_attributes)

    def __copy__(self) -> RootElement:
        twin = RootElement(model=self.model, model_dir=self._namescope.model_dir, assets=self._namescope.assets)
        copier.Copier(self).copy_into(twin)
        return twin

    def __deepcopy__(self, memo: dict[int, Any]) -> RootElement:
        return copy.copy(self)

    # ------------------------------------------------------------ files

    def file_attributes(self) -> Iterator[FileAttribute]:
        """The file attributes set in this model, without attached ones."""
        return (FileAttribute(element, name) for element, name in self._files.values())

    def get_assets(self) -> dict[str, bytes]:
        """The bytes of all files of this model and those attached to it, by their names in the written document."""
        assets: dict[str, bytes] = {}
        for file in self.file_attributes():
            contents = file.get_contents()
            assets[file.to_xml_string()] = contents.encode() if isinstance(contents, str) else contents
            if isinstance(file.value, ModelAsset):
                assets.update(file.value.get_assets())
        for model in self.attached_models():
            assets.update(model.get_assets())
        return assets


SPECIAL_CLASSES += [
    (lambda spec, parent: spec.name == "default", DefaultElement),
    (lambda spec, parent: spec.name == "worldbody", AttachableElement),
    (
        lambda spec, parent: spec.name == "site" and parent.tag in ("body", "worldbody", "frame"),
        AttachableElement,
    ),
    (lambda spec, parent: isinstance(parent, AttachmentFrame), AttachmentFrameChild),
]
