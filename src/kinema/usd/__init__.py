"""OpenUSD: stages with UsdPhysics as models. Needs usd-core (`pip install 'kinema[usd]'`)."""

from .importer import add_usd
from .meshes import get_mesh
from .schemas import SchemaResolver, SchemaResolverMjc, SchemaResolverNewton, SchemaResolverPhysx

__all__ = [
    "SchemaResolver", "SchemaResolverMjc", "SchemaResolverNewton", "SchemaResolverPhysx", "add_usd", "get_mesh",
]  # fmt: skip
