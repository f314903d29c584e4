"""Launching commands that are no kernels of assay."""
