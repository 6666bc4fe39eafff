"""The model layer: the field table, custom attributes, builder, model, state, control and contacts.

Names are imported on first use, so that the tables beside them can be read without Warp.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .articulation import eval_fk as eval_fk
    from .articulation import eval_ik as eval_ik
    from .attributes import CustomAttribute as CustomAttribute
    from .attributes import parse_custom_attributes as parse_custom_attributes
    from .builder import ModelBuilder as ModelBuilder
    from .classes import WorldClass as WorldClass
    from .color import ColoringAlgorithm as ColoringAlgorithm
    from .contacts import Contacts as Contacts
    from .control import Control as Control
    from .enums import MAXVAL as MAXVAL
    from .enums import Axis as Axis
    from .enums import AxisType as AxisType
    from .enums import BodyFlags as BodyFlags
    from .enums import EqType as EqType
    from .enums import GeoType as GeoType
    from .enums import JointTargetMode as JointTargetMode
    from .enums import JointType as JointType
    from .enums import ModelFlags as ModelFlags
    from .enums import ParticleFlags as ParticleFlags
    from .enums import ShapeFlags as ShapeFlags
    from .fields import FIELDS as FIELDS
    from .fields import Field as Field
    from .frequency import AttributeAssignment as AttributeAssignment
    from .frequency import AttributeFrequency as AttributeFrequency
    from .frequency import CustomFrequency as CustomFrequency
    from .jacobian import eval_jacobian as eval_jacobian
    from .jacobian import eval_mass_matrix as eval_mass_matrix
    from .joints import JointDofConfig as JointDofConfig
    from .model import Model as Model
    from .pipeline import CollisionPipeline as CollisionPipeline
    from .rod import Rod as Rod
    from .shapes import ShapeConfig as ShapeConfig
    from .sources import Heightfield as Heightfield
    from .sources import Mesh as Mesh
    from .sources import TetMesh as TetMesh
    from .state import State as State

    ModelAttributeAssignment = AttributeAssignment
    ModelAttributeFrequency = AttributeFrequency

_NAMES = {
    "articulation": ("eval_fk", "eval_ik"),
    "attributes": ("CustomAttribute", "parse_custom_attributes"),
    "builder": ("ModelBuilder",),
    "classes": ("WorldClass",),
    "color": ("ColoringAlgorithm",),
    "contacts": ("Contacts",),
    "control": ("Control",),
    "enums": (
        "MAXVAL", "Axis", "AxisType", "BodyFlags", "EqType", "GeoType", "JointTargetMode", "JointType", "ModelFlags",
        "ParticleFlags", "ShapeFlags",
    ),
    "fields": ("FIELDS", "Field"),
    "frequency": ("AttributeAssignment", "AttributeFrequency", "CustomFrequency"),
    "jacobian": ("eval_jacobian", "eval_mass_matrix"),
    "joints": ("JointDofConfig",),
    "model": ("Model",),
    "pipeline": ("CollisionPipeline",),
    "rod": ("Rod",),
    "shapes": ("ShapeConfig",),
    "sources": ("Heightfield", "Mesh", "TetMesh"),
    "state": ("State",),
}  # fmt: skip
_WHERE = {name: (module, name) for module, names in _NAMES.items() for name in names} | {
    # the older spellings of these two
    "ModelAttributeAssignment": ("frequency", "AttributeAssignment"),
    "ModelAttributeFrequency": ("frequency", "AttributeFrequency"),
}

__all__ = sorted(_WHERE)


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module, original = _WHERE[name]
    value = globals()[name] = getattr(import_module(f"{__name__}.{module}"), original)
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *_WHERE])
