"""MuJoCo's physics for many worlds: one source for CPU and CUDA."""
