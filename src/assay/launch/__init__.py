"""Launchers: local MPI, and a fake one."""
