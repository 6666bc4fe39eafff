"""mujoco.elasticity.cable: bending and twist of a chain of bodies on ball joints, as an elastic rod.

Between body b and the one before it the curvature is the rotation vector omega of Q = body_quat q_joint, less that at
rest. With K = (J G, Iy E, Iz E) of the cross-section and L the distance of the bodies at rest, the stress is

    S_b = -K (omega - omega_0) / L_b

and the torque on body b, in its frame, is conj(Q_b) S_b of its own joint minus S_(b+1) of the next.
"""
