"""What the engine computes: bundles of mjData's arrays, by concept, with a leading world axis.

    d.state.qpos[w, i]    what must be saved to go on
    d.pose.xpos[w, b]     workspace: may be thrown away and computed again

Names follow mjData. Arrays MuJoCo does not have say their size here.
"""

import warp as wp

from kinema.collide.bundles import Ahead, Contacts, Geoms
from kinema.convex.bundle import adopt, bundle, data, per_world, same, shared, vec6, vec7, vec10


@bundle()
class State:
    """All that must be saved: with the model it determines every later step."""

    time: per_world(wp.float64)
    qpos: data()
    qvel: data()
    act: data()
    history: data(dtype=wp.float64)  # times decide which sample is read: history.py
    plastic: data()
    qacc_warmstart: data()
    tree_asleep: data(dtype=int)  # below 0: awake; else the next of those asleep with it: sleep/
    asleep_qpos: data("nq_sleep")  # qpos at which sleeping trees lie: a write wakes them
    plugin_state: data()
    ctrl: data()
    qfrc_applied: data()
    xfrc_applied: data(dtype=wp.spatial_vector)
    eq_active: data(dtype=int)
    mocap_pos: data(dtype=wp.vec3)
    mocap_quat: data(dtype=wp.vec4)
    userdata: data()
    status: per_world(int)  # bits of Status: what went wrong in this world since it was last read


@bundle()
class Poses:
    xpos: data(dtype=wp.vec3)
    xquat: data(dtype=wp.vec4)
    xmat: data(dtype=wp.mat33)
    xipos: data(dtype=wp.vec3)
    ximat: data(dtype=wp.mat33)
    xanchor: data(dtype=wp.vec3)
    xaxis: data(dtype=wp.vec3)
    geom_xpos: data(dtype=wp.vec3)
    geom_xmat: data(dtype=wp.mat33)
    site_xpos: data(dtype=wp.vec3)
    site_xmat: data(dtype=wp.mat33)
    cam_xpos: data(dtype=wp.vec3)
    cam_xmat: data(dtype=wp.mat33)
    light_xpos: data(dtype=wp.vec3)
    light_xdir: data(dtype=wp.vec3)


@bundle()
class Inertia:
    """Com-based inertia, motion axes, and the mass matrix with its factor (sparse, as MuJoCo keeps them)."""

    subtree_com: data(dtype=wp.vec3)
    cdof: data(dtype=wp.spatial_vector)
    cinert: data(dtype=vec10)
    crb: data(dtype=vec10)
    composite: data("nbody", dtype=vec10)  # the same inertia as crb, about the centre of its own subtree
    M: data()
    qLD: data()
    qLDiagInv: data()
    qH: data()
    qHDiagInv: data()
    qDeriv: data()
    qLU: data()


@bundle("metric_")
class Metric:
    """What the discrete integrator has in place of the mass matrix (metric.py); empty for other integrators."""

    value: data("nmetric")  # Mh, in rows as those of M
    shift: data("nv_discrete")  # -h K v
    force: data("nv_discrete")  # smooth force, shifted
    weight: data("nv_flexmetric")  # of models with flexes, its diagonal without them
    residual: data("nv_tied")  # conjugate gradients
    slant: data("nv_tied")
    search: data("nv_tied")


@bundle()
class Velocities:
    cvel: data(dtype=wp.spatial_vector)
    cdof_dot: data(dtype=wp.spatial_vector)
    subtree_linvel: data(dtype=wp.vec3)
    subtree_angmom: data(dtype=wp.vec3)
    cacc: data(dtype=wp.spatial_vector)
    cfrc_int: data(dtype=wp.spatial_vector)
    cfrc_ext: data(dtype=wp.spatial_vector)


@bundle("ahead_")
class AheadMotion:
    """How geoms move within the step (ahead.py); empty unless contacts are made ahead of impact."""

    travel: data("ngeom_ahead", dtype=wp.vec3)
    turn: data("ngeom_ahead", dtype=wp.vec3)
    reach: data("ngeom_ahead")
    body_reach: data("nbody_ahead")
    body_thin: data("nbody_ahead")
    clock: data("one_ahead", dtype=wp.vec4)  # step, and what row_time says


@bundle("ten_")
class TendonPaths:
    wrapadr: data(dtype=int)
    wrapnum: data(dtype=int)
    J: data()
    length: data()
    velocity: data()
    wrap_obj: data("nwrap", 2, dtype=int)
    wrap_xpos: data("nwrap", 2, dtype=wp.vec3)


@bundle("flex")
class FlexState:
    """Vertices, edges and elements of flexes."""

    vert_xpos: data(dtype=wp.vec3)
    vert_place: data("nflexvert", dtype=wp.vec3)  # in the frame it slides in: edges.py
    elem_aabb: data(dtype=vec6)
    edge_J: data()
    edge_length: data()
    edge_velocity: data()
    tree: data("nflexelem_met", dtype=vec6)  # boxes around boxes of elements, by their ends: flex/tree.py
    order: data("nflexelem_met", dtype=int)  # elements that were found near something
    part_force: data("nflexpart", dtype=wp.spatial_vector)  # elastic forces of elements, hinges, cells: elasticity.py
    neo: data("nflexelem_neo", 6, dtype=wp.mat33)  # stiffness of Stable Neo-Hookean elements: neohookean.py
    point_force: data("nflexpoint_force", dtype=wp.spatial_vector)
    node_place: data("nflexnode", dtype=wp.vec3)  # of interpolated flexes, in the frame they slide in: corotation.py
    cell_turn: data("nflexcell", dtype=wp.mat33)  # how each cell has turned from rest
    segment: data("nflexsegment", 3, dtype=vec7)  # of rods: frame and twist, its past, its next state: rod_chain.py
    bend: data("nflexbend", 3, dtype=wp.mat44)  # of rods: stiffness, damping, what is left for segments: rod_force.py
    cell_shape: data("nflexcellnode", dtype=wp.spatial_vector)  # displacement and velocity of its nodes, turned back


@bundle("actuator_")
class Actuation:
    length: data()
    velocity: data()
    force: data()
    moment: data()
    moment_rownnz: shared()
    moment_rowadr: shared()
    moment_colind: shared()
    act_dot: data()
    control: data("nu")  # what actuators make of ctrl: delayed, clamped
    tendon_force: data("ntendon")  # sum over the actuators on each tendon
    slope: data("nactuator")  # d force / d velocity, for implicit integrators
    stretch: data("nactuator")  # d force / d length, for the discrete one


@bundle()
class Forces:
    """Generalized forces and accelerations."""

    qfrc_bias: data()
    qfrc_spring: data()
    qfrc_damper: data()
    qfrc_gravcomp: data()
    qfrc_fluid: data()
    qfrc_adhesion: data()
    qfrc_passive: data()
    qfrc_actuator: data()
    qfrc_smooth: data()
    qfrc_constraint: data()
    qfrc_inverse: data()
    qacc: data()
    qacc_smooth: data()
    energy: data(2)


@bundle("efc_")
class Rows:
    """Constraint rows; the first nefc[w] of nefcmax are in use.

    A row of J is stored in full length, but only its columns in the trees of the row are written: nothing outside them
    may be read. In models with flexes a row holds only the columns it lists (constraint/sparse.py).
    """

    ne: per_world(int)
    nf: per_world(int)
    nl: per_world(int)
    nefc: per_world(int)
    dropped: per_world(int)  # rows that found no room
    most: per_world(int)  # rows wanted, at most so far
    want: data("nslot", dtype=int)  # rows that constraints other than contacts want, slot by slot: place.py
    start: data("nslot", dtype=int)  # first row of each; -1: none
    type: data("nefcmax", dtype=int, rows=True)
    id: data("nefcmax", dtype=int, rows=True)
    trees: data("nefcmax", dtype=wp.vec2i, rows=True)  # one tree and -1, two trees, or -1 and -1: any tree
    J: data("nefcmax", "ncolmax", rows=True)
    ncol: data("nefcmax_flex", dtype=int, rows=True)  # number of columns, and columns, of rows that list theirs
    col: data("nefcmax_flex", "ncolmax", dtype=int, rows=True)
    pos: data("nefcmax", rows=True)
    margin: data("nefcmax", rows=True)
    frictionloss: data("nefcmax", rows=True)
    vel: data("nefcmax", rows=True)
    aref: data("nefcmax", rows=True)
    R: data("nefcmax", rows=True)
    D: data("nefcmax", rows=True)
    force: data("nefcmax", rows=True)
    state: data("nefcmax", dtype=int, rows=True)


@bundle("contact_")
class ContactRows:
    """What constraint rows add to contacts."""

    want: data("nconmax", dtype=int)  # rows the contact wants
    address: data("nconmax", dtype=int)  # first row of the contact; -1: none
    mu: data("nconmax")  # friction of the regularized cone
    most: per_world(int)  # contacts found, at most so far
    bodies: data("nconmax", dtype=wp.vec2i)
    trees: data("nconmax", dtype=wp.vec2i)  # as in Rows
    vel: data("nconmax", dtype=wp.spatial_vector)  # normal, tangents, spin, rolls
    load: data("nconmax", dtype=wp.spatial_vector)  # torque and force in the world's frame; for sensors


@bundle("contact_")
class ContactFlexes:
    """Which flexes meet in a contact, in models that have any; -1: none, or not of that kind."""

    flex: data("nconmax_flex", dtype=wp.vec2i)
    elem: data("nconmax_flex", dtype=wp.vec2i)  # counted within the flex, as are vertices
    vert: data("nconmax_flex", dtype=wp.vec2i)


@bundle("near_")
class FlexNear:
    """What is near a flex, and contacts as threads of CUDA find them: flex/near.py."""

    count: per_world(int)
    key: data("nflexnear", dtype=wp.int64, rows=True)
    last: data("nflexnear", dtype=int, rows=True)  # link to the last contact, 0 without: collide/emit.py
    used: per_world(int)  # slots taken
    dist: data("nconmax_flex", rows=True)
    pos: data("nconmax_flex", dtype=wp.vec3, rows=True)
    frame: data("nconmax_flex", dtype=wp.mat33, rows=True)
    extent: data("nflex", 2, dtype=wp.vec3)  # of the active elements of each flex: least and greatest


@bundle("solver_")
class Search:
    """Scratch of the constraint solver."""

    niter: per_world(int)
    treeM: data("nv_dense", "nv_tree", rows=True)  # the mass matrix, each row in the columns of its tree
    H: data("nv_hessian", "nv_hessian", rows=True)  # blocks of eight by eight, see solve/leaves_first.cpp
    strip: data(14, "nv_vector", rows=True)
    pattern: data("ntree_dense", "ntreeword", dtype=int, rows=True)  # bit u of row t: trees t and u are coupled in H
    lists: data("nsparselist", dtype=int, rows=True)  # columns of H, entries of J by dof: solve/sparse.cpp
    root: data("ntree", dtype=int, rows=True)  # islands, see solve/islands.cpp: first tree of the island of each
    next_tree: data("ntree", dtype=int, rows=True)
    last_tree: data("ntree", dtype=int, rows=True)
    first_row: data("ntree", dtype=int, rows=True)
    next_row: data(4, "nefcmax", dtype=int, rows=True)  # and on the CPU columns (solve/columns.cpp) and runs of rows
    acc: data("nv_narrow", rows=True)
    Ma: data("nv_narrow", rows=True)
    Mv: data("nv_narrow", rows=True)
    grad: data("nv_narrow", rows=True)
    search: data("nv_narrow", rows=True)
    Jaref: data("nefcmax_narrow", rows=True)
    Jv: data("nefcmax_narrow", rows=True)
    wide: data("nwide", dtype=wp.float64, rows=True)  # all of these in doubles: solve/sparse.cpp
    spill: data("nspill", rows=True)  # numbers of rows that find no room in the shared memory of a team


@bundle("island_")
class Islands:
    """Islands on CUDA, see solve/find_islands.cpp; empty where the world is one, and on the CPU."""

    root: data("ntree_island", dtype=int, rows=True)
    number: data("ntree_island", dtype=int, rows=True)
    dofs: data("ntree_island", dtype=int, rows=True)
    rows: data("ntree_island", dtype=int, rows=True)
    members: data("ntree_island", dtype=int, rows=True)
    first: data("ntree_island", dtype=int, rows=True)
    bucket: data("nbucket_island", dtype=int, rows=True)  # first island of each bucket
    treeadr: data("nlist_island", dtype=int, rows=True)  # where trees and rows of each island begin
    rowadr: data("nlist_island", dtype=int, rows=True)
    tree: data("ntree_island", dtype=int, rows=True)  # trees and rows by island
    row: data("nefc_island", dtype=int, rows=True)
    start: data("nstart_island", rows=True)  # unconstrained acceleration, and the way from there to the last one
    warm: data("none_island", dtype=int, rows=True)  # begin at the last acceleration?


@bundle("sleep_")
class Sleep:
    """Who is awake, as MuJoCo lists it, and what the stages of sleep/ tell each other."""

    tree_awake: data(dtype=int)
    body_awake: data(dtype=int)
    body_awake_ind: data(dtype=int)
    parent_awake_ind: data(dtype=int)
    dof_awake_ind: data(dtype=int)
    ntree_awake: per_world(int)
    nbody_awake: per_world(int)
    nparent_awake: per_world(int)
    nv_awake: per_world(int)
    joints: data("njnt_sleep", dtype=int)  # lists of the same kind that MuJoCo does not have
    geoms: data("ngeom_sleep", dtype=int)
    sites: data("nsite_sleep", dtype=int)
    joint_count: per_world(int)
    geom_count: per_world(int)
    site_count: per_world(int)
    stirred: data("ntree_sleep", dtype=int)  # somebody has touched the tree
    root: data("ntree_sleep", dtype=int)  # trees that rows couple: the first of each island
    last: data("ntree_sleep", dtype=int)  # of a root: the last tree of the island so far; -1: one of it cannot sleep
    mocap_pos: data("nmocap_sleep", dtype=wp.vec3)  # where mocap bodies that trees hang on were
    mocap_quat: data("nmocap_sleep", dtype=wp.vec4)
    settled: per_world(int)  # 0: what sleeping trees keep is not of this state, and is computed once
    restless: per_world(int)  # 1: some tree was touched, or is ready to sleep
    fell: per_world(int)  # 1: some tree has fallen asleep in this step
    changed: per_world(int)  # 1: lists must be made anew
    look: per_world(int)  # what detection is to do: collide/asleep.py


@bundle("dual_")
class Dual:
    """Scratch of solvers that work on forces; empty unless the model asks for one."""

    B: data("nefcmax", "nv_dual", rows=True)  # M^-1 J'
    block: data("nefcmax", "block_dual", dtype=wp.float64, rows=True)  # row k: A[k, j] for the rows j of its block
    ahead: data("nefcmax", "one_dual", rows=True)  # forces with momentum
    isle: data("two_dual", "nefcmax", dtype=int, rows=True)  # the first tree of a row's island; blocks, shuffled
    root: data("two_dual", "ntree_dual", dtype=int, rows=True)  # the first tree of a tree's; sweeps of no-slip over it
    start: data("nv_dual", rows=True)  # the acceleration that the pass started from


@bundle()
class Scratch:
    """Between stages of the smooth half."""

    rne_acc: data("nbody", dtype=wp.spatial_vector)  # recursive Newton-Euler: acceleration of bodies
    rne_frc: data("nbody", dtype=wp.spatial_vector)  # and force their subtrees need
    substep: per_world(int)  # which evaluation of a Runge-Kutta step is under way
    qacc_step: data("nv")  # acceleration the integrator chose
    body_slope: data("nbody_implicit", dtype=wp.spatial_matrix)  # d(force on a body)/d(its velocity)
    whitened: data("nv_exact")  # a row of J by the root of the inverse inertia, for each lane: constraint/exact.py


@bundle()
class Marks:
    """Numbers beside the state that a run which does not count must not leave behind."""

    substep: per_world(int)
    contact_most: per_world(int)
    efc_most: per_world(int)


@bundle("rk_")
class RungeKutta:
    """Between the evaluations of a Runge-Kutta step; empty for other integrators."""

    time0: per_world(wp.float64)
    qpos0: data("nq_rk4")
    of_dof: data("nv_rk4", 2)  # velocity at the beginning, and the sum of accelerations
    of_act: data("na_rk4", 2)  # activation at the beginning, and the sum of its rates
    rate: data("nv_rk4")  # velocity of the latest evaluation, as the rate of rotation vectors
    sum_rate: data("nv_rk4")


@bundle()
class Readings:
    sensordata: data()
    fresh: data("nsensordata")  # readings of this step, where sensordata shows past ones


adopt(Contacts, "contact_", "nconmax", shared=("status",))
same(Geoms, xpos="geom_xpos", xmat="geom_xmat", awake="body_awake", look="sleep_look")
same(Ahead, **{name: f"ahead_{name}" for name in AheadMotion.vars})


@wp.struct
class Data:
    """All bundles of a run: the second argument of every stage.

    Bundles that few models need stand behind arrays of one, `d.rk[0].qpos[w, i]`: CUDA hands a kernel 32 kB of
    arguments, and kernels of plugins want room beside these. Stages of such bundles have no derivatives in duals
    (gradients/arrays.py widens what stands here itself).
    """

    state: State
    pose: Poses
    inertia: Inertia
    metric: Metric
    vel: Velocities
    ahead: wp.array(dtype=AheadMotion)
    ten: TendonPaths
    flex: FlexState
    act: Actuation
    frc: Forces
    con: Contacts
    crow: ContactRows
    fcon: ContactFlexes
    near: wp.array(dtype=FlexNear)
    efc: Rows
    solver: Search
    island: Islands
    sleep: Sleep
    dual: Dual
    sensor: Readings
    scratch: Scratch
    rk: wp.array(dtype=RungeKutta)
