"""The commands, a file for each command or for a few that belong together.

A command parses its arguments, calls the library, and hands values to ``_views`` for printing; it holds no logic of
its own, and imports no other command. ``toolpulse.cli`` lists them in ``COMMANDS``.
"""
