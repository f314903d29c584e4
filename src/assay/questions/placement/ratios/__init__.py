"""Performance with several ranks per node over one."""
