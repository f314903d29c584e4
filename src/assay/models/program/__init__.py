"""Models of a traced program: waiting, efficiencies, and run time on other networks."""
