"""The state, cost and time of cells and their launches so far."""
