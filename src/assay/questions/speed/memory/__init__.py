"""Memory: bandwidth, access patterns, the hierarchy of caches."""
