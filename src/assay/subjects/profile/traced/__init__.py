"""Analysis of a trace: where a program waits, for whom, and its run time on other networks."""
