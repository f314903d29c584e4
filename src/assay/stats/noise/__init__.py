"""What traces of the noise kernels hold: interruptions and their periods."""
