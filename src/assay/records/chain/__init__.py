"""The chain of the runs in a store: each run names the run that began before it."""
