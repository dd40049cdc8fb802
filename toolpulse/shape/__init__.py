"""From a response to its shape: what a user of shapes imports.

Called by whoever looks at a response: the monitor, ``Baseline`` and users themselves. Pure: it touches nothing but
the values it is given (and the lock under which equal shapes become one object).
"""

from __future__ import annotations

from toolpulse.shape.kinds import register
from toolpulse.shape.observation import DEFAULT_LIMITS, Limits, Observation, Truncation
from toolpulse.shape.observe import Walker, fingerprint, shape_of

__all__ = ["DEFAULT_LIMITS", "Limits", "Observation", "Truncation", "Walker", "fingerprint", "register", "shape_of"]
