"""The fake executor: simulates the machine and the faults of a scenario."""
