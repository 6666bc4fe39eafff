"""Runs single stages on data taken from MuJoCo, so that each is compared alone."""

from dataclasses import dataclass

import mujoco
import numpy as np
import warp as wp

from kinema.convex.data import Data
from kinema.convex.layout import Layout
from kinema.convex.model import Collision, Model
from kinema.convex.stage import Stage, world_kernel
from kinema.convex.step import scratch_sizes
from kinema.model.mujoco_fields import data_fields

CONTACT_FIELDS = (
    "dist", "pos", "frame", "includemargin", "friction", "solref", "solreffriction", "solimp", "adhesion", "dim",
    "geom", "exclude",
)  # fmt: skip


@dataclass
class Harness:
    """A model and its data on the CPU with room for contacts and rows."""

    m: mujoco.MjModel
    nworld: int = 1
    nconmax: int = 128
    nefcmax: int = 512

    def __post_init__(self):
        capacity = {**scratch_sizes(self.m, self.nefcmax), "nconmax": self.nconmax, "nefcmax": self.nefcmax,
                    "ntreeword": -(-self.m.ntree // 32)}  # fmt: skip
        self.layout = Layout(self.m, self.nworld, wp.get_device("cpu"), capacity)
        self.model = self.layout.fill(Model, {"collision": Collision()})
        self.data = self.layout.fill(Data)

    def write(self, name: str, value) -> None:
        array = self.layout.arrays[name]
        host = array.numpy()
        host[:] = np.asarray(value).reshape(host.shape[1:])

    def read(self, name: str, world: int = 0) -> np.ndarray:
        return self.layout.arrays[name].numpy()[world]

    def inject(self, d: mujoco.MjData) -> None:
        """Copy everything MuJoCo has computed: state, poses, contacts."""
        for name, array in self.layout.arrays.items():
            known = data_fields().get(name)
            if known is None or name.startswith(("efc_", "wrap_", "ne", "nf", "nl", "ncon", "moment")):
                continue
            value = getattr(d, name, None)
            if value is not None and np.size(value) and np.size(value) * self.nworld == array.numpy().size:
                self.write(name, value)
        self.inject_contacts(d)

    def inject_contacts(self, d: mujoco.MjData) -> None:
        n = d.ncon
        self.write("ncon", n)
        for field in CONTACT_FIELDS:
            values = np.asarray(getattr(d.contact, field))
            host = self.layout.arrays[f"contact_{field}"].numpy()
            host[:, :n] = values.reshape(n, *host.shape[2:])
        exclude = self.layout.arrays["contact_exclude"].numpy()
        exclude[exclude == 3] = 0  # set by MuJoCo while it makes rows

    def run(self, *stages: Stage) -> None:
        kernel = world_kernel(tuple(stages))
        wp.launch(kernel, dim=self.nworld, inputs=[self.model, self.data, 0, 1, 1], device="cpu")


def dense_jacobian(m: mujoco.MjModel, d: mujoco.MjData) -> np.ndarray:
    """efc_J as a full matrix, whatever form MuJoCo keeps it in."""
    if not mujoco.mj_isSparse(m):
        return np.asarray(d.efc_J)[: d.nefc * m.nv].reshape(d.nefc, m.nv).copy()  # there may be more room
    full = np.zeros((d.nefc, m.nv))
    mujoco.mju_sparse2dense(full, d.efc_J, d.efc_J_rownnz, d.efc_J_rowadr, d.efc_J_colind)
    return full
