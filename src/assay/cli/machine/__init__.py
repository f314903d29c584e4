"""Commands on the machine and on the kernels."""
