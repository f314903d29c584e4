"""Linpack: Rmax, N½, its limits, and its place on the TOP500."""
