"""History: results over months of runs, and their changes."""
