// Vectors of HPCG, and the operations that a system must offer to conjugate gradients.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <vector>

#include "memory/huge_array.hpp"

namespace assay::hpcg {

using Vector = HugeArray<double>;

// A vector of this length whose pages the threads touch in their parts.
Vector touched(std::int64_t length, int threads);

// Elements begin, end of a thread's part of `length` elements.
struct Part {
  std::int64_t begin = 0;
  std::int64_t end = 0;
};
inline Part part_of(std::int64_t length, int thread, int threads) {
  return {length * thread / threads, length * (thread + 1) / threads};
}

// The scalar product over all ranks; the same number in every call with the same threads.
double dot(const double* x, const double* y, std::int64_t length, int threads, MPI_Comm comm);

// w = alpha x + beta y
void waxpby(double alpha, const double* x, double beta, const double* y, double* w,
            std::int64_t length, int threads);

// A system A x = b with a preconditioner M.
class System {
 public:
  virtual ~System() = default;

  // Own elements of a vector, and all of them with the external ones.
  virtual std::int64_t own() const = 0;
  virtual std::int64_t length() const = 0;
  // y = A x; fetches the external elements of x.
  virtual void multiply(double* x, double* y) = 0;
  // z = M r; the external elements of z are undefined.
  virtual void precondition(const double* r, double* z) = 0;
};

}  // namespace assay::hpcg
