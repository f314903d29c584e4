"""What does the program need? From the profile of its MPI calls."""
