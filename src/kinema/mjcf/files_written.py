"""A document and its files under names that people can read: what a folder or an archive is to hold.

Inside a document files go by names with the hash of their content, so that no two can meet. On disk `link0.stl` says
more than `link0-5f1c….stl`: the hash is left out wherever two files do not share a name without it.
"""

from __future__ import annotations

import os
from collections import Counter
from typing import TYPE_CHECKING

from kinema.mjcf.asset import ModelAsset
from kinema.mjcf.write import serialise, to_source

if TYPE_CHECKING:
    from kinema.mjcf.element import RootElement


def files_written(document: RootElement, xml: str, folder: str = "") -> dict[str, bytes]:
    """Bytes by path: the document as `xml`, and its files in a folder beside it ("": right beside it).

    Documents that name other documents (<model file=…>) keep the files' hashed names, all in one place.
    """
    names = {hashed: hashed for hashed in document.get_assets()}
    if not _has_models(document):
        names = {hashed: os.path.join(folder, plain).replace(os.sep, "/") for hashed, plain in _plain(document).items()}
    tree = to_source(document)
    for node in tree.walk():
        for attribute, value in node.attributes.items():
            if value in names:
                node.attributes[attribute] = names[value]
    files = {xml: serialise(tree).encode()}
    return files | {names[hashed]: contents for hashed, contents in document.get_assets().items()}


def _scopes(document: RootElement) -> list[RootElement]:
    return [document, *(inner for model in document.attached_models() for inner in _scopes(model))]


def _has_models(document: RootElement) -> bool:
    return any(isinstance(file.value, ModelAsset) for model in _scopes(document) for file in model.file_attributes())


def _plain(document: RootElement) -> dict[str, str]:
    """Names without hashes by those with, where no two files share one; case does not tell files apart everywhere."""
    found = {
        file.to_xml_string(): file.to_xml_string(filename_with_hash=False)
        for model in _scopes(document) for file in model.file_attributes()
    }  # fmt: skip
    count = Counter(plain.lower() for plain in found.values())
    return {hashed: plain if count[plain.lower()] == 1 else hashed for hashed, plain in found.items()}
