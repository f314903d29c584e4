"""Summaries, intervals and the properties of one series of numbers."""
