"""Read nbprof's own file back into a Profile."""
