"""What changes variation: levels of a factor held side by side."""
