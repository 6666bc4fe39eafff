"""Between a Newton-style Model and the engine: what its arrays mean to MuJoCo, and back.

    view            one world of a Model as an object with mjModel's attributes
    lower           hand-built parts as a document, compiled like any other
    ties            joints made by hand between parts of documents, as equality constraints
    conventions     State and Control to qpos, qvel, ctrl and back: the only file that converts between the conventions
    boundary        one kernel a direction over all worlds of a class
    kinematics      bodies on the way back, from qpos and qvel alone
    core_changes    changed core arrays, carried over to the rows of a document
    solver          SolverConvex: step(state_in, state_out, control, contacts, dt) over engines, one a class of worlds
    model_contacts  Model.collide: the engine's narrow phase in Newton's buffers
"""
