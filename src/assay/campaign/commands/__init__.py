"""What the commands that measure do, from their options to their exit status."""
