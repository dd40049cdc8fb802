"""One module for each format of traces. Each has ``NAME``, ``recognizes(document)`` and ``read(file, documents)``.

Pure: the documents have been read from the file already, each with its location (``file:line``). A new format is one
module here and its name in ``toolpulse.provenance.readers``.
"""

from __future__ import annotations
