"""The NAS Parallel Benchmarks: rates, scaling, phases."""
