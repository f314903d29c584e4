"""Comparison of groups of results: tests, effect sizes, analysis of variance."""
