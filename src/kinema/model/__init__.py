"""The model layer: the field table, custom attributes, builder, model, state, control and contacts."""

from .attributes import CustomAttribute, parse_custom_attributes
from .builder import ModelBuilder
from .classes import WorldClass
from .contacts import Contacts
from .control import Control
from .enums import (
    MAXVAL,
    Axis,
    BodyFlags,
    EqType,
    GeoType,
    JointTargetMode,
    JointType,
    ModelFlags,
    ParticleFlags,
    ShapeFlags,
)
from .fields import FIELDS, Field
from .frequency import AttributeAssignment, AttributeFrequency, CustomFrequency
from .joints import JointDofConfig
from .model import Model
from .shapes import ShapeConfig
from .sources import Heightfield, Mesh, TetMesh
from .state import State

ModelAttributeFrequency = AttributeFrequency
ModelAttributeAssignment = AttributeAssignment

__all__ = [
    "FIELDS",
    "MAXVAL",
    "AttributeAssignment",
    "AttributeFrequency",
    "Axis",
    "BodyFlags",
    "Contacts",
    "Control",
    "CustomAttribute",
    "CustomFrequency",
    "EqType",
    "Field",
    "GeoType",
    "Heightfield",
    "JointDofConfig",
    "JointTargetMode",
    "JointType",
    "Mesh",
    "Model",
    "ModelAttributeAssignment",
    "ModelAttributeFrequency",
    "ModelBuilder",
    "ModelFlags",
    "ParticleFlags",
    "ShapeConfig",
    "ShapeFlags",
    "State",
    "TetMesh",
    "WorldClass",
    "parse_custom_attributes",
]
