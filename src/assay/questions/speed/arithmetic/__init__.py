"""Floating-point speed against the theoretical peak."""
