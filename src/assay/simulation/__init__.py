"""Simulation of programs on described clusters by SimGrid."""
