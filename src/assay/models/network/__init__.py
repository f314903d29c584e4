"""Models of messages and of the topology behind a matrix of times."""
