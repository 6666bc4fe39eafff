"""`python -m benchmarks [name ...]`: run the named benchmarks of this folder, or all of them."""

import importlib
import pathlib
import sys

here = pathlib.Path(__file__).parent
names = sys.argv[1:] or sorted(path.stem for path in here.glob("*.py") if not path.stem.startswith("_"))
for name in names:
    print(f"== {name}")
    importlib.import_module(f"benchmarks.{name}").main()
