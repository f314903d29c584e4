"""Models of performance: Linpack sizing, networks, placements."""
