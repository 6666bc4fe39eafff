"""What the engine knows of a model: bundles of mjModel's arrays, by concept.

    m.body.pos[w, b]      body_pos of body b in world w
    m.jnt.type[j]         jnt_type, the same in every world
    m.opt.gravity[w]      option

Names follow mjModel; `m` is any object with mjModel's attributes until `layout.upload` makes this of it.
"""

import warp as wp

from kinema.collide import bundles
from kinema.collide.ray import RayTargets
from kinema.convex.bundle import (
    bundle,
    index,
    param,
    per_world,
    vec5,
    vec5i,
    vec6i,
    vec7i,
    vec9i,
    vec10,
    vec10i,
    vec12,
    vec17,
)


@bundle()
class Sizes:
    nq: int
    nv: int
    nu: int
    na: int
    nbody: int
    njnt: int
    ngeom: int
    nsite: int
    ncam: int
    nlight: int
    nmocap: int
    ntendon: int
    nwrap: int
    nactuator: int
    nout: int
    neq: int
    nsensor: int
    nsensordata: int
    nplugin: int
    nC: int
    nD: int
    ntree: int
    flg_surfacevel: int
    nconmax: int  # capacity of the contact list of a world
    nefcmax: int  # capacity of the constraint rows of a world
    slot_friction: int  # first slot of friction losses, after those of equalities: constraint/place.py
    slot_limit: int  # first slot of limits
    nslot: int
    ncolmax: int  # columns of a row of J, as it is stored
    nflexvert: int
    nflexedge: int
    nflexelem: int
    nflexelem_neo: int  # if one is Stable Neo-Hookean: flex/neohookean.py
    nflexhinge: int
    nflexcrease: int
    nflexcell: int
    nflexcellnode: int
    nflextreeadr: int  # in bodypoint, of the trees of flexes: sleep/flexes.py
    nflexpoint: int
    nflexpair: int
    nflexrod: int  # chains of rods that turn, their segments, and bends: flex/rods.py
    nflexsegment: int
    nflexbend: int
    nflexbendpart: int  # first corner of a bend
    nflexplastic: int  # where bodypoint says what yields: elastic.plastic_places; 0: nothing does
    nlevel: int  # depth of the kinematic trees, the world being level 0


@bundle()
class Options:
    """mjOption. Switches are the same for all worlds; physical quantities may differ."""

    integrator: int
    cone: int
    solver: int
    iterations: int
    ls_iterations: int
    noslip_iterations: int
    ccd_iterations: int
    disableflags: int
    enableflags: int
    disableactuator: int
    sdf_initpoints: int
    sdf_iterations: int
    timestep: per_world(kind="param")
    sleep_tolerance: per_world(kind="param")
    timestep64: per_world(wp.float64, kind="param")  # the same, for adding up time
    impratio: per_world(kind="param")
    tolerance: per_world(kind="param")
    ls_tolerance: per_world(kind="param")
    noslip_tolerance: per_world(kind="param")
    gravity: per_world(wp.vec3, kind="param")
    wind: per_world(wp.vec3, kind="param")
    magnetic: per_world(wp.vec3, kind="param")
    density: per_world(kind="param")
    viscosity: per_world(kind="param")
    meaninertia: per_world(kind="param")


@bundle("body_")
class Bodies:
    parentid: index()
    rootid: index()
    weldid: index()
    mocapid: index()
    jntnum: index()
    jntadr: index()
    dofnum: index()
    dofadr: index()
    treeid: index()
    geomnum: index()
    geomadr: index()
    alone: index("nbody")  # 1: part of a free body that no other joint hangs on
    childadr: index("nbody")  # first of its children in `child`
    childnum: index("nbody")
    child: index("nbody")  # children of all bodies, the last one of each first; the last entry is not used
    pos: param(dtype=wp.vec3)
    quat: param(dtype=wp.vec4)
    ipos: param(dtype=wp.vec3)
    iquat: param(dtype=wp.vec4)
    mass: param()
    subtreemass: param()
    inertia: param(dtype=wp.vec3)
    invweight0: param(dtype=wp.vec2)
    gravcomp: param()


@bundle("jnt_")
class Joints:
    type: index()
    qposadr: index()
    dofadr: index()
    bodyid: index()
    actuatorid: index()
    plasticadr: index()
    limited: index()
    actfrclimited: index()
    actgravcomp: index()
    solref: param(dtype=wp.vec2)
    solimp: param(dtype=vec5)
    pos: param(dtype=wp.vec3)
    axis: param(dtype=wp.vec3)
    stiffness: param()
    stiffnesspoly: param(dtype=wp.vec2)
    springyield: param()
    range: param(dtype=wp.vec2)
    actfrcrange: param(dtype=wp.vec2)
    margin: param()
    qpos0: param()
    qpos_spring: param()


@bundle("dof_")
class Dofs:
    """Degrees of freedom, and the sparsity of M (row i: dof i and its ancestors) and of the full dof-dof matrix D."""

    bodyid: index()
    jntid: index()
    parentid: index()
    treeid: index()
    bodyend: index("nv")  # bodies moved by the dof are [bodyid, bodyend)
    momentadr: index("nv")  # first of the entries of actuator_moment on the dof
    momentnum: index("nv")
    momententry: index("nJmom")  # where in actuator_moment
    momentout: index("nJmom")  # of which output
    momentactuator: index("nJmom")  # and of which actuator
    solref: param(dtype=wp.vec2)
    solimp: param(dtype=vec5)
    frictionloss: param()
    armature: param()
    damping: param()
    dampingpoly: param(dtype=wp.vec2)
    length: param()
    invweight0: param()
    M0: param()
    M_rownnz: index()
    M_rowadr: index()
    M_colind: index()
    metric_rownnz: index("nv")  # sparsity of the metric of the discrete integrator, as that of M: metric_pattern.py
    metric_rowadr: index("nv")
    metric_colind: index("nmetric")
    metric_full: index("nmetricfull", dtype=wp.vec2i)  # of the discrete integrator: metric_pattern.full_rows
    D_rownnz: index()
    D_rowadr: index()
    D_diag: index()
    D_colind: index()
    mapM2D: index()
    mapD2M: index()


@bundle("tree_")
class Trees:
    """Kinematic trees: each a range of dofs; and bodies by their distance from the root."""

    dofadr: index()
    dofnum: index()
    bodyadr: index()
    bodynum: index()
    sleep_policy: index()
    qposadr: index("ntree")  # its positions are a range as well
    qposnum: index("ntree")
    mocapid: index("ntree")  # the mocap body it hangs on, or -1
    leveladr: index("nlevelend")  # first body of each level in `levelbody`, and the end
    levelbody: index("nbody")


@bundle("geom_")
class Geoms:
    type: index()
    bodyid: index()
    dataid: index()
    group: index()
    matid: index()
    size: param(dtype=wp.vec3)
    pos: param(dtype=wp.vec3)
    quat: param(dtype=wp.vec4)
    rbound: param()
    fluid: param(dtype=vec12)
    surfacevel: param(dtype=wp.spatial_vector)


@bundle("site_")
class Sites:
    type: index()
    bodyid: index()
    size: param(dtype=wp.vec3)
    pos: param(dtype=wp.vec3)
    quat: param(dtype=wp.vec4)


@bundle("cam_")
class Cameras:
    mode: index()
    bodyid: index()
    targetbodyid: index()
    projection: index()
    pos: param(dtype=wp.vec3)
    quat: param(dtype=wp.vec4)
    poscom0: param(dtype=wp.vec3)
    pos0: param(dtype=wp.vec3)
    mat0: param(dtype=wp.mat33)
    fovy: param()
    intrinsic: param(dtype=wp.vec4)
    sensorsize: param(dtype=wp.vec2)
    resolution: index(dtype=wp.vec2i)


@bundle("light_")
class Lights:
    mode: index()
    bodyid: index()
    targetbodyid: index()
    pos: param(dtype=wp.vec3)
    dir: param(dtype=wp.vec3)
    poscom0: param(dtype=wp.vec3)
    pos0: param(dtype=wp.vec3)
    dir0: param(dtype=wp.vec3)


@bundle("tendon_")
class Tendons:
    """Tendons, their paths (wrap_*) and the sparsity of their Jacobian (ten_J_*)."""

    type: index()
    adr: index()
    num: index()
    actuatorid: index()
    plasticadr: index()
    limited: index()
    actfrclimited: index()
    treenum: index()
    treeid: index(dtype=wp.vec2i)
    ten_J_rownnz: index()
    ten_J_rowadr: index()
    ten_J_colind: index()
    wrap_type: index()
    wrap_objid: index()
    wrap_prm: param()
    solref_lim: param(dtype=wp.vec2)
    solimp_lim: param(dtype=vec5)
    solref_fri: param(dtype=wp.vec2)
    solimp_fri: param(dtype=vec5)
    range: param(dtype=wp.vec2)
    actfrcrange: param(dtype=wp.vec2)
    margin: param()
    stiffness: param()
    stiffnesspoly: param(dtype=wp.vec2)
    damping: param()
    dampingpoly: param(dtype=wp.vec2)
    armature: param()
    frictionloss: param()
    lengthspring: param(dtype=wp.vec2)
    springyield: param()
    length0: param()
    invweight0: param()


@bundle("actuator_")
class Actuators:
    trntype: index()
    dyntype: index()
    gaintype: index()
    biastype: index()
    ctrladr: index()
    ctrlnum: index()
    ctrlspec: index()
    outadr: index()
    outnum: index()
    actadr: index()
    actnum: index()
    trnid: index(dtype=wp.vec2i)
    actlimited: index()
    actearly: index()
    history: index(dtype=wp.vec2i)
    historyadr: index()
    group: index()
    plugin: index()
    forcelimited: index()
    ctrllimited: index()
    cranklength: param()
    dynprm: param(dtype=vec10)
    gainprm: param(dtype=vec10)
    biasprm: param(dtype=vec10)
    actrange: param(dtype=wp.vec2)
    delay: param(dtype=wp.float64)
    damping: param()
    dampingpoly: param(dtype=wp.vec2)
    armature: param()
    forcerange: param(dtype=wp.vec2)
    ctrlrange: param(dtype=wp.vec2)
    gear: param(dtype=wp.spatial_vector)
    acc0: param()
    length0: param()
    lengthrange: param(dtype=wp.vec2)
    momentnnz: index("nactuator")  # entries of each row of the moment, and address of the first: transmission.py
    momentadr: index("nactuator")
    family: index("nactuator")  # which stage computes the force, and what angle the setpoint is: activation.py
    periodic: index("nactuator")
    sleeper: index("nactuator", dtype=wp.vec2i)  # as of sensors


@bundle("eq_")
class Equalities:
    type: index()
    obj1id: index()
    obj2id: index()
    objtype: index()
    solref: param(dtype=wp.vec2)
    solimp: param(dtype=vec5)
    data: param(dtype=vec12)
    rows: index("neq_flex", dtype=wp.vec2i)  # rows of each, and the first of its edges; then edges: flex/tables.py


@bundle("flex_")
class Flexes:
    """Vertices, edges and elements of all flexes: flex/tables.py."""

    point: index("nflexpoint", dtype=vec7i)  # vertices, then nodes: flex/elastic.py, points
    supportbody: index("nflexsupport")
    supportplace: param("nflexsupport", dtype=wp.vec4)  # point in the body's frame, and weight
    edgelist: index("nflexedge", dtype=wp.vec4i)  # two vertices; address and length of its row in edge_J
    edgenumber: param("nflexedge", dtype=wp.vec4)  # rest length, inverse weight, stiffness, damping
    flexedge_J_colind: index()
    elemvert: index("nflexelem", dtype=wp.vec4i)
    elemlist: index("nflexelem", dtype=vec10i)  # flex; place, 0: touches nothing; stiffness; six edges; tables.leaves
    span: index("nflex", dtype=vec10i)  # first vertex, vertices, first element, elements, its lattice: flex/pairs.py
    pair: index("nflexpair", dtype=vec6i)  # geom or -1, flex or -1, flex, condim, most contacts or 0, bits
    pairnumber: param("nflexpair", dtype=vec17)  # flex/pairs.py, pair_lists
    number: param("nflex", dtype=wp.vec4)  # radius, Rayleigh's damping, yield of stretching, curvature a hinge bears
    hinge: index("nflexfold", dtype=vec6i)  # four vertices, flex, address of its numbers; then creases of shells
    cell: index("nflexcells", dtype=vec5i)  # cells, then their nodes: flex/cells.py, cell_rows
    elastic: param("nflexelastic")  # stiffness of elements, numbers of hinges, of nodes of cells, of rods
    rod: index("nflexrods", dtype=vec9i)  # chains, segments, bends: flex/rods.py, rod_list
    bodypoint: index("nflexbodypoint")  # where the points of each body begin, the end, the points; corners; trees


@bundle("sensor_")
class Sensors:
    type: index()
    datatype: index()
    needstage: index()
    objtype: index()
    objid: index()
    reftype: index()
    refid: index()
    intprm: index(dtype=wp.vec3i)
    dim: index()
    adr: index()
    cutoff: param()
    noise: param()
    history: index(dtype=wp.vec2i)
    historyadr: index()
    delay: param(dtype=wp.float64)
    interval: param(dtype=wp.vec2d)
    plugin: index()
    sleeper: index("nsensor", dtype=wp.vec2i)  # asleep when none of these bodies is awake; -1: always awake


@bundle("plugin_")
class Plugins:
    """Plugin instances: what they are, where their numbers lie, and the elements they serve (extension.py)."""

    kind: index("nplugin")  # which of the model's plugins
    stateadr: index()  # first of its plugin_state
    statenum: index()
    valueadr: index("nplugin")  # first of its configuration in `value`
    slotadr: index("nplugin")  # first of its rows in `slot`
    slot: index("npluginslot")  # offset of each declared state and activation; -1: not used by this configuration
    actuatoradr: index("nplugin")
    actuatornum: index("nplugin")
    actuatorid: index("npluginactuator")
    sensoradr: index("nplugin")
    sensornum: index("nplugin")
    sensorid: index("npluginsensor")
    bodyadr: index("nplugin")
    bodynum: index("nplugin")
    bodyid: index("npluginbody")
    value: param("npluginvalue")  # configuration of all instances


@wp.struct
class Probes:
    """Geom pairs whose distance sensors measure, and room for the contacts found on the way: sensors/distance.py."""

    adr: wp.array(dtype=int)  # (nsensor + 1,) first pair of each sensor
    geom: wp.array(dtype=wp.vec2i)
    function: wp.array(dtype=int)
    touch: bundles.Touch


@wp.struct
class Collision:
    """Inputs of the narrow phase, and of sensors that cast rays or measure distances."""

    geoms: bundles.Geoms
    meshes: bundles.Meshes
    hfields: bundles.HeightFields
    pairs: bundles.Pairs
    settings: bundles.Settings
    rays: wp.array(dtype=RayTargets)  # one, or none, as of the probes
    probes: wp.array(dtype=Probes)


@wp.struct
class Model:
    """All bundles of a model: the first argument of every stage."""

    size: Sizes
    opt: Options
    body: Bodies
    jnt: Joints
    dof: Dofs
    tree: Trees
    geom: Geoms
    site: Sites
    cam: Cameras
    light: Lights
    tendon: Tendons
    actuator: Actuators
    eq: Equalities
    flex: Flexes
    sensor: Sensors
    plugin: Plugins
    collision: Collision
