"""What differs between two plain JSON documents, and how a comparison ends. Pure: no file, no clock.

Prompts, tool schemas and manifests are all compared here, by ``documents.compare``. Every comparison of provenance
comes to one record, ``result.Comparison``, which the command line prints.
"""

from __future__ import annotations
