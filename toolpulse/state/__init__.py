"""What is known of a tool: the baseline it is held against, its incidents, and how a batch of responses adds to both.

Pure: no clock, file, thread or log; ordinals and times come in with the batch. Only ``baseline`` reads and writes a
file, the one that a user commits. Stores keep a ``Snapshot``, ``runtime`` feeds a ``ToolState``, ``toolpulse.Baseline``
is the offline API. Start with ``tool_state``.
"""
