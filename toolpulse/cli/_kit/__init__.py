"""What every command is built from: its parser and arguments, files and stores to read, words and exit codes.

Private to ``toolpulse.cli``. Nothing here knows a single command, and nothing here needs the extra ``toolpulse[cli]``.
``commands`` and ``_views`` call it.
"""
