"""Causes that variation is associated with."""
