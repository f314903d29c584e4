"""Published facts, each with its source."""
