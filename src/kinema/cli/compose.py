"""Attach models to a model, and write the result as one document.

--attach FILE[@PLACE] hangs a model from a site of the main document (or of one attached before: prefix/site), or from
the world where no place is given. Names of the attached model get a prefix, "robot/" for a model named robot; --prefix,
--pos, --euler and --free belong to the --attach before them.

Since / separates prefixes, a / in a name of the files given becomes a backslash.

The output is MJCF on standard output; a file.xml, with the files it needs in a folder file_assets beside it (--flat:
right beside it); or a file.zip with all in it (--zip: whatever the name). Every file that is written is named.
"""

from __future__ import annotations

import argparse
import zipfile
from pathlib import Path
from typing import Any

from kinema.cli.arguments import add_model

SUMMARY = "Attach models to each other; write MJCF or a zip."
EXAMPLES = """\
examples:
  kinema compose scene.xml --attach robot.xml@mount -o out.xml
  kinema compose arm.xml --attach hand.xml@wrist --prefix left -o arm_with_hand.zip
  kinema compose floor.xml --attach ball.xml --pos 0 0 1 --free --attach ball.xml --prefix second --pos 1 0 1 --free
"""


class OfAttachment(argparse.Action):
    """An option that says something about the --attach before it."""

    def __call__(self, parser, namespace, values, option_string=None):
        attachments = getattr(namespace, "attach", None)
        if not attachments:
            parser.error(f"{option_string} belongs to an --attach before it")
        attachments[-1][self.dest] = True if self.nargs == 0 else values


class Attach(argparse.Action):
    """--attach FILE[@PLACE]."""

    def __call__(self, parser, namespace, values, option_string=None):
        file, _, place = values.rpartition("@") if "@" in values else (values, "", "")
        namespace.attach = [*(namespace.attach or []), {"file": file, "place": place}]


def arguments(parser: argparse.ArgumentParser) -> None:
    add_model(parser)
    parser.add_argument("--attach", action=Attach, metavar="FILE[@SITE]", default=[], help="model to attach, and where")
    of: dict[str, Any] = {"action": OfAttachment, "default": argparse.SUPPRESS}
    parser.add_argument("--prefix", metavar="NAME", help="name of the attached model, the prefix of its names", **of)
    parser.add_argument("--pos", nargs=3, type=float, metavar=("X", "Y", "Z"), help="where its frame is", **of)
    parser.add_argument("--euler", nargs=3, type=float, metavar=("A", "B", "C"), help="its orientation, degrees", **of)
    parser.add_argument("--free", nargs=0, help="give it a free joint", **of)
    parser.add_argument("--name", metavar="NAME", help="name of the whole model")
    parser.add_argument("-o", "--output", metavar="FILE", help="out.xml or out.zip (default: standard output)")
    parser.add_argument("--flat", action="store_true", help="write meshes and other files right beside out.xml")
    parser.add_argument("--zip", action="store_true", help="write one zip file with everything in it")


def run(args: argparse.Namespace) -> int:
    from kinema.errors import ResourceError

    output = args.output
    if args.zip:
        stem = output or args.name or Path(args.model).stem
        output = str(Path(stem).with_suffix(".zip")) if Path(stem).suffix in (".xml", ".zip") else f"{stem}.zip"
    if output and not output.lower().endswith((".xml", ".zip")):
        raise ResourceError(f"{output}: the output is an .xml or a .zip file")
    document = _open(args.model)
    if args.name:
        document.model = args.name
    for attachment in args.attach:
        _attach(document, attachment)
    _write(document, output, flat=args.flat)
    return 0


def _open(path: str):
    from kinema import mjcf
    from kinema.cli.models import source_of

    source = source_of(path)
    if source.endswith(".urdf"):
        return mjcf.from_urdf(source)
    return mjcf.from_path(source, escape_separators=True)


def _attach(document, attachment: dict) -> None:
    """Attach one model as told."""
    from kinema.errors import BuildError, UnknownKey, did_you_mean

    child = _open(attachment["file"])
    if attachment.get("prefix"):
        child.model = attachment["prefix"].rstrip("/")
    place = attachment["place"]
    if place:
        site = document.find("site", place)
        if site is None:
            names = [site.full_identifier for site in document.find_all("site") if site.name]
            listed = f"; its sites: {', '.join(names[:10])}" if names else "; it has no named sites"
            hint = did_you_mean(place, names) or listed
            raise UnknownKey(f"{attachment['file']}@{place}: the model has no such site{hint}")
        frame = site.attach(child)
    else:
        frame = document.attach(child)
    if "pos" in attachment:
        frame.pos = attachment["pos"]
    if "euler" in attachment:
        frame.quat = _quaternion(attachment["euler"])
    if attachment.get("free"):
        if frame.parent.tag != "worldbody":
            raise BuildError(f"{attachment['file']}@{place}: --free works only for what hangs from the world")
        frame.add("freejoint")


def _quaternion(degrees: list[float]) -> list[float]:
    """wxyz of three turns about the axes x, y, z of the moving frame, whatever the document's own convention is."""
    from scipy.spatial.transform import Rotation

    x, y, z, w = Rotation.from_euler("XYZ", degrees, degrees=True).as_quat()
    return [float(w), float(x), float(y), float(z)]


def _write(document, output: str | None, *, flat: bool) -> None:
    from kinema.cli.terminal import note
    from kinema.mjcf.files_written import files_written

    if output is None:
        print(document.to_xml_string())
        return
    place = Path(output)
    place.parent.mkdir(parents=True, exist_ok=True)
    if place.suffix.lower() == ".zip":
        files = files_written(document, f"{place.stem}.xml")
        with zipfile.ZipFile(place, "w") as archive:
            for name, contents in files.items():
                archive.writestr(f"{place.stem}/{name}", contents)
        note(f"wrote {output}")
        for name, contents in files.items():
            note(f"  {place.stem}/{name}  {len(contents)} bytes")
        return
    for name, contents in files_written(document, place.name, "" if flat else f"{place.stem}_assets").items():
        path = place.parent / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(contents)
        note(f"wrote {path}")
