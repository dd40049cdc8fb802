"""What one span of OpenTelemetry says, by the attributes it carries. Pure; called by the modules of ``formats``.

Three conventions are known: ``stamped`` spans carry fingerprints already, ``genai`` is OpenTelemetry's own, and
``openinference`` is OpenInference's. ``trace`` chooses among them.
"""

from __future__ import annotations
