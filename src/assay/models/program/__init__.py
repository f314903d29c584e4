"""Models of a program from its trace: waiting, efficiencies, run time on other networks."""
