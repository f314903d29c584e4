"""The fabric: groups, slow nodes and cables, rings, cuts."""
