"""Native code of CUDA, run on the CPU."""
