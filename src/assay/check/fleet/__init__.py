"""All nodes' files of a fleet: what they say, and which nodes or kinds of nodes decline."""
