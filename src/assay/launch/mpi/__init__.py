"""Launching ranks with a toolchain's own mpirun, or srun."""
