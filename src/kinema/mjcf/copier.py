"""Copying one model into another, with everything attached to it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kinema.errors import BadValue
from kinema.mjcf import attachment, debugging

if TYPE_CHECKING:
    from kinema.mjcf.element import RootElement
    from kinema.mjcf.tree import ElementImpl


class Copier:
    """Copies the content of an element into another of the same kind; the source stays as it is."""

    def __init__(self, source: Any):
        self._source = source
        self._pairs: dict[Any, Any] = {}
        self._new: list[Any] = []

    def copy_into(self, destination: Any, override_attributes: bool = False) -> dict[Any, Any]:
        """Copy, and point references between copied elements at the copies.

        Args:
            destination: Where the content goes; what is there stays.
            override_attributes: Whether the source's values win, and elements of equal name are changed, not added.

        Returns:
            The copy of each element that was copied.
        """
        if destination.spec is not self._source.spec:
            raise BadValue("The attachment must have the same spec as this element.")
        with debugging.freeze_current_stack_trace():
            self._copy_tree(destination, override_attributes)
            if destination.parent is None:
                self._copy_attached_models(destination)
        self._redirect_references()
        destination.namescope.structure_changed()
        return self._pairs

    def _copy_tree(self, destination: Any, override_attributes: bool) -> None:
        todo: list[tuple[Any, Any, bool]] = [(self._source, destination, override_attributes)]
        while todo:
            source, target, override = todo.pop()
            self._pairs[source] = target
            if target.parent is not None:
                _copy_attributes(source, target, override)
            found = []
            for child in source._own_children():
                if isinstance(child, attachment.AttachmentFrame):
                    continue
                twin = _existing(child, target, override)
                if twin is None:
                    twin = target._insert(child.tag, None, child.get_attributes(), child._source)
                    self._new.append(twin)
                    found.append((child, twin, True))
                else:
                    found.append((child, twin, override))
            todo.extend(reversed(found))

    def _copy_attached_models(self, destination: RootElement) -> None:
        for model in self._source.attached_models():
            frame = self._source.namescope.get("attachment_frame", model.model)
            inner = Copier(model)
            twin = type(model)(model.model, model.namescope.model_dir, model.namescope.assets)
            self._pairs.update(inner.copy_into(twin))
            self._new += inner._new
            parent = self._pairs[frame.parent]
            pose = frame.get_attributes()
            twin_frame = attachment.attach_in(parent, self._index_for(frame, parent), twin, pose)
            self._pairs[frame] = twin_frame
            for child in frame._list:
                self._pairs[child] = twin_frame._insert(child.tag, None, child.get_attributes(), child._source)
                self._new.append(self._pairs[child])

    def _index_for(self, frame: ElementImpl, parent: ElementImpl) -> int:
        """Right after the copy of the nearest sibling before the frame that has one."""
        index = 0
        for sibling in frame.parent._list:
            if sibling is frame:
                break
            twin = self._pairs.get(sibling)
            if twin is not None:
                index = next(number for number, child in enumerate(parent._list) if child is twin) + 1
        return index

    def _redirect_references(self) -> None:
        for element in {id(twin): twin for twin in self._pairs.values()}.values():
            attributes = element._attributes
            for name in element._spec.references:
                twin = self._pairs.get(attributes.get(name)) if name in attributes else None
                if twin is not None:
                    attributes[name] = twin


def _copy_attributes(source: Any, target: Any, override: bool) -> None:
    if override:
        target.set_attributes(**source.get_attributes())
    else:
        attachment.merge_attributes(target, source, copying=True)


def _existing(child: Any, target: Any, override: bool) -> Any:
    """The element of the destination that a child is copied onto, or None when it is to be added."""
    spec = child.spec
    if spec.identifier and override:
        identifier = child._get(spec.identifier)
        found = target.find(spec.namespace, identifier) if identifier else None
        if found is not None and found.parent is not target:
            raise BadValue(f"<{spec.namespace}> with identifier {identifier!r} is already a child of another element")
        if found is not None:
            return found
    return None if spec.repeated else target.get_children(child.tag)
