// CUDA's threads on a CPU: the threads of a block are fibres that take turns at every meeting. For tests of native code that
// only CUDA runs: what it computes, and that it meets where it must (threads can be run in either order).
#pragma once
#include <setjmp.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#define __CUDA_ARCH__ 900
#define KN_FIBRES 1
#if KN_COUNT  // what stands for CUDA itself takes no time (spans.py)
#define KN_UNCOUNTED __attribute__((no_sanitize_coverage, noinline))
#else
#define KN_UNCOUNTED
#endif
#define __shared__ static
#define __align__(n) __attribute__((aligned(n)))

#if !defined(KN_BESIDE_WARP)  // its headers have these
struct float4 { float x, y, z, w; };
namespace wp {
template <class X> inline X max(X a, X b) { return a > b ? a : b; }
template <class X> inline X min(X a, X b) { return a < b ? a : b; }
}
inline float __int_as_float(int x) { float y; std::memcpy(&y, &x, 4); return y; }
inline int __float_as_int(float x) { int y; std::memcpy(&y, &x, 4); return y; }
#else
using wp::__float_as_int;
using wp::__int_as_float;
extern "C" void _wp_assert(const char* what, const char* file, unsigned line) {
    std::fprintf(stderr, "%s:%u: %s\n", file, line, what);
    std::abort();
}
#endif
inline float rsqrtf(float x) { return 1.0f / std::sqrt(x); }
inline float4 make_float4(float x, float y, float z, float w) { return {x, y, z, w}; }
inline int __popc(unsigned x) { return __builtin_popcount(x); }
inline int __ffs(unsigned x) { return __builtin_ffs((int)x); }
inline int atomicMin(int* p, int x) { const int old = *p; if (x < old) *p = x; return old; }
inline int atomicMax(int* p, int x) { const int old = *p; if (x > old) *p = x; return old; }
inline int atomicAdd(int* p, int x) { const int old = *p; *p += x; return old; }

struct Block {
    struct Fibre { jmp_buf at; bool begun, ended; int kind, from, to; long meetings[7]; int place[7][2]; };
    Fibre fibres[1024];
    long passed[7][1024];  // of each kind, by a group's first thread: meetings that it has gone on from
    jmp_buf outside;
    int threads = 0, current = 0;
    void (*work)(int) = nullptr;
    uint64_t word[1024];
};
inline Block block;
inline int meeting_line_ = 0;  // the line of a meeting: threads that wait at different ones hang on CUDA, or worse
#if KN_COUNT  // clocks of threads (spans.py): what a block waited for, by where its slowest thread was meanwhile
struct Clock {
    struct Place { void* at; long turn, count; };
    long long now; long turn;  // turn: which stretch between meetings of the block
    Place places[1024];
};
struct Slowest { void* at; long long count; };
inline Clock clock_of_[1024];
inline Slowest parts_[4096];
inline long long last_ = 0;
inline long turn_ = 1;
extern "C" { __attribute__((visibility("default"))) long long clocks_[2]; __attribute__((visibility("default"))) Slowest slowest_[4096]; }
#define KN_FIND(table, size, key, free) \
    size_t slot = (size_t)(key) / 2 % (size); \
    for (int tries = 0; tries < (size) && !(free) && table[slot].at != (key); ++tries) slot = (slot + 1) % (size);
extern "C" __attribute__((no_sanitize_coverage)) void __sanitizer_cov_trace_pc() {
    Clock& own = clock_of_[block.current];
    void* at = __builtin_return_address(0);
    KN_FIND(own.places, 1024, at, own.places[slot].turn != turn_)
    if (own.places[slot].turn != turn_) own.places[slot] = {at, turn_, 0};
    ++own.places[slot].count, ++own.now;
}
KN_UNCOUNTED inline void align_clocks_(int from, int to, bool whole) {
    int first = from;
    for (int t = from; t < to; ++t) if (clock_of_[t].now > clock_of_[first].now) first = t;
    const long long most = clock_of_[first].now;
    if (whole) {
        for (const Clock::Place& place : clock_of_[first].places)
            if (place.turn == turn_) {
                KN_FIND(parts_, 4096, place.at, !parts_[slot].at)
                parts_[slot].at = place.at, parts_[slot].count += place.count;
            }
        ++turn_, last_ = most;
    }
    for (int t = from; t < to; ++t) if (!block.fibres[t].ended) clock_of_[t].now = most;
}
#endif
struct Index { unsigned x; };
#define threadIdx (Index{(unsigned)block.current})
inline unsigned __activemask() { return 1u << (block.current & 31); }  // CUDA promises no more

KN_UNCOUNTED inline void yield_() { if (!_setjmp(block.fibres[block.current].at)) _longjmp(block.outside, 1); }
// have all threads that this one waits for and that still run come as often?
KN_UNCOUNTED inline bool have_met_(int t) {
    const Block::Fibre& self = block.fibres[t];
    const long mine = self.meetings[self.kind];
    long& passed = block.passed[self.kind][self.from];
    if (passed >= mine) return true;
    const int to = self.to < block.threads ? self.to : block.threads;
    for (int other = self.from; other < to; ++other)
        if (!block.fibres[other].ended && block.fibres[other].meetings[self.kind] < mine) return false;
    for (int other = self.from; other < to; ++other) {
        const int line = self.place[self.kind][mine & 1], theirs = block.fibres[other].place[self.kind][mine & 1];
        if (block.fibres[other].ended || line == theirs) continue;
        std::fprintf(stderr, "thread %d waits at line %d, thread %d at line %d\n", t, line, other, theirs);
        std::abort();
    }
    passed = mine;
#if KN_COUNT
    align_clocks_(self.from, to, self.kind == 0);
#endif
    return true;
}
KN_UNCOUNTED inline void meet_(int from, int to, int kind) {
    Block::Fibre& self = block.fibres[block.current];
    const int line = meeting_line_;
    self.kind = kind, self.from = from, self.to = to;
    self.place[kind][++self.meetings[kind] & 1] = line;
    yield_();
    self.kind = -1, meeting_line_ = line;  // who trades meets twice
}
KN_UNCOUNTED inline void __syncthreads() { meet_(0, block.threads, 0); }
KN_UNCOUNTED inline void __syncwarp(unsigned mask = 0xffffffffu) {
    int low = __builtin_ctz(mask), high = 32 - __builtin_clz(mask), base = block.current & ~31;
    meet_(base + low, base + high, 32 - __builtin_clz(high - low));  // groups of 1, 2, 4 ... 32: each size counts for itself
}
template <class X> KN_UNCOUNTED inline X trade_(unsigned mask, X x, int from) {
    std::memcpy(block.word + block.current, &x, sizeof(X));
    __syncwarp(mask);
    X y = x;
    if (from >= 0 && from < block.threads) std::memcpy(&y, block.word + from, sizeof(X));
    __syncwarp(mask);
    return y;
}
template <class X> KN_UNCOUNTED inline X __shfl_xor_sync(unsigned mask, X x, int o) { return trade_(mask, x, block.current ^ o); }
template <class X> KN_UNCOUNTED inline X __shfl_sync(unsigned mask, X x, int from, int width = 32) {
    return trade_(mask, x, (block.current & ~(width - 1)) + from % width);
}
template <class X> KN_UNCOUNTED inline X __shfl_up_sync(unsigned mask, X x, int o) {
    return trade_(mask, x, (block.current & 31) >= o ? block.current - o : block.current);
}
KN_UNCOUNTED inline unsigned __ballot_sync(unsigned mask, bool on) {
    block.word[block.current] = on;
    __syncwarp(mask);
    unsigned all = 0;
    for (int q = 0; q < 32; ++q) {
        const int t = (block.current & ~31) + q;
        if ((mask >> q & 1u) && t < block.threads && block.word[t]) all |= 1u << q;
    }
    __syncwarp(mask);
    return all;
}
KN_UNCOUNTED inline bool __any_sync(unsigned mask, bool on) { return __ballot_sync(mask, on) != 0; }
KN_UNCOUNTED inline bool __all_sync(unsigned mask, bool on) { return !__any_sync(mask, !on); }
KN_UNCOUNTED inline unsigned __match_any_sync(unsigned mask, int x) {
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

constexpr size_t STACK_ = 256 * 1024;  // bytes; only what is used is there
KN_UNCOUNTED inline void begin_() {
    block.work(block.current);
    block.fibres[block.current].ended = true;
    _longjmp(block.outside, 1);
}
KN_UNCOUNTED inline void enter_(char* stack) {  // a fibre's first turn; later ones are jumps, which ask nothing of the system
    static ucontext_t inside, outside;
    getcontext(&inside);
    inside.uc_stack.ss_sp = stack, inside.uc_stack.ss_size = STACK_, inside.uc_link = nullptr;
    makecontext(&inside, begin_, 0);
    swapcontext(&outside, &inside);
}
inline char* stacks_(int threads) {
    return (char*)mmap(nullptr, threads * STACK_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
}
KN_UNCOUNTED inline void run_block(int threads, void (*work)(int), bool backward, char* stacks) {
    block.work = work, block.threads = threads;
    std::memset(block.fibres, 0, threads * sizeof(Block::Fibre));
    std::memset(block.passed, 0, sizeof(block.passed));
    for (int t = 0; t < threads; ++t) block.fibres[t].kind = -1;
#if KN_COUNT
    for (int t = 0; t < threads; ++t) clock_of_[t].now = 0;
    std::memset(parts_, 0, sizeof(parts_));
    last_ = 0, ++turn_;
#endif
    for (volatile int left = threads; left > 0;) {
        volatile bool moved = false;
        for (volatile int k = 0; k < threads; k = k + 1) {
            const int t = backward ? threads - 1 - k : k;
            Block::Fibre& fibre = block.fibres[t];
            if (fibre.ended || (fibre.kind >= 0 && !have_met_(t))) continue;
            moved = true, block.current = t;
            if (!_setjmp(block.outside)) {
                if (fibre.begun) _longjmp(fibre.at, 1);
                fibre.begun = true;
                enter_(stacks + t * STACK_);
            }
            if (block.fibres[block.current].ended) left = left - 1;
        }
        if (!moved) std::fprintf(stderr, "threads wait for each other\n"), std::abort();
    }
#if KN_COUNT
    align_clocks_(0, threads, true);
    if (last_ > clocks_[0]) { clocks_[0] = last_; std::memcpy(slowest_, parts_, sizeof(parts_)); }
    for (int t = 0; t < threads; t += 32) {
        long long most = 0;
        for (int q = t; q < threads && q < t + 32; ++q) if (clock_of_[q].now > most) most = clock_of_[q].now;
        clocks_[1] += most;
    }
#endif
    for (int t = 0; t < threads; ++t)
        if (*(int64_t*)(stacks + t * STACK_)) std::fprintf(stderr, "thread %d has filled its stack\n", t), std::abort();
}
inline void run_block(int threads, void (*work)(int), bool backward) {
    char* stacks = stacks_(threads);
    run_block(threads, work, backward, stacks);
    munmap(stacks, threads * STACK_);
}

template <class X> struct Array { X* data; int64_t strides[4]; int shape[4]; };
