"""Regenerate, or compare with the installed MuJoCo, the tables of mjModel's and mjData's fields.

    python scripts/mujoco_fields.py            # report differences; exit status 1 if there are any
    python scripts/mujoco_fields.py --write    # rewrite src/kinema/model/mujoco_model.csv and mujoco_data.csv

Names, types, shapes and meanings come from `mujoco.introspect`. What a field refers to and whether it is derived is
knowledge of ours, kept in the two tables below.
"""

from __future__ import annotations

import argparse
import csv
import io
import re
import sys
from pathlib import Path

import mujoco
from mujoco.introspect import structs

FOLDER = Path(__file__).resolve().parent.parent / "src" / "kinema" / "model"
COLUMNS = ("name", "group", "dtype", "shape", "refers", "derived", "meaning")

DTYPES = {
    "mjtNum": "float64", "float": "float32", "int": "int32", "mjtByte": "uint8", "mjtBool": "bool", "char": "char",
    "mjtSize": "int64", "size_t": "uint64", "uint64_t": "uint64", "uintptr_t": "uint64",
}  # fmt: skip
CONSTANTS = {"mjNTEXROLE": int(mujoco.mjtTextureRole.mjNTEXROLE), "mjNPOLY": 2}

# What the integers of a field count through: the size symbol of the table they index. First match wins.
REFERS = [
    (r"^(body_parentid|body_rootid|body_weldid|.*bodyid|tree_bodyadr)$", "nbody"),
    (r"^body_mocapid$", "nmocap"),
    (r"^(body_jntadr|dof_jntid)$", "njnt"),
    (r"^(.*dofadr|dof_parentid|.*_colind)$", "nv"),
    (r"^.*treeid$", "ntree"),
    (r"^body_geomadr$", "ngeom"),
    (r"^(pair_geom1|pair_geom2)$", "ngeom"),
    (r"^.*bvhadr$", "nbvh"),
    (r"^.*octadr$", "noct"),
    (r"^jnt_qposadr$", "nq"),
    (r"^.*_plasticadr$", "nplastic"),
    (r"^(jnt|tendon)_actuatorid$", "nactuator"),
    (r"^.*matid$", "nmat"),
    (r"^(mat|light)_texid$", "ntex"),
    (r"^site_dataid$", "nmesh"),
    (r"^.*_plugin$", "nplugin"),
    (r"^mesh_vertadr$", "nmeshvert"),
    (r"^mesh_faceadr$", "nmeshface"),
    (r"^mesh_normaladr$", "nmeshnormal"),
    (r"^mesh_texcoordadr$", "nmeshtexcoord"),
    (r"^mesh_graphadr$", "nmeshgraph"),
    (r"^mesh_polyadr$", "nmeshpoly"),
    (r"^mesh_polyvertadr$", "nmeshpolyvert"),
    (r"^mesh_polymapadr$", "nmeshpolymap"),
    (r"^skin_vertadr$", "nskinvert"),
    (r"^skin_texcoordadr$", "nskintexvert"),
    (r"^skin_faceadr$", "nskinface"),
    (r"^skin_boneadr$", "nskinbone"),
    (r"^skin_bonevertadr$", "nskinbonevert"),
    (r"^hfield_adr$", "nhfielddata"),
    (r"^tex_adr$", "ntexdata"),
    (r"^.*(pathadr|contenttypeadr)$", "npaths"),
    (r"^tendon_adr$", "nwrap"),
    (r"^actuator_ctrladr$", "nu"),
    (r"^actuator_outadr$", "nout"),
    (r"^actuator_actadr$", "na"),
    (r"^.*historyadr$", "nhistory"),
    (r"^sensor_adr$", "nsensordata"),
    (r"^plugin_stateadr$", "npluginstate"),
    (r"^plugin_attradr$", "npluginattr"),
    (r"^numeric_adr$", "nnumericdata"),
    (r"^text_adr$", "ntextdata"),
    (r"^tuple_adr$", "ntupledata"),
    (r"^name_.*adr$", "nnames"),
    # an object whose kind another field of the row names
    (r"^geom_dataid$", "by geom_type"),
    (r"^eq_obj[12]id$", "by eq_objtype"),
    (r"^wrap_objid$", "by wrap_type"),
    (r"^actuator_trnid$", "by actuator_trntype"),
    (r"^sensor_objid$", "by sensor_objtype"),
    (r"^sensor_refid$", "by sensor_reftype"),
    (r"^tuple_objid$", "by tuple_objtype"),
]

# Fields that follow from other fields: recomputed, never authored.
DERIVED = re.compile(
    r"^(body_(subtreemass|invweight0|simple|sameframe|margin|contype|conaffinity|rootid|weldid|treeid|bvhadr|bvhnum)"
    r"|bvh_.*|oct_.*|dof_(invweight0|M0|length|Madr|simplenum|treeid|parentid)|tree_.*|geom_(aabb|rbound|sameframe)|site_sameframe"
    r"|(cam|light)_(poscom0|pos0|mat0|dir0)|tendon_(length0|invweight0|treenum|treeid)|ten_J_.*|actuator_(acc0|length0)"
    r"|pair_signature|flexedge_.*|efm.*|[BMD]_.*|map.*|names_map)$"
)


def shape_of(field) -> str:
    def one(extent) -> str:
        text = str(extent)
        if text in CONSTANTS:
            return str(CONSTANTS[text])
        if text.startswith("mjN") and hasattr(mujoco, text):
            return str(int(getattr(mujoco, text)))
        return text

    extents = getattr(field, "array_extent", None) or getattr(field.type, "extents", None) or ()
    return " ".join(one(extent) for extent in extents)


def dtype_of(field) -> str | None:
    kind = field.type
    for inner in ("inner_type",):
        kind = getattr(kind, inner, kind)
    return DTYPES.get(getattr(kind, "name", ""))


def rows_of(struct: str, group: str) -> list[dict[str, str]]:
    rows = []
    for field in structs.STRUCTS[struct].fields:
        dtype = dtype_of(field)
        if field.name == "buffer" or dtype is None:
            continue
        shape = shape_of(field)
        is_array = getattr(field, "array_extent", None) is not None
        kind = group if group != "model" and group != "data" else ("array" if is_array else "size")
        hits = (size for pattern, size in REFERS if dtype.startswith("int") and re.match(pattern, field.name))
        refers = next(hits, "")
        rows.append({
            "name": field.name, "group": kind, "dtype": dtype, "shape": shape, "refers": refers if is_array else "",
            "derived": "yes" if DERIVED.match(field.name) else "", "meaning": field.doc.strip(),
        })  # fmt: skip
    return rows


def table(rows: list[dict[str, str]]) -> str:
    out = io.StringIO()
    writer = csv.DictWriter(out, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="rewrite the tables instead of comparing")
    arguments = parser.parse_args()
    model = rows_of("mjModel", "model") + rows_of("mjOption", "option") + rows_of("mjStatistic", "statistic")
    wanted = {"mujoco_model.csv": table(model), "mujoco_data.csv": table(rows_of("mjData", "data"))}
    different = 0
    for name, text in wanted.items():
        path = FOLDER / name
        old = path.read_text() if path.exists() else ""
        if old == text:
            continue
        different += 1
        if arguments.write:
            path.write_text(text)
            print(f"wrote {path.name}")
        else:
            lines = set(text.splitlines()) ^ set(old.splitlines())
            print(f"{name}: {len(lines)} lines differ", *sorted(lines)[:20], sep="\n  ")
    return 0 if arguments.write else int(different > 0)


if __name__ == "__main__":
    sys.exit(main())
