"""Where the run time of a traced program goes, in parts that add up to it."""
