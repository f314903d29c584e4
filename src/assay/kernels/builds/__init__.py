"""The cache of builds, and native programs other than the kernels that are kept in it."""
