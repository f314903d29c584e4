"""What is usual for the nodes of one kind: the file, how it is learned, and how it is updated."""
