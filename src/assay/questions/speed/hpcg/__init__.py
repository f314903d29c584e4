"""HPCG: conjugate gradients against the measured memory bandwidth."""
