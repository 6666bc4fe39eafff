// CUDA's threads on a CPU: the threads of a block are fibres that take turns at every meeting. For tests of native code that
// only CUDA runs: what it computes, and that it meets where it must (threads can be run in either order).
#pragma once
#include <ucontext.h>
#include <cmath>
#include <cstdio>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <vector>

#define __CUDA_ARCH__ 900
#define KN_FIBRES 1
#define __shared__ static
#define __align__(n) __attribute__((aligned(n)))

#if !defined(KN_BESIDE_WARP)  // its headers have these
struct float4 { float x, y, z, w; };
namespace wp {
template <class X> inline X max(X a, X b) { return a > b ? a : b; }
template <class X> inline X min(X a, X b) { return a < b ? a : b; }
}
inline float rsqrtf(float x) { return 1.0f / std::sqrt(x); }
inline float __int_as_float(int x) { float y; std::memcpy(&y, &x, 4); return y; }
inline int __float_as_int(float x) { int y; std::memcpy(&y, &x, 4); return y; }
#else
using wp::__float_as_int;
using wp::__int_as_float;
#endif
inline float4 make_float4(float x, float y, float z, float w) { return {x, y, z, w}; }
inline int __popc(unsigned x) { return __builtin_popcount(x); }
inline int __ffs(unsigned x) { return __builtin_ffs((int)x); }
inline int atomicMin(int* p, int x) { const int old = *p; if (x < old) *p = x; return old; }
inline int atomicMax(int* p, int x) { const int old = *p; if (x > old) *p = x; return old; }
inline int atomicAdd(int* p, int x) { const int old = *p; *p += x; return old; }

struct Block {
    struct Fibre { ucontext_t context; std::vector<char> stack; bool ended; long meetings[7]; int place[7][2]; };
    std::vector<Fibre> fibres;
    ucontext_t outside;
    int current = 0;
    void (*work)(int) = nullptr;
    uint64_t word[1024];
};
inline Block block;
inline int meeting_line_ = 0;  // the line of a meeting: threads that wait at different ones hang on CUDA, or worse
struct Index { unsigned x; };
#define threadIdx (Index{(unsigned)block.current})
inline unsigned __activemask() { return 1u << (block.current & 31); }  // CUDA promises no more

inline void yield_() { swapcontext(&block.fibres[block.current].context, &block.outside); }
// wait until all of the given threads that still run have come as often
inline void meet_(int from, int to, int kind) {
    Block::Fibre& self = block.fibres[block.current];
    const long mine = ++self.meetings[kind];
    self.place[kind][mine & 1] = meeting_line_;
    for (;;) {
        bool all = true;
        for (int t = from; t < to && t < (int)block.fibres.size(); ++t)
            if (!block.fibres[t].ended && block.fibres[t].meetings[kind] < mine) all = false;
        if (all) break;
        yield_();
    }
    meeting_line_ = self.place[kind][mine & 1];  // who trades meets twice
    for (int t = from; t < to && t < (int)block.fibres.size(); ++t) {  // two places: others may have gone on to the next
        const Block::Fibre& other = block.fibres[t];
        if (!other.ended && other.place[kind][mine & 1] != self.place[kind][mine & 1]) {
            std::fprintf(stderr, "thread %d waits at line %d, thread %d at line %d\n", block.current,
                         self.place[kind][mine & 1], t, other.place[kind][mine & 1]);
            std::abort();
        }
    }
}
inline void __syncthreads() { meet_(0, (int)block.fibres.size(), 0); }
inline void __syncwarp(unsigned mask = 0xffffffffu) {
    int low = __builtin_ctz(mask), high = 32 - __builtin_clz(mask), base = block.current & ~31;
    meet_(base + low, base + high, 32 - __builtin_clz(high - low));  // groups of 1, 2, 4 ... 32: each size counts for itself
}
template <class X> inline X trade_(unsigned mask, X x, int from) {
    std::memcpy(block.word + block.current, &x, sizeof(X));
    __syncwarp(mask);
    X y = x;
    if (from >= 0 && from < (int)block.fibres.size()) std::memcpy(&y, block.word + from, sizeof(X));
    __syncwarp(mask);
    return y;
}
template <class X> inline X __shfl_xor_sync(unsigned mask, X x, int o) { return trade_(mask, x, block.current ^ o); }
template <class X> inline X __shfl_sync(unsigned mask, X x, int from, int width = 32) {
    return trade_(mask, x, (block.current & ~(width - 1)) + from % width);
}
template <class X> inline X __shfl_up_sync(unsigned mask, X x, int o) {
    return trade_(mask, x, (block.current & 31) >= o ? block.current - o : block.current);
}
inline unsigned __ballot_sync(unsigned mask, bool on) {
    block.word[block.current] = on;
    __syncwarp(mask);
    unsigned all = 0;
    for (int q = 0; q < 32; ++q) {
        const int t = (block.current & ~31) + q;
        if ((mask >> q & 1u) && t < (int)block.fibres.size() && block.word[t]) all |= 1u << q;
    }
    __syncwarp(mask);
    return all;
}
inline bool __any_sync(unsigned mask, bool on) { return __ballot_sync(mask, on) != 0; }
inline bool __all_sync(unsigned mask, bool on) { return !__any_sync(mask, !on); }
inline unsigned __match_any_sync(unsigned mask, int x) {
    std::memcpy(block.word + block.current, &x, 4);
    __syncwarp(mask);
    unsigned same = 0;
    for (int q = 0; q < 32; ++q)
        if ((mask >> q & 1u) && (int)block.word[(block.current & ~31) + q] == x) same |= 1u << q;
    __syncwarp(mask);
    return same;
}

// from here on whoever meets says where; a thread that runs is not interrupted in between
#define __syncthreads() (meeting_line_ = __LINE__, __syncthreads())
#define __syncwarp(...) (meeting_line_ = __LINE__, __syncwarp(__VA_ARGS__))
#define __shfl_xor_sync(...) (meeting_line_ = __LINE__, __shfl_xor_sync(__VA_ARGS__))
#define __shfl_sync(...) (meeting_line_ = __LINE__, __shfl_sync(__VA_ARGS__))
#define __shfl_up_sync(...) (meeting_line_ = __LINE__, __shfl_up_sync(__VA_ARGS__))
#define __ballot_sync(...) (meeting_line_ = __LINE__, __ballot_sync(__VA_ARGS__))
#define __any_sync(...) (meeting_line_ = __LINE__, __any_sync(__VA_ARGS__))
#define __all_sync(...) (meeting_line_ = __LINE__, __all_sync(__VA_ARGS__))
#define __match_any_sync(...) (meeting_line_ = __LINE__, __match_any_sync(__VA_ARGS__))

inline void begin_() {
    block.work(block.current);
    block.fibres[block.current].ended = true;
    for (;;) yield_();
}
inline void run_block(int threads, void (*work)(int), bool backward) {
    block.work = work;
    block.fibres.assign(threads, {});
    for (int t = 0; t < threads; ++t) {
        Block::Fibre& fibre = block.fibres[t];
        fibre.stack.resize(256 * 1024);
        getcontext(&fibre.context);
        fibre.context.uc_stack.ss_sp = fibre.stack.data();
        fibre.context.uc_stack.ss_size = fibre.stack.size();
        fibre.context.uc_link = nullptr;
        makecontext(&fibre.context, begin_, 0);
    }
    for (bool going = true; going;) {
        going = false;
        for (int k = 0; k < threads; ++k) {
            const int t = backward ? threads - 1 - k : k;
            if (block.fibres[t].ended) continue;
            going = true;
            block.current = t;
            swapcontext(&block.outside, &block.fibres[t].context);
        }
    }
}

template <class X> struct Array { X* data; int64_t strides[4]; int shape[4]; };
