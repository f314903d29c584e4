"""Traces of the noise kernels: interruptions and their periods."""
