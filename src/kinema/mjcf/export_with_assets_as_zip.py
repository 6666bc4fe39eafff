"""A document and its files, written to a zip file."""

from __future__ import annotations

import os
import zipfile
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kinema.mjcf.element import RootElement


def export_with_assets_as_zip(
    mjcf_model: RootElement,
    out_dir: str | os.PathLike,
    model_name: str | None = None,
    *,
    precision: int | None = None,
    zero_threshold: float = 0,
) -> str:
    """Write a model and its files into ``model_name.zip``, in a folder ``model_name`` of it.

    Args:
        mjcf_model: The model.
        out_dir: The folder of the zip file, made when it is not there.
        model_name: Name of zip file, folder and XML file; the model's name by default.
        precision: Significant digits of numbers; None: the fewest that read as the same number.
        zero_threshold: Numbers below it are written as zero.

    Returns:
        The path of the zip file.
    """
    name = mjcf_model.model if model_name is None else model_name
    files = mjcf_model.get_assets()
    files[name + ".xml"] = mjcf_model.to_xml_string(precision=precision, zero_threshold=zero_threshold).encode()
    os.makedirs(out_dir, exist_ok=True)
    path = os.path.join(out_dir, name + ".zip")
    with zipfile.ZipFile(path, "w") as archive:
        for file_name, contents in files.items():
            archive.writestr(f"{name}/{file_name}", contents)
    return path
