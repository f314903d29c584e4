"""Devices in checks: what is usual in each slot of a node."""
