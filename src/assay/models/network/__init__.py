"""Models of message times, and of the topology behind a matrix of times."""
