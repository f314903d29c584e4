"""The facts of a node: reading them, learning what a fleet has in common, and comparing."""
