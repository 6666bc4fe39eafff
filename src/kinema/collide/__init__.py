"""Who touches whom, where: filter, broad phase, one file per pair family, the pair table, and the driver ``detect``."""

from kinema.dialect import mend
from kinema.unread import later

later()
mend()
