"""A cell's results over launches, sessions and runs, and how they spread."""
