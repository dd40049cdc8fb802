"""The one table of scalar kinds: which Python type has which kind, and so which names of kinds there are.

Data and nothing else. ``kinds`` looks up the type of a value here; ``nodes`` takes the names from here when it reads
stored shapes back. A new kind is one row (see CONTRIBUTING, "A response type").
"""

from __future__ import annotations

import datetime
import decimal
import pathlib
import uuid
from typing import Final

SCALAR_TYPES: Final[tuple[tuple[type, str], ...]] = (
    (type(None), "null"),
    (bool, "boolean"),
    (int, "integer"),
    (float, "number"),
    (str, "string"),
    (bytes, "bytes"),
    (bytearray, "bytes"),
    (memoryview, "bytes"),
    (datetime.datetime, "datetime"),
    (datetime.date, "date"),
    (datetime.time, "time"),
    (datetime.timedelta, "duration"),
    (decimal.Decimal, "decimal"),
    (uuid.UUID, "uuid"),
    (pathlib.PurePath, "path"),
    (complex, "complex"),
)
"""A value has the kind of the first row whose type it is an instance of: ``bool`` before ``int``, ``datetime`` before
``date``."""

NUMPY_KINDS: Final = {
    "b": "boolean",
    "i": "integer",
    "u": "integer",
    "f": "number",
    "c": "complex",
    "U": "string",
    "S": "bytes",
    "M": "datetime",
    "m": "duration",
}
"""The kinds of NumPy's scalars, by the letter in ``dtype.kind``."""

SCALAR_KINDS: Final = frozenset({*dict(SCALAR_TYPES).values(), *NUMPY_KINDS.values()})
"""Every scalar kind with a name of its own. Beside these there is ``other:<module.qualname>``."""
