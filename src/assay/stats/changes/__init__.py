"""Series in order of time: when they change, and by how much."""
