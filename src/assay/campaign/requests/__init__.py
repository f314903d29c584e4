"""What the command line requests of a run: its plan on a machine, and the jobs that it needs."""
