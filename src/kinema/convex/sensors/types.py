"""Names of MuJoCo's sensor types, object types and data types, as kernels compare them."""

import warp as wp

TOUCH, ACCELEROMETER, VELOCIMETER, GYRO, FORCE, TORQUE, MAGNETOMETER, RANGEFINDER, CAMPROJECTION = (
    wp.constant(k) for k in range(9)
)
JOINTPOS, JOINTVEL, TENDONPOS, TENDONVEL, ACTUATORPOS, ACTUATORVEL, ACTUATORFRC, JOINTACTFRC, TENDONACTFRC = (
    wp.constant(k) for k in range(9, 18)
)
BALLQUAT, BALLANGVEL = wp.constant(18), wp.constant(19)
JOINTLIMITPOS, JOINTLIMITVEL, JOINTLIMITFRC, TENDONLIMITPOS, TENDONLIMITVEL, TENDONLIMITFRC = (
    wp.constant(k) for k in range(20, 26)
)
FRAMEPOS, FRAMEQUAT, FRAMEXAXIS, FRAMEYAXIS, FRAMEZAXIS, FRAMELINVEL, FRAMEANGVEL, FRAMELINACC, FRAMEANGACC = (
    wp.constant(k) for k in range(26, 35)
)
SUBTREECOM, SUBTREELINVEL, SUBTREEANGMOM = (wp.constant(k) for k in range(35, 38))
INSIDESITE, GEOMDIST, GEOMNORMAL, GEOMFROMTO, CONTACT = (wp.constant(k) for k in range(38, 43))
E_POTENTIAL, E_KINETIC, CLOCK, TACTILE, PLUGIN, USER = (wp.constant(k) for k in range(43, 49))
"""mjtSensor."""

OBJ_UNKNOWN, OBJ_BODY, OBJ_XBODY = wp.constant(0), wp.constant(1), wp.constant(2)
OBJ_GEOM, OBJ_SITE, OBJ_CAMERA = wp.constant(5), wp.constant(6), wp.constant(7)
"""mjtObj: BODY is the inertial frame, XBODY the body's own."""

REAL, POSITIVE = wp.constant(0), wp.constant(1)
"""mjtDataType."""
