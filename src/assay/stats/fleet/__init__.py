"""Comparison of many nodes over all kernels: nodes that differ from the others."""
