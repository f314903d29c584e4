"""The shares of compiler, MPI and placement in the variation of times."""
