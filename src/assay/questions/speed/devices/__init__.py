"""Devices: memory, arithmetic, transfers, launches, one against all, each against its limit."""
