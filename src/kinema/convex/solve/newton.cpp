// Newton's method: on CUDA by a group of threads an island, on the CPU by one thread a world, all islands of it in turn.
#if defined(__CUDA_ARCH__)
#include "island.cpp"
#elif KN_WHOLE
#include "primal.cpp"
#endif
