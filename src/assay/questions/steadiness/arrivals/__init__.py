"""Barrier arrivals: which ranks arrive late, and what waiting for the last costs."""
