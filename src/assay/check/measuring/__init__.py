"""Measurements of a node's check: the measuring program, its orders and its answers.

A check has to begin measuring within half a second, so these modules import the standard library
and msgspec alone.
"""
