"""Collective operations: time, growth with ranks, rank order, timing method."""
