"""Which causes a variation goes with, and how much of it each explains."""
