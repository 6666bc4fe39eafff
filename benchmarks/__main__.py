"""`python -m benchmarks [name ...] [options]`: run the named benchmarks of this folder, or all; options go to each."""

import importlib
import itertools
import pathlib
import sys

here = pathlib.Path(__file__).parent
known = {path.stem for path in here.glob("*.py")}
names = list(itertools.takewhile(known.__contains__, sys.argv[1:]))
options = sys.argv[1 + len(names) :]
for name in names or sorted(path.stem for path in here.glob("*.py") if not path.stem.startswith("_")):
    module = importlib.import_module(f"benchmarks.{name}")
    if hasattr(module, "main"):  # others help to write benchmarks
        print(f"== {name}", flush=True)
        sys.argv = [f"benchmarks {name}", *options]
        module.main()
