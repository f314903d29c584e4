"""Launching commands (programs from outside that are measured)."""
