"""Collective operations: cost, growth, rank order, timing."""
