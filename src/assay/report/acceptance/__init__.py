"""The plan of an acceptance on the terminal."""
