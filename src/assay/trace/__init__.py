"""The profiling library's records of a program's MPI calls: the files, and the model of them."""
