"""From shapes and counts to evidence per path: what a tool's responses had in common, and since when.

Rows (``rows``) are folded (``fold``) into a profile (``profile``) of statistics per path (``stats``). ``maps`` learns
which objects are maps; ``silence`` asks by ``chance`` whether something has been away too long to be luck. No judgement
is made here, and no clock, file or thread is used. The floors above call it: judgement, state and stores.
"""
