"""A document and its files, written to a folder."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from kinema.errors import BadValue

if TYPE_CHECKING:
    from kinema.mjcf.element import RootElement


def export_with_assets(
    mjcf_model: RootElement,
    out_dir: str | os.PathLike,
    out_file_name: str | None = None,
    *,
    precision: int | None = None,
    zero_threshold: float = 0,
) -> None:
    """Write a model as XML, and its files beside it.

    Args:
        mjcf_model: The model.
        out_dir: The folder, made when it is not there.
        out_file_name: Name of the XML file, ending in ``.xml``; the model's name by default.
        precision: Significant digits of numbers; None: the fewest that read as the same number.
        zero_threshold: Numbers below it are written as zero.
    """
    if out_file_name is None:
        out_file_name = mjcf_model.model + ".xml"
    elif not out_file_name.lower().endswith(".xml"):
        raise BadValue(f"If `out_file_name` is specified it must end with '.xml': got {out_file_name}")
    os.makedirs(out_dir, exist_ok=True)
    files = mjcf_model.get_assets()
    files[out_file_name] = mjcf_model.to_xml_string(precision=precision, zero_threshold=zero_threshold).encode()
    for name, contents in files.items():
        with open(os.path.join(out_dir, name), "wb") as file:
            file.write(contents)
