"""Native code of the solvers: C++ in files of this folder, one source for CPU and CUDA.

`#include "file.cpp"` lays another file of the folder in, as a preprocessor would; definitions come first, then the
enumerations that solvers speak of, under the names they have in Python (Constraint::CONTACT_ELLIPTIC).

What is to go eight numbers at a time on the CPU is written so (vector8.cpp). Loops whose length only the model tells
are compiled as they are written: the compiler would make each of them three, one for vectors, one unrolled and one for
the rest, which takes it half as long again, and rows are too short to gain by it.
"""

import re
from dataclasses import dataclass
from importlib.resources import files

from kinema.mujoco_enums import Constraint, ConstraintState, Disable, native

WARP = 32  # threads of a lane group on CUDA, where a stage does not ask for more
ENUMS = native(Constraint, ConstraintState, Disable)
ROWS = """
    d.efc.nefc[w] d.efc.ne[w] d.efc.nf[w] d.efc.J[w] d.efc.R[w] d.efc.frictionloss[w] d.efc.type[w] d.efc.id[w]
    d.efc.trees[w] d.efc.force[w] d.efc.state[w] d.crow.mu[w] d.con.dim[w] d.con.friction[w]
    m.tree.dofadr m.tree.dofnum
"""
"""What every solver reads of the constraint rows, as `touches` has it: lanes.cpp, rows.cpp."""

RESULT = "d.efc.force[w] d.efc.state[w] d.frc.qacc[w] d.frc.qfrc_constraint[w] d.solver.niter[w]"
"""What every solver gives."""

MASS = "m.dof.M_rowadr m.dof.M_rownnz m.dof.M_colind"
"""Where the entries of the mass matrix and of its factor are."""

COUPLED = """
    d.fcon.flex[w] d.fcon.elem[w] m.flex.bodypoint m.flex.span m.flex.elemvert m.flex.point m.body.treeid
"""
"""What couples trees of flexes beside rows: flex_islands.cpp."""

INERTIA = "d.inertia.M[w] m.dof.M_rowadr m.dof.M_rownnz"
"""What the inertia of dofs is read from: own_inertia.cpp."""


@dataclass(frozen=True)
class System:
    """The arrays that a solver takes for the mass matrix and the smooth force.

    Attributes:
        matrix: The matrix, in sparse rows.
        rows: Where its rows are, as the beginning of three names: rowadr, rownnz, colind.
        factor: The factor of what M's own pattern holds of it, and the inverse of its diagonal.
        force: The smooth force.
    """

    matrix: str
    rows: str
    factor: tuple[str, str]
    force: str

    @property
    def definitions(self) -> dict[str, str]:
        """What native code calls them."""
        lists = {f"METRIC_{part.upper()}": self.rows + part for part in ("rowadr", "rownnz", "colind")}
        return {"METRIC": self.matrix, "SMOOTH": self.force, **lists}

    @property
    def reads(self) -> str:
        """The same, as `touches` has it."""
        return f"{self.matrix}[w] {self.force}[w] {self.rows}rowadr {self.rows}rownnz {self.rows}colind"


CONTINUOUS = System("d.inertia.M", "m.dof.M_", ("d.inertia.qLD", "d.inertia.qLDiagInv"), "d.frc.qfrc_smooth")
DISCRETE = System("d.metric.value", "m.dof.metric_", ("d.inertia.qH", "d.inertia.qHDiagInv"), "d.metric.force")
"""What continuous time is solved in, and what the discrete integrator is (metric.py)."""

_INCLUDE = re.compile(r'^#include "(\w+\.cpp)"$', re.MULTILINE)
_LOOP = re.compile(r"(?<!KN_UNROLLED )\bfor \((?!\w+ \w+ = \w+; \w+ [<>]=? (?:\d+|[A-Z_]+\d*);)")
"""A loop whose length is not told by two numbers, or by one and a constant, whose name is in capitals; nor by the
loop around it, which is said there."""

AS_WRITTEN = """
#undef KN_UNROLLED
#undef KN_AS_WRITTEN
#define KN_UNROLLED
#if defined(__CUDA_ARCH__)
#define KN_AS_WRITTEN
#else
#define KN_AS_WRITTEN _Pragma("clang loop vectorize(disable) unroll(disable)")
#endif
"""


def source(name: str, **definitions: int | str) -> str:
    """The code in a file, with what it includes, and KN_<NAME> defined for each definition; a group is a warp unless
    TEAM says how many threads it has on CUDA."""
    return lay_in(_LOOP.sub("KN_AS_WRITTEN for (", _read(name)), **definitions)


def lay_in(text: str, **definitions: int | str) -> str:
    """Code from elsewhere, with the files of this folder that it includes."""
    defined = {"TEAM": WARP, **definitions}
    head = "".join(f"#undef KN_{key}\n#define KN_{key} {value}\n" for key, value in defined.items())
    return head + ENUMS + AS_WRITTEN + _INCLUDE.sub(lambda found: _read(found[1]), text)


def _read(name: str) -> str:
    text = files("kinema.convex.solve").joinpath(name).read_text(encoding="utf-8")
    return _INCLUDE.sub(lambda found: _read(found[1]), text)
