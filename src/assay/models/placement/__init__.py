"""Models of what a work takes at a placement, and the search for the best one."""
