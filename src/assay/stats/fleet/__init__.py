"""Many nodes over all kernels at once: which differ from the others."""
