"""A resource provider of one's own, and assets written inside the document: the ``data:`` example.

First a provider for the scheme ``text`` is written and registered: ``text:`` names carry percent-encoded bytes. Then
the built-in ``data:`` provider reads a mesh whose media type, not its name, says how to decode it.

    python examples/data_provider.py
"""

from urllib.parse import unquote_to_bytes

from kinema import geometry, resources

assert geometry  # importing it registers the mesh decoders


@resources.provider("text")
class Text:
    """Resources whose content is their own name."""

    def open(self, resource: resources.OpenResource) -> bool:
        resource.data = unquote_to_bytes(resource.name.partition(":")[2])
        return bool(resource.data)  # False: there is no such resource

    def read(self, resource: resources.OpenResource) -> bytes:
        return resource.data

    def close(self, resource: resources.OpenResource) -> None:
        resource.data = None


# The seed's mesh: an OBJ file with three vertices, in base64.
MESH = "data:model/obj;base64,I215IG9iamVjdA0KdiAxIDAgMA0KdiAwIDEgMA0KdiAwIDAgMQ=="


def main() -> None:
    print(resources.read("text:hello%20world").data.decode())
    mesh = resources.read(MESH)
    print(f"{mesh.media_type} {mesh.extension} {len(mesh.data)} bytes")
    decoded = resources.decode("mesh", mesh)
    print(decoded.vert.reshape(-1, 3))
    # a second registration of another provider under the same prefix is refused
    try:
        resources.register_provider("TEXT", open=bool, read=bytes, close=print)
    except resources.ResourceError as error:
        print(f"refused: {error}")


if __name__ == "__main__":
    main()
