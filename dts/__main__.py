"""``python -m dts``: the same as the command ``dts``."""

import sys

from dts.cli import main

sys.exit(main())
