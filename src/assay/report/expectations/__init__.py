"""Results against the values that a site expects."""
