"""A cell's results within a run: its summary, its caveats, how much more to measure."""
