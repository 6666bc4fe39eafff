"""`python -m kinema` is the `kinema` command."""

import sys

from kinema.cli import main

sys.exit(main())
