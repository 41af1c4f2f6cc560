"""Where the wall time of a cell went, on the thread that ran it."""
