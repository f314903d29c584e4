"""Linpack: Rmax, N½, its limits, and its rank on the TOP500."""
