"""Which causes a variation goes with."""
