"""What every layer speaks of: placements, cells, plans, replication, sessions, commands."""
