"""The report on a design."""
