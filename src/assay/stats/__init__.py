"""Summaries, intervals and what they rest on."""
