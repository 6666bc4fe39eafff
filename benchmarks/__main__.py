"""`python -m benchmarks [name ...] [options]`: run the named benchmarks of this folder, or all; options go to each."""

import importlib
import itertools
import pathlib
import sys

here = pathlib.Path(__file__).parent
known = sorted(path.stem for path in here.glob("*.py") if not path.stem.startswith("_"))
names = list(itertools.takewhile(lambda word: word in known, sys.argv[1:]))
options = sys.argv[1 + len(names) :]
if options and not names and not options[0].startswith("-"):
    raise SystemExit(f"no benchmark {options[0]!r}: {', '.join(known)}")
for name in names or known:
    module = importlib.import_module(f"benchmarks.{name}")
    if hasattr(module, "main"):  # others help to write benchmarks
        print(f"== {name}", flush=True)
        sys.argv = [f"benchmarks {name}", *options]
        module.main()
