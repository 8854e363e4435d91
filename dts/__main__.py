"""``python -m dts``: the same as the command ``dts``."""

import sys

from dts.cli import main

if __name__ == "__main__":  # export's processes import this module too
    sys.exit(main())
