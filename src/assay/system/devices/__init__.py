"""Accelerators of a node and their state, without any vendor's kit (docs/methods/devices.md)."""
