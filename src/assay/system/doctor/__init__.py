"""Checks for properties of a machine or a cluster that disturb measurements, and remedies."""
