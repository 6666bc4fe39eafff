"""System identification: numbers of a model from what the mechanism did.

    parameters = [sysid.Parameter("body_mass", "fore"), sysid.Parameter("dof_damping", "elbow")]
    found = sysid.identify(sim, recording, parameters)
    print(found)
    found.apply(sim)
"""

from kinema.sysid.identify import Identification, identify
from kinema.sysid.measured import Measured
from kinema.sysid.parameter import Parameter

__all__ = ["Identification", "Measured", "Parameter", "identify"]
