"""Published numbers, each with its source."""
