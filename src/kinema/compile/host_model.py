"""The compiled model on the host: mjModel's fields under mjModel's names, as NumPy arrays in float64."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, MutableMapping
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import numpy as np

from kinema.errors import Hint, did_you_mean
from kinema.model.mujoco_fields import model_arrays, model_sizes

KINDS: Mapping[str, str] = {
    "body": "nbody", "joint": "njnt", "geom": "ngeom", "site": "nsite", "camera": "ncam", "light": "nlight",
    "flex": "nflex", "mesh": "nmesh", "skin": "nskin", "hfield": "nhfield", "texture": "ntex", "material": "nmat",
    "pair": "npair", "exclude": "nexclude", "equality": "neq", "tendon": "ntendon", "actuator": "nactuator",
    "sensor": "nsensor", "numeric": "nnumeric", "text": "ntext", "tuple": "ntuple", "key": "nkey", "plugin": "nplugin",
}  # fmt: skip
"""Every kind of named object and the size that counts it, in the order MuJoCo stores names."""
UNNAMED = "MuJoCo Model"
"""What MuJoCo calls a document that does not say what it is called; one that says "" is called so."""


@dataclass(slots=True)
class HostModel:
    """What compile returns: any attribute of mjModel that MuJoCo's Python bindings offer is here under the same name.

    Arrays (`body_mass`, `jnt_range`, ...) and sizes (`nq`, `nv`, ...) are attributes. Quaternions are wxyz, angles
    radians.

    Attributes:
        arrays: mjModel arrays by name.
        sizes: mjModel sizes by name.
        opt, stat, vis: mjOption, mjStatistic and mjVisual under their names.
        modelname: Name of the model.
        warnings: What the compiler warned about.
        stated: Options the document itself states, as written; flags by ``"flag gravity"``.
    """

    arrays: MutableMapping[str, np.ndarray]
    sizes: dict[str, int]
    opt: SimpleNamespace
    stat: SimpleNamespace
    vis: SimpleNamespace
    modelname: str = UNNAMED
    warnings: list[str] = field(default_factory=list)
    _names: Mapping[str, list[str]] = field(default_factory=dict)
    stated: Mapping[str, str] = field(default_factory=dict)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if name in self.arrays:
            return self.arrays[name]
        if name in self.sizes:
            return self.sizes[name]
        raise AttributeError(Hint(f"mjModel has no field {name!r}", name, [*self.arrays, *self.sizes]))

    def names(self, kind: str) -> list[str]:
        """Names of all objects of a kind (``"body"``, ``"joint"``, ...) in id order, empty where unnamed."""
        if kind not in KINDS:
            raise KeyError(f"unknown kind {kind!r}{did_you_mean(kind, KINDS)}")
        return list(self._names[kind])

    def id(self, kind: str, name: str) -> int:
        """Id of a named object; KeyError with a suggestion when there is none."""
        names = self.names(kind)
        try:
            return names.index(name)
        except ValueError:
            raise KeyError(f"no {kind} named {name!r}{did_you_mean(name, filter(None, names))}") from None

    def missing(self) -> Iterator[str]:
        """mjModel fields that compile did not fill, or filled in another shape."""
        for entry in model_sizes():
            if entry.name not in self.sizes:
                yield entry.name
        for entry in model_arrays():
            array = self.arrays.get(entry.name)
            if array is None or array.shape != entry.extents(self.sizes):
                yield entry.name
