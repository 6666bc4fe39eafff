"""Device mathematics: quaternions, frames, spatial vectors. Warp functions only, no arrays and no state."""

from kinema.dialect import mend
from kinema.unread import later

later()
mend()
