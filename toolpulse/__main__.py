"""``python -m toolpulse`` is the command ``toolpulse``."""

from __future__ import annotations

import sys

from toolpulse.cli import main

if __name__ == "__main__":
    sys.exit(main())
