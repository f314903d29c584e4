"""Models of the time of a work at a placement, and the search for the best placement."""
