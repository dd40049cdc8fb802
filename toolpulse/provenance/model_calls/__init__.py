"""One call to a model: the attributes of its span, the hashes among them, and the model that is declared afterwards.

Pure. ``toolpulse.provenance.generation`` is the public part; the readers of traces compute the same hashes from
captured content with ``hashes``.
"""

from __future__ import annotations
