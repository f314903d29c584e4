"""The report of a run that was imported, and what its import found."""
