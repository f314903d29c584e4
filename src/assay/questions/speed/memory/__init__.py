"""Memory: bandwidth, access patterns, the memory hierarchy."""
