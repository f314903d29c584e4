"""Models of machines: peaks and limits."""
