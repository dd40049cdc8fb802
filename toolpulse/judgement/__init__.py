"""From evidence and a new shape to findings for each consumer: what differs, and what that means to whom.

``judge`` is the way in. ``diff`` states changes (facts), ``patterns`` explains several at once, ``rules`` is the one
table from a change to a risk, ``consumer`` lays each reader's policy over it, and ``findings`` are what comes out;
``rates`` states what only time shows. All pure, but for the assertions of a consumer, which are a user's code. The
state of a tool, the offline baseline and the command line call it.
"""
