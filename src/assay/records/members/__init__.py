"""Members of large groups of runs, many of them in one file."""
