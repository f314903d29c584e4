"""What changes of a traced program would save at most."""
