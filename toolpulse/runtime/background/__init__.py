"""What a monitor does beside the calls that it watches: counting, judging, saving, sending; and how a process ends.

Threads, locks, clocks, the store and the queues of the sinks are met here and nowhere above. ``flush.py`` leads; what
stands in the way of a watched call is ``counters.py`` alone.
"""
