"""MuJoCo's physics for many worlds: one source for CPU and CUDA."""

from kinema.unread import later

later()
