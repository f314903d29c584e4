"""Why one placement is faster than another."""
