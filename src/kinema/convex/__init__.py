"""MuJoCo's physics for many worlds: one source for CPU and CUDA."""

from kinema.dialect import mend
from kinema.unread import later

later()
mend()
