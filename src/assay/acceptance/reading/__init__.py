"""Reads contracts, and refuses those that contradict themselves."""
