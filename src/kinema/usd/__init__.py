"""OpenUSD: stages with UsdPhysics as models. Needs usd-core (`pip install 'kinema[usd]'`)."""

from .importer import add_usd
from .meshes import get_mesh
from .schemas import SchemaResolver, SchemaResolverMjc, SchemaResolverNewton, SchemaResolverPhysx
from .soft import find_tetmesh_prims, get_tetmesh

__all__ = [
    "SchemaResolver", "SchemaResolverMjc", "SchemaResolverNewton", "SchemaResolverPhysx", "add_usd",
    "find_tetmesh_prims", "get_mesh", "get_tetmesh",
]  # fmt: skip
