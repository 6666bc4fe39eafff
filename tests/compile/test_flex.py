"""Flexes and flexcomps, every field of mjModel against MuJoCo's own compilation."""

from __future__ import annotations

import pytest

from .oracle import agree, both_refuse

COUNTS = {"grid": "4 3 3", "box": "3 4 3", "cylinder": "4 3 3", "ellipsoid": "3 3 4", "circle": "6 1 1"}


def world(inside: str, body: str | None = None, rest: str = "") -> str:
    if body is not None:
        inside = f'<body name="holder" {body}>{inside}</body>'
    return f"<mujoco>{rest}<worldbody><light/>{inside}</worldbody></mujoco>"


def flexcomp(kind: str = "grid", dim: int = 2, inside: str = "", count: str = "", **attributes: str) -> str:
    count = count or ("4 3 1" if dim == 2 and kind in ("grid", "square", "disc") else COUNTS.get(kind, "3 3 1"))
    more = " ".join(f'{name}="{value}"' for name, value in attributes.items())
    size = f'count="{count}" spacing=".1 .15 .2"'
    return f'<flexcomp name="soft" type="{kind}" dim="{dim}" {size} {more}>{inside}</flexcomp>'


BOX = '<elasticity young="1" section="box" sectionsize=".01 .02"/>'
BOTH = 'thickness="1e-3" elastic2d="both"'
SLIDERS = "".join(f'<joint type="slide" axis="{axis}"/>' for axis in ("1 0 0", "0 1 0", "0 0 1"))
SHAPES = [(kind, dim) for kind in ("grid", "box", "cylinder", "ellipsoid") for dim in (1, 2, 3)]
SHAPES += [("square", 2), ("disc", 2), ("circle", 1)]


@pytest.mark.parametrize(("kind", "dim"), SHAPES)
@pytest.mark.parametrize("inside", ["", '<edge equality="true" solref=".01 2" solimp=".8"/>', '<pin id="0 2"/>'])
def test_shapes(kind, dim, inside):
    """Every generated shape: free, held by its edges, pinned at two points."""
    agree(world(flexcomp(kind, dim, inside, pos="1 2 3", euler="10 20 30"), 'pos="0 0 1" quat="1 .2 .3 .4"'))


@pytest.mark.parametrize("dof", ["full", "2d"])
@pytest.mark.parametrize("dim", [2, 3])
def test_pins(dim, dof):
    """Pins by number, range, lattice point and lattice range; all of them make a flex rigid."""
    low, high = " 1 0 2"[: 2 * dim], " 2 1 2"[: 2 * dim]
    pins = f'<pin id="0 1" range="5 6 8 8"/><pin grid="{low}{high}" gridrange="{low}{high}"/>'
    agree(world(flexcomp("grid", dim, pins, dof=dof)))
    agree(world(flexcomp("grid", dim, '<pin range="0 11"/>', count="4 3 1" if dim == 2 else "2 3 2", dof=dof)))
    agree(world(flexcomp("grid", dim, rigid="true", dof=dof)))


ELASTIC = [
    (dim, f'young="{young}" poisson="{poisson}" elastic2d="{how}" thickness=".01" damping="{damping}" {more}')
    for dim in (2, 3)
    for young, poisson, damping in (("1e4", "0", ".1"), ("2e5", ".3", "0"))
    for how in (("none", "bend", "stretch", "both") if dim == 2 else ("none",))
    for more in ("", 'yield=".1"', 'yield=".1 0"')
]


@pytest.mark.parametrize(("dim", "material"), ELASTIC)
def test_elasticity(dim, material):
    """Stiffness, bending, plastic states and the metric's factor and order, flat and curved."""
    inside = f'<elasticity {material}/><pin id="0 3"/>'
    agree(world(flexcomp("grid", dim, inside, euler="10 20 30"), 'euler="5 6 7"'))
    agree(world(flexcomp("ellipsoid", dim, f"<elasticity {material}/>")))


@pytest.mark.parametrize("dof", ["trilinear", "quadratic"])
@pytest.mark.parametrize(("kind", "cells"), [("grid", "1 1 1"), ("box", "2 1 3"), ("ellipsoid", "4 4 1")])
@pytest.mark.parametrize("inside", ['<elasticity young="1e4" poisson=".3" yield=".1"/>', '<edge equality="strain"/>'])
def test_interpolated_solids(dof, kind, cells, inside):
    """Nodes, masses and stiffness of cells that the shape cuts, some of them empty."""
    if dof == "quadratic" and "strain" in inside:
        cells = "1 1 1"  # eigenvectors of many cells take long
    if kind != "grid":
        inside += '<pin id="0 1" grid="1 1 1" gridrange="0 0 1 1 0 1"/>'
    soft = flexcomp(kind, 3, inside, count="4 4 4", dof=dof, cellcount=cells, euler="10 20 30")
    agree(world(soft, 'pos="0 0 1"', '<size memory="50M"/>'))


@pytest.mark.parametrize("dof", ["trilinear", "quadratic"])
@pytest.mark.parametrize("how", ["bend", "stretch", "both"])
def test_interpolated_shells(dof, how):
    """Faces of the lattice that stretch and fold, or whose strain is held."""
    material = f'poisson=".3" elastic2d="{how}" thickness=".01"'
    for inside in (f'<elasticity young="1e4" {material}/>', f'<elasticity {material}/><edge equality="strain"/>'):
        agree(world(flexcomp("ellipsoid", 2, inside, count="4 4 4", dof=dof, cellcount="2 1 3"), 'pos="0 0 1"'))


def test_interpolated_open_surfaces():
    """A surface with a hole fills what it winds around."""
    elastic = '<elasticity young="1e4"/>'
    agree(world(flexcomp("ellipsoid", 2, elastic, count="6 6 6", dof="trilinear", cellcount="3 3 3")))


@pytest.mark.parametrize("cells", ["1 1 1", "2 1 1", "2 2 1"])
def test_sheets_through_the_points_that_cells_are_looked_at_in(cells):
    """Points of the quadrature that lie on a triangle, or on its edge, are inside."""
    sheet = 'point="0 0 0 .1 0 0 .1 .1 0 0 .1 .02 .2 .05 .03" element="0 1 2 0 2 3 1 4 2"'
    soft = f'<flexcomp name="sheet" type="direct" dim="2" radius=".001" dof="trilinear" cellcount="{cells}" {sheet}>'
    agree(world(f'{soft}<edge equality="strain"/></flexcomp>'))


@pytest.mark.parametrize("pin", ["", '<pin id="0"/>'])
@pytest.mark.parametrize("inside", ["", '<elasticity young="1e4"/>', '<edge equality="strain"/>'])
def test_points_that_no_element_uses_are_in_the_lattice(pin, inside):
    """The lattice reaches to all points, those that are left out as well."""
    points = 'point="0 0 0 1 0 0 0 1 0 0 0 1 2 2 2" element="0 1 2 3"'
    for cells in ("1 1 1", "2 1 2", "3 2 2"):
        soft = f'<flexcomp name="f" type="direct" dim="3" {points} dof="trilinear" cellcount="{cells}">'
        agree(world(f"{soft}{pin}{inside}</flexcomp>"))


ARC = "0 0 0 .1 0 0 .2 0 0 .27 .07 0 .27 .17 .03 .3 .27 .06 .33 .37 .09 .4 .4 .1"


@pytest.mark.parametrize("section", ["", 'section="box" sectionsize=".01 .02" shear="1e5"'])
@pytest.mark.parametrize("pins", ["", '<pin id="0"/>', '<pin id="0 1"/>', '<pin id="0 1 6 7"/>'])
def test_open_rods(section, pins):
    """Straight and bent vertices, a joint for the twist of every segment that is not clamped."""
    segments = "0 1 1 2 3 2 3 4 4 5 5 6 6 7"
    rod = f'<flexcomp name="r" type="direct" dim="1" mass="2" point="{ARC}" element="{segments}">'
    agree(world(f'{rod}<elasticity young="1e6" poisson=".3" {section}/>{pins}</flexcomp>', 'pos="0 0 1"'))


@pytest.mark.parametrize(
    ("segments", "dof"),
    [
        ("6 7 4 3 0 1 5 4 2 3 1 2 6 5", "2d"),
        ("0 1 1 2 2 3 3 4 4 5 5 6 6 7 7 0", "full"),
        ("0 1 1 2 2 3 2 4 5 6 6 7", "full"),
    ],
)
def test_rods_without_twist(segments, dof):
    """Chains in pieces, loops and forks: neighbours that are bent hold the angle between their planes."""
    rod = f'<flexcomp name="r" type="direct" dim="1" dof="{dof}" point="{ARC}" element="{segments}">'
    agree(world(f'{rod}<elasticity young="1e6" poisson=".3"/></flexcomp>'))


def test_edges_of_bending_sheets_may_be_held():
    bend = '<elasticity young="1e4" elastic2d="bend" thickness=".01"/><edge equality="true"/>'
    agree(world(flexcomp("grid", 2, bend)))


def test_frames_and_classes():
    """Frames pose the points; sliders take the class of their body."""
    rest = '<default><default class="a"><joint armature="2"/></default><joint armature="1"/></default>'
    inside = f'<frame pos="0 0 1" euler="0 40 90">{flexcomp()}</frame>'
    agree(world(inside, 'childclass="a"', rest))
    agree(world(inside, "", rest))


def test_unused_points_and_textures():
    direct = (
        '<flexcomp name="f" type="direct" dim="2" point="0 0 0 5 5 5 1 0 0 0 1 0" element="0 2 3" material="m"'
        ' texcoord="0 0 .1 .1 .2 .2 .3 .3" rgba="1 0 0 1" group="2" flatskin="true" scale="2 3 4">'
        '<pin id="2"/></flexcomp>'
    )
    material = '<asset><material name="m"/><material name="n"/></asset>'
    agree(world(direct, "", material))
    agree(world(flexcomp("box", 3, material="n"), rest=material))
    agree(world(flexcomp("grid", 2, count="2 2 1", material="n m"), rest=material))


def test_flex_by_hand():
    """A <flex> over bodies written by hand, one of them articulated, beside a rigid one."""
    document = """
    <mujoco>
      <worldbody>
        <body name="a" pos="0 0 1"><joint type="slide"/><joint axis="0 1 0"/><geom size=".1"/>
          <body name="b" pos="1 0 0"><joint type="ball"/><geom size=".1"/></body></body>
        <body name="c" pos="0 1 1"><freejoint/><geom size=".1"/></body>
        <body name="d" pos="1 1 1"><joint type="slide" axis="1 0 0"/><joint type="slide" axis="0 1 0"/>
          <joint type="slide" axis="0 0 1"/><geom size=".1"/></body>
      </worldbody>
      <deformable>
        <flex name="f" dim="2" body="a b c d" vertex="0 0 .1 0 0 0 .1 0 0 0 0 0" element="0 1 2 1 3 2">
          <contact contype="2" conaffinity="3" condim="4" priority="1" friction=".5" solmix="2" solref=".1" margin=".01"
            gap=".02" selfcollide="bvh"/>
          <edge damping="1"/>
        </flex>
        <flex name="g" dim="3" body="c" vertex="0 0 0 1 0 0 0 1 0 0 0 1" element="0 1 2 3" radius=".1"/>
        <flex name="h" dim="1" body="a b d" element="0 1 1 2"><edge stiffness="10" damping="1"/></flex>
      </deformable>
      <equality><flex name="held" flex="f" solref=".1 1"/></equality>
    </mujoco>"""
    agree(document)


@pytest.mark.parametrize(
    ("inside", "match"),
    [
        (flexcomp(count="1 1 1"), "no elements were created"),
        (flexcomp(count="0 1 1"), "count is too small"),
        (flexcomp("grid", 2, count="3 3 3"), "point"),
        (flexcomp(radius="1"), "spacing must be larger"),
        (flexcomp(scale="0 1 1"), "scale"),
        (flexcomp(mass="0"), "mass and inertiabox"),
        (flexcomp("grid", 4), "dim of a flexcomp"),
        (flexcomp("grid", 2, '<pin id="100"/>'), "out of range"),
        (flexcomp("grid", 2, '<pin range="1 2 3"/>'), "2 numbers at a time"),
        (flexcomp("grid", 2, '<pin grid="1 2 3"/>'), "2 numbers at a time"),
        (flexcomp("grid", 2, '<pin gridrange="1 2 3 9"/>'), "out of range"),
        (flexcomp("box", 3, '<pin grid="1 2 3"/>'), "type='grid'"),
        (flexcomp("grid", 1, '<pin grid="1"/>'), "dim=1"),
        (flexcomp("grid", 2, '<elasticity young="1" elastic2d="both"/>'), "thickness"),
        (flexcomp("grid", 3, '<elasticity young="1" elastic2d="both" thickness="1"/>'), "dim 2"),
        (flexcomp("grid", 3, '<elasticity young="1" poisson=".5"/>'), "poisson"),
        (flexcomp("grid", 3, '<elasticity young="1"/><edge equality="true"/>'), "cannot both be present"),
        (flexcomp("grid", 3, '<elasticity young="1" yield="0 1"/>'), "bending yield"),
        (flexcomp("grid", 3, '<elasticity young="1" yield="-1"/>'), "negative"),
        (flexcomp("grid", 2, '<edge stiffness="1"/>'), "edge stiffness"),
        (flexcomp(material="none"), "unknown material"),
        (flexcomp(texcoord="0 1"), "texcoord"),
        (flexcomp(texcoord="0 1 0"), "texcoord"),
        (flexcomp("grid", 2, element="0 1"), "multiple of dim"),
        (flexcomp("circle", 1, point="0 0"), "multiple of 3"),
        ('<flexcomp name="f" type="direct" point="0 0 0 1 0 0 0 1 0" element="0 1 1 0 1 2"/>', "twice"),
        ('<flexcomp name="f" type="direct" point="0 0 0 1 0 0 0 1 0" element="0 1 3"/>', "point 3"),
        ('<flexcomp name="f" type="direct" point="0 0 0 1 0 0 0 1" element="0 1 3"/>', "multiple of 3"),
        ('<flexcomp name="f" type="direct"/>', "points and elements"),
        ('<flexcomp type="grid"/>', "name"),
        (f"<body>{flexcomp()}</body>", "must have a name"),
        (flexcomp("grid", 1, '<elasticity young="1" yield="1"/>'), "no yield"),
        (flexcomp("grid", 1, '<elasticity young="1" shear="-1"/>'), "shear"),
        (flexcomp("grid", 1, '<elasticity young="1"/>', radius="0"), "positive radius"),
        (flexcomp("grid", 1, '<elasticity young="1" section="box"/>'), "half sizes"),
        (flexcomp("grid", 1, BOX, radius=".02"), "smaller half"),
        (flexcomp("circle", 1, BOX), "open chain"),
        (flexcomp("grid", 1, BOX, dof="2d"), "dof='full'"),
        (flexcomp("grid", 2, dof="trilinear"), "right angles"),
        (flexcomp("grid", 3, dof="trilinear", cellcount="0 1 1"), "cellcount"),
        (flexcomp("grid", 3, '<pin id="8"/>', dof="trilinear"), "out of range"),
    ],
)
def test_refusals(inside, match):
    """What MuJoCo refuses is refused, at the line and with the reason."""
    error = both_refuse(world(inside), match)
    assert error.line == 1


def test_damped_sliders_are_refused():
    both_refuse(world(flexcomp(), rest='<default><joint damping="1"/></default>'), "cannot have joint damping")


SHEET = '<elasticity young="1e4" elastic2d="both" thickness=".01"/>'


@pytest.mark.parametrize(
    ("option", "inside", "match"),
    [
        ('integrator="Euler"', '<contact passive="true"/>', "passive"),
        ('integrator="implicit"', SHEET, "integrator"),
        ('integrator="implicitfast"', SHEET, "integrator"),
        ('integrator="discrete"', '<edge damping="1"/>', "edge stiffness or damping"),
        ('integrator="discrete" solver="PGS"', SHEET, "CG or Newton"),
        ('integrator="discrete" noslip_iterations="1"', SHEET, "noslip"),
    ],
)
def test_options_that_do_not_go_with_flexes(option, inside, match):
    both_refuse(world(flexcomp("grid", 2, inside), rest=f"<option {option}/>"), match)


def test_attachments():
    """Pinned to what moves, or to mocap bodies; free bodies below what moves are refused."""
    joint = '<joint/><geom size=".1"/>'
    agree(world(joint + flexcomp("grid", 2, SHEET + '<pin id="0 1"/>'), ""))
    pinned = flexcomp("grid", 3, '<pin id="0"/>')
    agree(world(f'{joint}<body name="b">{pinned}</body>', ""))
    agree(world(joint + flexcomp("ellipsoid", 3, '<elasticity young="1"/>', dof="radial"), ""))
    agree(world(flexcomp("grid", 1, '<elasticity young="1"/><pin id="0"/>'), 'mocap="true"'))
    both_refuse(world(joint + flexcomp(), ""), "no vertex or node")
    lattice = flexcomp("grid", 3, dof="trilinear")
    both_refuse(world(f'{joint}<body name="b">{lattice}</body>', ""), "no vertex or node")
    both_refuse(world(flexcomp("grid", 2, SHEET + '<pin id="0"/>'), 'mocap="true"'), "mocap")
    both_refuse(world(flexcomp("grid", 2, SHEET), 'mocap="true"'), "mocap")
    both_refuse(world(flexcomp("grid", 3, '<elasticity young="1"/>'), 'mocap="true"'), "mocap")


@pytest.mark.parametrize(
    ("inside", "equality", "match"),
    [
        (flexcomp(), '<flex flex="nope"/>', "unknown flex"),
        (flexcomp(rigid="true"), '<flex flex="soft"/>', "rigid"),
        (flexcomp(), '<flexstrain flex="soft"/>', "trilinear or quadratic"),
        (flexcomp("grid", 3, dof="trilinear"), '<flexstrain flex="soft" cell="1 0 0"/>', "no such cell"),
    ],
)
def test_equalities_that_do_not_fit(inside, equality, match):
    both_refuse(f"<mujoco><worldbody>{inside}</worldbody><equality>{equality}</equality></mujoco>", match)


def test_copies():
    """Replicated and attached flexes have bodies, equalities and twists of their own."""
    held = flexcomp("grid", 2, '<edge equality="true"/><pin id="0"/>', count="2 2 1")
    agree(f'<mujoco><worldbody><replicate count="2"><body name="b">{held}</body></replicate></worldbody></mujoco>')
    rod = flexcomp("grid", 1, '<elasticity young="1"/>')
    for child in (held, rod, f'<body name="b">{rod}</body>'):
        document = """<mujoco><asset><model name="c" file="c.xml"/></asset>
          <worldbody><attach model="c" prefix="p_"/><body name="q"><attach model="c" prefix="r_"/></body></worldbody>
        </mujoco>"""
        agree(document, {"c.xml": f'<mujoco model="c"><worldbody>{child}</worldbody></mujoco>'.encode()})


@pytest.mark.parametrize("settings", ['fusestatic="true"', 'discardvisual="true"', 'boundmass="1" boundinertia=".1"'])
def test_compiler_settings(settings):
    rest = f'<compiler {settings}/><asset><material name="m"/></asset>'
    agree(world(flexcomp("grid", 2, '<pin id="0"/>', material="m"), 'pos="0 0 1"', rest))


def test_keyframes_hold_plastic_state():
    yields = '<elasticity young="1e4" elastic2d="both" thickness=".01" yield=".1"/>'
    key = '<keyframe><key name="k" time="1"/></keyframe>'
    for soft in (flexcomp("grid", 2, yields), flexcomp("grid", 1, '<elasticity young="1"/>')):
        agree(world(soft).replace("</mujoco>", f"{key}</mujoco>"))


def test_quaternions_are_taken_as_written():
    """MuJoCo turns points by a quaternion that nobody has normalized: one of three digits stretches them."""
    agree(world(flexcomp(inside='<edge equality="true"/>', quat=".707 0 0 .707")))
    agree(world(f'<frame quat="1 2 0 0">{flexcomp("box", 3, quat="1 1 0 0")}</frame>'))


@pytest.mark.parametrize("joints", ["<freejoint/>", "<joint/>", SLIDERS, SLIDERS.replace("slide", "hinge")])
@pytest.mark.parametrize("dof", ["full", "trilinear"])
def test_pinned_to_what_moves(joints, dof):
    """Any joints will do once a vertex or node is pinned; three sliders make no vertex of their own body."""
    inside = '<elasticity young="1e3" thickness="1e-3" elastic2d="stretch"/><pin id="0 2"/>'
    soft = flexcomp("grid", 3 if dof == "trilinear" else 2, inside, dof=dof)
    agree(world(f"{joints}<geom size='.1'/>{soft}", ""))


@pytest.mark.parametrize("inside", ['<elasticity young="1e3" yield="100"/>', '<edge equality="strain"/>'])
def test_where_all_nodes_are_pinned_it_is_rigid(inside):
    agree(world(flexcomp("grid", 3, inside + '<pin gridrange="0 0 0 1 1 1"/>', dof="trilinear")))


@pytest.mark.parametrize("dof", ["full", "trilinear"])
@pytest.mark.parametrize("dim", [2, 3])
def test_what_is_rigid_does_not_yield(dim, dof):
    material = BOTH if dim == 2 else ""
    agree(world(flexcomp("grid", dim, f'<elasticity young="1e3" yield="100" {material}/>', rigid="true", dof=dof)))


@pytest.mark.parametrize("flags", ['spring="disable"', 'damper="disable"'])
def test_the_factor_of_bending_minds_switches(flags):
    inside = f'<elasticity young="1e9" damping=".01" {BOTH}/>'
    agree(world(flexcomp(inside=inside), rest=f"<option><flag {flags}/></option>"))


def test_the_order_is_there_beside_cells_whose_strain_is_kept():
    cells = flexcomp("grid", 3, '<edge equality="strain"/>', dof="trilinear").replace("soft", "cells")
    agree(world(flexcomp(inside='<edge equality="true"/>') + cells))


ALONE = '<contact selfcollide="none" contype="0" conaffinity="0"/>'


@pytest.mark.parametrize("option", ['jacobian="sparse"', 'jacobian="sparse" cone="elliptic"', 'jacobian="dense"', ""])
@pytest.mark.parametrize(
    "inside",
    [
        flexcomp(count="8 8 1", inside='<edge equality="true"/>' + ALONE),
        flexcomp(count="8 8 1", inside=f'<elasticity young="1e3" {BOTH}/>{ALONE}'),
        flexcomp("grid", 1, ALONE + '<elasticity young="1e5" thickness=".01"/>', count="30 1 1"),
        flexcomp("grid", 3, ALONE + '<elasticity young="1e3"/>', dof="quadratic", cellcount="2 1 2"),
        flexcomp("box", 2, ALONE + f'<elasticity young="1e3" {BOTH}/>', dof="trilinear", cellcount="2 2 2"),
        flexcomp(count="8 8 1", inside='<edge equality="true"/>') + "<body><freejoint/><geom size='.1'/></body>" * 3,
        flexcomp(count="8 8 1", inside='<edge equality="true"/>') + flexcomp(inside=ALONE).replace("soft", "other"),
        flexcomp(count="13 13 1", inside='<edge equality="true"/>'),
    ],
)
def test_bytes_of_the_arena(option, inside):
    """By the factor of the Hessian, unless Jacobians are dense, or all flexes may touch and are small."""
    agree(world(inside, rest=f"<option {option}/>"))


def test_bytes_of_the_arena_with_few_rows():
    """With fewer rows than dofs of flexes that touch, theirs are counted one by one."""
    for njmax in (190, 191, 192):
        text = world(flexcomp(count="8 8 1", inside='<edge equality="true"/>'))
        agree(text.replace("<worldbody>", f'<size njmax="{njmax}"/><option jacobian="sparse"/><worldbody>'))


@pytest.mark.parametrize("njmax", [1, 50, 100, 200])
def test_bytes_of_the_arena_have_a_least_for_rows(njmax):
    """Rows on dofs of flexes count with no less than twice the Hessian; those of bodies as ever."""
    bodies = "<body pos='3 0 0'><freejoint/><geom size='.1'/></body>" * 60
    text = world(flexcomp("grid", 3, '<elasticity young="1e4"/>' + ALONE, count="6 6 6") + bodies)
    agree(text.replace("<worldbody>", f'<size njmax="{njmax}"/><option jacobian="sparse"/><worldbody>'))


@pytest.mark.parametrize("said", ['springdamper="1 1"', 'damping="0 1"'])
def test_vertices_have_no_dampers_of_any_kind(said):
    both_refuse(world(flexcomp(), rest=f"<default><joint {said}/></default>"), "cannot have joint damping")


ROD = """<mujoco><worldbody><body name="a"><joint type="slide"/><geom size=".02"/></body>
  <body name="b" pos=".1 0 0"><joint type="slide"/><geom size=".02"/></body></worldbody>
  <deformable><flex name="f" dim="1" body="a b" vertex="0 0 0 0 0 0" element="0 1" radius=".01" {}/></deformable>
</mujoco>"""


@pytest.mark.parametrize("said", ["0 1", '0" texcoord="0 0 1 1', '0 5" texcoord="0 0 1 1'])
def test_texture_coordinates_of_elements_that_are_not_there(said):
    both_refuse(ROD.format(f'elemtexcoord="{said}"'), "elemtexcoord")


def test_node_coordinates_without_nodes_mean_nothing():
    agree(ROD.format('nodecoord="1 2"'))
    agree(ROD.format('texcoord="0 0 1 1" elemtexcoord="0 1"'))


@pytest.mark.parametrize("axes", ["1 0 0, 0 1 0, 0 0 1", "0 0 1, -1 0 0, 0 1 0", "1 1 0, -1 1 0, 0 0 1"])
@pytest.mark.parametrize("material", [f'<elasticity young="1e3" {BOTH}/>', "<edge/>"], ids=["elastic", "held"])
def test_bodies_made_by_hand(material, axes):
    """Sliders in whatever order, a vertex that no element has, and an edge of no length."""
    slides = "".join(f'<joint type="slide" axis="{axis}"/>' for axis in axes.split(", "))
    inertia = '<inertial pos="0 0 0" mass=".1" diaginertia=".01 .01 .01"/>'
    places = ("0 0 0", ".1 0 .03", "0 .1 .06", ".1 .1 .1", "0 .2 .12")
    bodies = "".join(f'<body name="b{k}" pos="{at}">{slides}{inertia}</body>' for k, at in enumerate(places))
    flex = f"""<deformable><flex name="f" dim="2" body="b0 b1 b2 b3 b4" element="0 1 2 1 3 2">{material}</flex>
      <flex name="g" dim="2" body="world b0 b1 b2" element="0 3 2 1 3 0"/></deformable>"""
    held = '<equality><flex flex="g"/></equality>' if "young" in material else '<equality><flex flex="f"/></equality>'
    agree(world(bodies).replace("</mujoco>", f"{flex}{held}</mujoco>"))
