"""Answers: records become findings."""
