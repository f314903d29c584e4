"""The most that changes of a traced program would save."""
