"""Meshes, hulls, height fields, images, bounding volumes: geometry on the host, in NumPy.

Importing this package registers the decoders of asset files with `kinema.resources`; each is loaded on first use.
"""

from kinema.resources.decoder import register_decoder

register_decoder(
    "mesh",
    "STL",
    media_types=("model/stl", "model/x.stl-binary"),
    extensions=(".stl",),
    decode="kinema.geometry.stl:decode",
)
register_decoder("mesh", "OBJ", media_types=("model/obj",), extensions=(".obj",), decode="kinema.geometry.obj:decode")
register_decoder(
    "mesh", "MSH", media_types=("model/vnd.mujoco.msh",), extensions=(".msh",), decode="kinema.geometry.msh:decode"
)
register_decoder(
    "mesh", "GMSH", media_types=("model/vnd.gmsh",), extensions=(".gmsh",), decode="kinema.geometry.gmsh:decode"
)
register_decoder("image", "PNG", media_types=("image/png",), extensions=(".png",), decode="kinema.geometry.png:decode")
register_decoder(
    "skin",
    "SKN",
    media_types=("application/vnd.mujoco.skin",),
    extensions=(".skn",),
    decode="kinema.geometry.skn:decode",
)
