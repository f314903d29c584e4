"""Executors of launches: MPI, commands, and the fake one."""
