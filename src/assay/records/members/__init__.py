"""Members of large groups of runs, packed into few files."""
