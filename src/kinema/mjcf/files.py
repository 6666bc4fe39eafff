"""Files that documents name, by path or by URI.

Names go to `kinema.resources`, so a document, what it includes and its meshes may come from anywhere with a provider.
A relative name is inside the folder of the resource that holds it, a URI or an absolute path stands for itself.
"""

from __future__ import annotations

import os

from kinema import resources
from kinema.errors import MissingFile, ResourceError
from kinema.resources import Resource


def is_uri(name: str) -> bool:
    """Whether a provider serves a name by its scheme."""
    return ":" in name and resources.find_provider(name) is not None


def stands_alone(name: str) -> bool:
    """Whether a name means the same wherever it is written."""
    return os.path.isabs(name) or is_uri(name)


def folder_of(name: str) -> str:
    """The folder of a resource."""
    return resources.getdir(name) if is_uri(name) else os.path.dirname(name)


def join(folder: str, name: str) -> str:
    """A name inside a folder."""
    if not folder or stands_alone(name):
        return name
    if not is_uri(folder):
        return os.path.normpath(os.path.join(folder, name))
    inside = folder if folder.endswith(("/", ":")) else folder + "/"
    return inside + name


def read(*names: str) -> Resource:
    """The first of these names that can be read; MissingFile with the reason for the first when none can."""
    problem: ResourceError | None = None
    for name in names:
        try:
            return resources.read(name)
        except (ResourceError, ValueError) as error:  # ValueError: a null byte, which no file name has
            problem = problem or (error if isinstance(error, ResourceError) else ResourceError(str(error)))
    raise MissingFile(str(problem) if problem else "no file is named")
