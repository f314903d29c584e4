"""Types that all layers use: placements, cells, plans, replication, sessions, commands."""
