"""The monitor: where the pure rooms meet threads, clocks, stores and sinks.

``monitor.py`` and ``process.py`` are what users call. A watched call goes through ``observer.py`` and ``recording.py``
into the counters of its channel; everything after that is done in ``background/``.
"""
