"""The report on a scheduler's accounts."""
