"""The report of a comparison of runs."""
