"""The file of a node's checks: 4,096 bytes, the only thing that a check writes."""
