"""The best placement of each work, and its gain."""
