"""Requests for runs from the command line: the plan on a machine, and the jobs that it needs."""
