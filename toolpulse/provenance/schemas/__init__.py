"""Definitions of tools: read from any provider's form, reduced to what identifies them, compared, and judged.

``definitions`` and ``functions`` read them, ``json_schema`` takes a schema apart, ``tool_set`` is what is kept of them,
``argument_differences`` and ``tool_differences`` say what differs, and ``rules`` what a difference means. All of it is
pure, except ``mcp_server``, which starts a server and asks it for its tools. ``toolpulse.provenance.tools`` calls it.
"""

from __future__ import annotations
