"""The report on the checks of a fleet."""
