"""What the profiling library recorded of a program's MPI calls: files, and the model of them."""
