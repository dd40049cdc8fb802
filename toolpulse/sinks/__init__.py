"""Where drift events go: structlog (``logs``), a file of JSON lines (``jsonl``), or any object with ``emit(event)``.

``base`` is the protocol, ``queue`` hands events to one sink after another. A sink sees events, never a response, and
imports nothing of stores or the runtime; ``runtime`` calls them.
"""
