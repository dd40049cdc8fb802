"""Where recorded data lies: a folder of recorded responses beside the checkout. Run as a script, it prints the folder.

``TOOLPULSE_CORPUS`` names another. Nothing in it is copied into the project, so a clone alone may not have it; the
tests that need it skip and say so.
"""

from __future__ import annotations

import os
from pathlib import Path


def folder() -> Path:
    """The folder of recorded data, whether or not it is there."""
    named = os.environ.get("TOOLPULSE_CORPUS")
    return Path(named).resolve() if named else Path(__file__).resolve().parents[3] / "shared"


def shared(*parts: str) -> Path:
    """The path of a recorded file or folder, e.g. ``shared("cases")``; skips the test where it is absent."""
    import pytest

    path = folder().joinpath(*parts)
    if not path.exists():
        pytest.skip(
            f"no recorded data at {'/'.join(parts) or 'the top'}: "
            "TOOLPULSE_CORPUS names the folder, else it lies beside the checkout",
            allow_module_level=True,
        )
    return path


if __name__ == "__main__" and folder().is_dir():
    print(folder())
