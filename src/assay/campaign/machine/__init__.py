"""What a campaign runs on: hosts surveyed, kernels built for them, MPI tried."""
