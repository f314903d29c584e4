"""Launching commands: external programs that are measured."""
