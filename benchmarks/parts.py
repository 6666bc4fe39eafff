"""Where the time of a step goes on the CPU: the parts of a recipe, one world at a time and eight at once.

    python -m benchmarks parts --models humanoid,hand
    python -m benchmarks parts path/to/folder --models a,b

Worlds have parted (noise.py). One thread; every call of a part is timed by itself, by the processor's counter, and of
each call the shortest of some turns counts, so that other programs on the machine disturb little.
"""

import argparse
import ctypes
import time

import numpy as np
import warp as wp

from benchmarks.noise import part
from benchmarks.throughput import Kinema, MuJoCoC, chosen, load
from kinema.convex import parts
from kinema.convex.call import Call

STEPS, TURNS = 10, 12


@wp.func_native("""
    typedef void (*Part)(void*, void*);
    int* w = (int*)world;
    int call = 0;
    for (int begin = 0; begin < nworld; begin += 8)
        for (int step = 0; step < nstep; ++step)
            for (int p = 0; p < entries.shape[0]; ++p, ++call) {
                const unsigned long long since = __builtin_readcyclecounter();
                if (wide.data[p]) {
                    *w = begin;
                    ((Part)wide.data[p])((void*)bounds, (void*)args);
                } else
                    for (int k = begin; k < begin + 8; ++k) {
                        *w = k;
                        ((Part)entries.data[p])((void*)bounds, (void*)args);
                    }
                spent.data[call] = __builtin_readcyclecounter() - since;
            }
""")
def call_timed(
    entries: wp.array(dtype=wp.uint64), wide: wp.array(dtype=wp.uint64), bounds: wp.uint64, args: wp.uint64,
    world: wp.uint64, nworld: int, nstep: int, spent: wp.array(dtype=wp.uint64),
): ...  # fmt: skip


@wp.kernel(enable_backward=False)
def drive_timed(
    entries: wp.array(dtype=wp.uint64), wide: wp.array(dtype=wp.uint64), bounds: wp.uint64, args: wp.uint64,
    world: wp.uint64, nworld: int, nstep: int, spent: wp.array(dtype=wp.uint64),
):  # fmt: skip
    call_timed(entries, wide, bounds, args, world, nworld, nstep, spent)


def cycles_a_microsecond() -> float:
    """How fast the processor's counter counts."""

    @wp.func_native("return (wp::uint64)__builtin_readcyclecounter();")
    def counter() -> wp.uint64: ...

    @wp.kernel(enable_backward=False, module="unique")
    def read(out: wp.array(dtype=wp.uint64)):
        out[0] = counter()

    out = wp.zeros(1, dtype=wp.uint64, device="cpu")
    marks = []
    for _ in range(2):
        wp.launch(read, 1, [out], device="cpu")
        marks.append((time.perf_counter(), int(out.numpy()[0])))
        time.sleep(0.2)
    return (marks[1][1] - marks[0][1]) / (marks[1][0] - marks[0][0]) / 1e6


def measure(side: Kinema, worlds: int, rate: float) -> dict[str, np.ndarray]:
    """Microseconds a world and step of each part: one world at a time, and eight at once."""
    engine = side.engine
    entries, wide = parts.load(engine.recipes["step"], many=True)
    block = parts.Range((entries, wide), [engine.m, engine.d], 0, worlds, engine.device)
    block.set(1, advancing=True)
    address = ctypes.addressof(block._head)
    blocks = -(-worlds // 8)
    spent = wp.zeros(blocks * STEPS * len(entries), dtype=wp.uint64, device="cpu")
    arrays = {name: wp.array(np.array(of, np.uint64), dtype=wp.uint64, device="cpu")
              for name, of in (("entries", entries), ("one", [0] * len(entries)), ("eight", wide))}  # fmt: skip
    best: dict[str, np.ndarray] = {}
    for _ in range(TURNS):
        for name in ("one", "eight"):
            inputs = [arrays["entries"], arrays[name], 0, address, address + type(block._head).w.offset]
            call = Call(drive_timed, 1, [*inputs, worlds, STEPS, spent], engine.device)
            call.args.bounds = call.bounds
            side.reset()
            call()
            now = spent.numpy().astype(float)
            best[name] = np.minimum(best.get(name, now), now)
    per = worlds * STEPS * rate
    return {name: of.reshape(blocks * STEPS, -1).sum(axis=0) / per for name, of in best.items()}


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--worlds", type=int, default=64)
    parser.add_argument("folders", nargs="*", help="folders of models; none: the default models")
    parser.add_argument("--models", default=None, help="only these, by commas")
    parser.add_argument("--model", action="append", default=[], metavar="NAME=PATH")
    args = parser.parse_args(argv)
    worlds = 8 * -(-args.worlds // 8)
    rate = cycles_a_microsecond()
    for name, source in chosen(args.folders, args.model, args.models).items():
        m = load(source)
        parted = part(m, worlds, STEPS, source, 1)
        side, peer = Kinema(m, parted, "cpu", 1), MuJoCoC(m, parted, "cpu", 1)
        spent, theirs = measure(side, worlds, rate), []
        for _ in range(TURNS):
            begin = time.process_time()
            peer.run(STEPS)
            theirs.append(1e6 * (time.process_time() - begin) / worlds / STEPS)
        print(f"{name}, {worlds} worlds, microseconds a step: one at a time {spent['one'].sum():.2f}, eight at once "
              f"{spent['eight'].sum():.2f}, MuJoCo's rollout {min(theirs):.2f}")  # fmt: skip
        for stages, one, eight in zip(parts.parts(side.engine.recipes["step"]), *spent.values(), strict=True):
            print(f"  {one:7.2f} {eight:7.2f}  {parts.title(stages)} ({len(stages)} stages)", flush=True)


if __name__ == "__main__":
    main()
