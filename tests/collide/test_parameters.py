"""Contact parameters mixed on the device, where worlds differ, against the host's (which MuJoCo judges)."""

from types import SimpleNamespace

import mujoco
import numpy as np
import warp as wp
from test_filter import FILTER_XML

from kinema.collide import upload
from kinema.collide.filter import geom_pairs
from kinema.collide.parameters import mix_pairs, mix_parameters

FLOATS = ("solmix", "friction", "solref", "solimp", "margin", "gap", "adhesion")


def randomised(m: mujoco.MjModel, rng: np.random.Generator) -> SimpleNamespace:
    """The geoms of a model with other parameters."""
    new = SimpleNamespace(ngeom=m.ngeom, geom_condim=m.geom_condim, geom_priority=m.geom_priority)
    for name in FLOATS:
        value = np.asarray(getattr(m, f"geom_{name}"))
        setattr(new, f"geom_{name}", (value * rng.uniform(0.5, 1.5, size=value.shape)).astype(np.float32))
    return new


def test_worlds_with_their_own_geom_parameters():
    m = mujoco.MjModel.from_xml_string(FILTER_XML.format(option=""))
    rng = np.random.default_rng(0)
    worlds = [randomised(m, rng) for _ in range(3)]
    host = geom_pairs(m)
    n = len(host.function)
    pairs = upload.swept_pairs(n, 3)
    pairs.geom.assign(np.tile(host.geom, (3, 1, 1)))
    g = upload.geom_parameters(m, 3)
    kinds = dict(zip(FLOATS, (float, wp.vec3, wp.vec2, upload.vec5, float, float, float), strict=True))
    for name, dtype in kinds.items():
        setattr(g, name, wp.array(np.array([getattr(w, f"geom_{name}") for w in worlds]), dtype=dtype))
    implicit = np.flatnonzero(host.explicit < 0).astype(np.int32)
    wp.launch(mix_pairs, (len(implicit), 3), inputs=[g, wp.array(implicit), pairs], device="cpu")
    assert len(implicit) > 10
    for w, world in enumerate(worlds):
        want = mix_parameters(world, host.geom[implicit, 0], host.geom[implicit, 1])
        for name in ("friction", "solref", "solimp", "margin", "gap", "adhesion"):
            got = getattr(pairs, name).numpy()[w, implicit]
            np.testing.assert_allclose(got, getattr(want, name), rtol=1e-5, atol=1e-7, err_msg=name)
