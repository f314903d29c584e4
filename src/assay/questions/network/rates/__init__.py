"""Message rates of many ranks and of many threads."""
