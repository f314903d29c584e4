// The one place that knows which BLAS the kernels were built with and how to speak to it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

#include "harness/kernel.hpp"

namespace assay::blas {

// Throws KernelError, saying how to get one, if the kernels were built without a BLAS.
void require();

// C = A B for square matrices of order n in column-major order. What C held before is not read.
void multiply(std::size_t n, const double* a, const double* b, double* c);

// Sets the number of threads that the BLAS uses from now on, and returns what it says it uses, or 0
// where it can't be asked (then it is one of those that follow OpenMP, or has no threads).
int set_threads(int threads);

// What the BLAS says of itself: its name as configured ("blas"), what sets its threads
// ("blas_threading"), its build ("blas_config") and the processor it is tuned for ("blas_core").
std::map<std::string, Value> facts();

}  // namespace assay::blas
