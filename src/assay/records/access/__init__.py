"""Checks of who may continue a run."""
