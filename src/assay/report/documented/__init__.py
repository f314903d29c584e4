"""Documents that are generated from the types of findings."""
