"""The report of an imported run, and the summary of its import."""
