"""A cell's results within a run: summary, caveats, and how much more to measure."""
