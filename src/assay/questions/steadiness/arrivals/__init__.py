"""Barrier arrivals: ranks that arrive late, and the cost of waiting for the last."""
