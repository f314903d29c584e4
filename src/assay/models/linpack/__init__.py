"""Linpack: the order of a problem, its time on a machine, and the systems of the TOP500."""
