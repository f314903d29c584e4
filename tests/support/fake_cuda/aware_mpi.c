/* To be preloaded: MPI says that it takes addresses of CUDA's devices. It does so where the memory
 * of devices is ordinary memory. */
int MPIX_Query_cuda_support(void) { return 1; }
