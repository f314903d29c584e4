"""Reports on groups: nodes that were measured separately."""
