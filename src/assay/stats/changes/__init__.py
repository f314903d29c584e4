"""Change points of series in order of time: their places and sizes."""
