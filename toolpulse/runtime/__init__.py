"""Where the pure rooms meet threads, clocks, stores and sinks."""
