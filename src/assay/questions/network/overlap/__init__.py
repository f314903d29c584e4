"""Overlap of computation with non-blocking operations."""
