"""How much the nodes of a group differ, and which nodes to check."""
