"""The site's own executables of benchmarks, measured beside the kernels (``--beside``)."""
