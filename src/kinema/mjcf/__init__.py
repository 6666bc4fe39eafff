"""MJCF documents: read, compose, edit and write them.

    from kinema import mjcf

    arena = mjcf.RootElement(model="arena")
    arena.worldbody.add("geom", type="plane", size=[5, 5, 0.1])
    robot = mjcf.from_path("robot.xml")
    arena.attach(robot).add("freejoint")
    print(arena.to_xml_string())

Names, arguments, exceptions and meaning are those of dm_control's PyMJCF; the vocabulary is MuJoCo 4.0's.
"""

from typing import TYPE_CHECKING, Any

from kinema.mjcf import (
    attribute,
    base,
    constants,
    copier,
    debugging,
    element,
    namescope,
    parser,
    physics,
    schema,
    skin,
    traversal_utils,
)
from kinema.mjcf.attribute import Asset
from kinema.mjcf.base import Element
from kinema.mjcf.constants import PREFIX_SEPARATOR
from kinema.mjcf.element import RootElement
from kinema.mjcf.export_with_assets import export_with_assets
from kinema.mjcf.export_with_assets_as_zip import export_with_assets_as_zip
from kinema.mjcf.parser import from_file, from_path, from_xml_string, from_zip
from kinema.mjcf.traversal_utils import (
    commit_defaults,
    get_attachment_frame,
    get_frame_freejoint,
    get_frame_joints,
    get_freejoint,
)
from kinema.mjcf.write import to_source

if TYPE_CHECKING:
    from kinema.compile import from_urdf
    from kinema.physics import Physics

__all__ = [
    "PREFIX_SEPARATOR",
    "Asset",
    "Element",
    "Physics",
    "RootElement",
    "attribute",
    "base",
    "commit_defaults",
    "constants",
    "copier",
    "debugging",
    "element",
    "export_with_assets",
    "export_with_assets_as_zip",
    "from_file",
    "from_path",
    "from_urdf",
    "from_xml_string",
    "from_zip",
    "get_attachment_frame",
    "get_frame_freejoint",
    "get_frame_joints",
    "get_freejoint",
    "namescope",
    "parser",
    "physics",
    "schema",
    "skin",
    "to_source",
    "traversal_utils",
]


def __getattr__(name: str) -> Any:
    if name == "Physics":  # the engine is loaded when a document is to run
        return physics.Physics
    if name == "from_urdf":  # the converter knows MuJoCo's rules for URDF, which are the compiler's
        from kinema.compile import from_urdf

        return from_urdf
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
