"""The effect of rank orders."""
