"""Keeping a budget: the cost of cells, the choice of cells to start, the time left."""
